package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/internal/tool"
)

// failure words an error of a call for the model. Only the end of the caller's
// own ctx is an error here too.
func (s *session) failure(name string, err error) (tool.Result, error) {
	answer, answered := errors.AsType[*jsonrpc.Error](err)
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return interrupted(name, err)
	case answered:
		return refused(answer), nil
	case errors.Is(err, errTooLarge):
		// Not "unavailable": the call was made, and again it would end the same way.
		return tool.Failure(tool.ErrorTool, fmt.Sprintf("The result of %s is too large: the server was ended.", name)), nil
	case errors.Is(err, errEnded), errors.Is(err, mcp.ErrConnectionClosed):
		text := fmt.Sprintf("MCP server %s ended during the call", s.server) + s.conn.proc.lastWords()
		return tool.Failure(tool.ErrorUnavailable, tool.ValidText(text)), nil
	}
	text := fmt.Sprintf("MCP server %s gave an answer that cannot be read: %v", s.server, err)
	return tool.Failure(tool.ErrorTool, tool.ValidText(tool.Clip(text, maxErrorText))), nil
}

// maxErrorText bounds an error that may quote the server, in bytes.
const maxErrorText = 1000

// interrupted tells a call that took too long, which the model should know of,
// from one that nobody waits for any more.
func interrupted(name string, err error) (tool.Result, error) {
	if errors.Is(err, context.DeadlineExceeded) {
		return tool.Failure(tool.ErrorTimeout, fmt.Sprintf("%s did not answer in time. It may still have done its work.", name)), nil
	}
	return tool.Result{}, fmt.Errorf("call %s: %w", name, err)
}

// refused is the result for a protocol error: a server's way to say that it
// does not know the tool or its arguments.
func refused(answer *jsonrpc.Error) tool.Result {
	text := tool.ValidText(tool.Clip(answer.Message, maxErrorText))
	switch answer.Code {
	case jsonrpc.CodeMethodNotFound:
		return tool.Failure(tool.ErrorUnknownTool, text)
	case jsonrpc.CodeInvalidParams:
		lower := strings.ToLower(text)
		if strings.Contains(lower, "unknown tool") || strings.Contains(lower, "tool") && strings.Contains(lower, "not found") {
			return tool.Failure(tool.ErrorUnknownTool, text)
		}
		return tool.Failure(tool.ErrorInvalidArguments, text)
	}
	return tool.Failure(tool.ErrorTool, text)
}
