package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/tool"
)

// failure describes an error of a call to the model, and says whether the call may have taken effect. It returns an
// error only for the end of the caller's own ctx.
func (s *session) failure(call tool.Call, sends int, err error) (tool.Result, error) {
	if ctxErr := ended(err); ctxErr != nil && sends == 0 {
		return notReady(call.Name, s.server, sends, ctxErr)
	}
	result, failed := s.worded(call.Name, err)
	if result.ErrorType == tool.ErrorUnavailable {
		result.Away = away(err)
	}
	result.Sent, result.Sends = sends > 0, sends
	return result, failed
}

// ended returns the error of an ended ctx, if err is one.
func ended(err error) error {
	for _, end := range []error{context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, end) && !errors.Is(err, errEnded) {
			return end
		}
	}
	return nil
}

// notReady returns the result for a ctx that ended before the request was sent, or sent again after the given sends.
func notReady(name, server string, sends int, err error) (tool.Result, error) {
	if !errors.Is(err, context.DeadlineExceeded) {
		return tool.Result{Sent: sends > 0, Sends: sends}, fmt.Errorf("call %s: %w", name, err)
	}
	text := fmt.Sprintf("Tool %s was not called: MCP server %s was not ready in time.", name, server)
	if sends > 0 {
		text = fmt.Sprintf("%s MCP server %s was not ready in time for the next attempt.", alreadySent(name, sends), server)
	}
	result := tool.Failure(tool.ErrorTimeout, text)
	result.Sent, result.Sends = sends > 0, sends
	return result, nil
}

// alreadySent describes a call whose request was sent without a known outcome.
func alreadySent(name string, sends int) string {
	times := "once"
	if sends > 1 {
		times = fmt.Sprintf("%d times", sends)
	}
	return fmt.Sprintf("The call to tool %s was sent %s, but no response showed its outcome.", name, times)
}

func (s *session) worded(name string, err error) (tool.Result, error) {
	_, refused := errors.AsType[*statusError](err)
	answer, answered := errors.AsType[*jsonrpc.Error](err)
	switch {
	case errors.Is(err, errTooLarge):
		return s.tooLarge(name, err), nil
	case refused, errors.Is(err, errUnreachable):
		return s.unavailable("MCP server %s: %v", s.server, err), nil
	case errors.Is(err, errSilent):
		return s.unavailable("MCP server %s responded neither to the call nor to a ping, so its session was ended.", s.server), nil
	case errors.Is(err, errCut) && !errors.Is(err, errEnded):
		return s.unavailable("MCP server %s: %v. The tool may have taken effect.", s.server, err), nil
	case errors.Is(err, errEnded), errors.Is(err, mcp.ErrConnectionClosed):
		return s.unavailable("The session with MCP server %s ended during the call%s", s.server, s.wire.lastWords()), nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return interrupted(name, err)
	case answered && !isUnreadable(answer):
		return s.refused(answer), nil
	}
	if answered {
		err = answer // without the SDK's words
	}
	unreadable := tool.Failure(tool.ErrorTool, s.shown(fmt.Sprintf("MCP server %s sent an unreadable response: %v", s.server, err)))
	unreadable.Sent = true // if the request was sent
	return unreadable, nil
}

// why describes why a server could not be asked. It never uses the server's own text, because it becomes part of a
// model's prompt.
func why(err error) string {
	refused, _ := errors.AsType[*statusError](err)
	answer, _ := errors.AsType[*jsonrpc.Error](err)
	_, starting := errors.AsType[*startingError](err)
	for _, row := range []struct {
		is  bool
		why string
	}{
		{errors.Is(err, errFind), "its configuration cannot be used"},
		{errors.Is(err, errStart), "it cannot be started"},
		{errors.Is(err, errTooLarge), "its response is too large"},
		{errors.Is(err, errTooMany), "its list of tools is too long"},
		{errors.Is(err, errNull), errNull.Error()},
		{errors.Is(err, errNoList), errNoList.Error()},
		{errors.Is(err, errRepeats), errRepeats.Error()},
		{errors.Is(err, errCursor), errCursor.Error()},
		{refused != nil, "it returned HTTP status"},
		{errors.Is(err, errUnreachable), "it cannot be reached"},
		{starting, "it did not list its tools in time"},
		{errors.Is(err, errLate), "it did not respond in time"},
		{errors.Is(err, context.DeadlineExceeded), "it did not respond in time"},
		{errors.Is(err, context.Canceled), "the request was cancelled"},
		{errors.Is(err, errEnded), "its session has ended"},
		{errors.Is(err, mcp.ErrConnectionClosed), "its session has ended"},
		{errors.Is(err, errCut), "the connection was lost"},
		{answer != nil && !isUnreadable(answer), "it returned an error"},
	} {
		switch {
		case row.is && refused != nil:
			return fmt.Sprintf("%s %d", row.why, refused.code)
		case row.is:
			return row.why
		}
	}
	return "its response cannot be read"
}

// unavailable is a failure that may be over when the call is retried.
func (s *session) unavailable(format string, args ...any) tool.Result {
	return tool.Failure(tool.ErrorUnavailable, s.shown(fmt.Sprintf(format, args...)))
}

// tooLarge is not "unavailable", because the call was made and a retry would end the same way.
func (s *session) tooLarge(name string, err error) tool.Result {
	text := fmt.Sprintf("The result of %s is too large.", name)
	if errors.Is(err, errEnded) {
		text += " The session with its server was ended."
	}
	return tool.Failure(tool.ErrorTool, text)
}

// shown makes a text suitable for a model, even if it comes from the server.
func (s *session) shown(text string) string {
	return tool.ValidText(clip.Bytes(s.secrets.redact(text), maxShown))
}

// maxShown limits a text with a server's last output, in bytes.
const maxShown = 16 << 10

// maxErrorText limits an error that may quote the server, in bytes.
const maxErrorText = 1000

// interrupted distinguishes a call that took too long, which the model should know, from a cancelled one.
func interrupted(name string, err error) (tool.Result, error) {
	if errors.Is(err, context.DeadlineExceeded) {
		return tool.Failure(tool.ErrorTimeout, fmt.Sprintf("Tool %s did not respond in time. It may have taken effect.", name)), nil
	}
	return tool.Result{}, fmt.Errorf("call %s: %w", name, err)
}

// refused returns the result for a protocol error, with which a server reports an unknown tool or invalid arguments.
func (s *session) refused(answer *jsonrpc.Error) tool.Result {
	text := tool.ValidText(clip.Bytes(s.secrets.redact(answer.Message), maxErrorText))
	switch answer.Code {
	case jsonrpc.CodeMethodNotFound:
		return tool.Failure(tool.ErrorUnknownTool, text)
	case jsonrpc.CodeInvalidParams:
		return tool.Failure(invalidParams(text), text)
	}
	return tool.Failure(tool.ErrorTool, text)
}

// invalidParams distinguishes the two meanings of that code.
func invalidParams(text string) (errorType string) {
	lower := strings.ToLower(text)
	if strings.Contains(lower, "unknown tool") || strings.Contains(lower, "tool") && strings.Contains(lower, "not found") {
		return tool.ErrorUnknownTool
	}
	return tool.ErrorInvalidArguments
}
