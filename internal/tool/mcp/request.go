package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/tool"
)

// metaKey is the key of a call's idempotency key in its _meta.
const metaKey = "inquest/idempotencyKey"

// outcome is the result of a request.
type outcome struct {
	result tool.Result
	err    error
}

// call sends one request. sends is how many requests may have reached the server: zero means that the tool has not run.
// barred is the error of the call's fence, which kept the request from being sent.
func (s *session) call(parent context.Context, own string, call tool.Call, late chan struct{}) (got outcome, sends int, barred error) {
	ctx, cancel := tool.WithPausable(parent, s.transport.Timeout.D())
	defer cancel()
	// The request outlives the ctx of its caller if the caller wants the late answer to an abandoned call.
	work, receipt := withReceipt(context.WithoutCancel(ctx), s.wire.answers())
	receipt.once, receipt.allowed = !call.Repeatable(), func() error {
		err := call.Allowed(ctx)
		if end := ctx.Err(); end != nil && errors.Is(err, end) {
			return errWithdrawn
		}
		return err
	}
	receipt.asker, receipt.keeps = asker{call, ctx}, true
	params := &mcp.CallToolParams{
		Meta:      mcp.Meta{metaKey: call.Key},
		Name:      own,
		Arguments: arguments(call.Arguments),
	}
	if call.Progress != nil {
		params.SetProgressToken(call.Key)
	}
	undo, began, answered := s.abort(receipt), s.pulse.begin(receipt), make(chan outcome, 1)
	go func() {
		defer receipt.forget()
		defer undo()
		result, err := s.client.CallTool(work, params)
		if err != nil {
			answered <- outcome{err: s.explain(work, err)}
			return
		}
		got, err := s.convert(s.wire.answers().take(result.Meta), call)
		answered <- outcome{got, err}
	}()
	defer s.pulse.end(receipt)
	select {
	case got = <-answered:
		receipt.giveUp(nil)
	case <-ctx.Done():
		got.err = ctx.Err()
		s.abandon(ctx, call, receipt, answered, late)
		if sends, _ := receipt.read(); sends > 0 && errors.Is(got.err, context.DeadlineExceeded) {
			s.suspect(ctx, began)
		}
	}
	if sends, _ = receipt.read(); sends == 0 && got.err != nil && ctx.Err() != nil {
		got.err = ctx.Err() // not what that made fail
	}
	return got, sends, receipt.refused()
}

// convert converts a server's answer to a result. A tool that reports an error may have done part of its work.
func (s *session) convert(raw json.RawMessage, call tool.Call) (tool.Result, error) {
	result, err := convert(raw)
	if err == nil && result.Status == tool.StatusError && call.Class != tool.Safe {
		result.Content += "\n" + mayHaveRun
	}
	return result, err
}

// mayHaveRun is added to a tool's own error if the tool changes something.
const mayHaveRun = "The tool may have taken effect before it failed."

// begin applies the server's own timeout to a request, and ends it if the session is stopped.
func (s *session) begin(ctx context.Context) (context.Context, *receipt, func()) {
	ctx, cancel := s.limited(ctx)
	ctx, receipt := withReceipt(ctx, s.wire.answers())
	receipt.keeps = true
	undo := s.abort(receipt)
	return ctx, receipt, func() {
		receipt.forget()
		undo()
		receipt.giveUp(nil)
		cancel()
	}
}

// limited applies the server's own timeout.
func (s *session) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.transport.Timeout > 0 {
		return context.WithTimeout(ctx, s.transport.Timeout.D())
	}
	return ctx, func() {}
}

// abort abandons a request when the session is stopped.
func (s *session) abort(receipt *receipt) (undo func()) {
	over := make(chan struct{})
	go func() {
		select {
		case <-s.stopped:
			receipt.giveUp(fmt.Errorf("%w: %w", errEnded, errClosed))
		case <-over:
		}
	}()
	return func() { close(over) }
}

// explain returns the reason for an error of the SDK. Observations on the wire take precedence over the SDK's error.
func (s *session) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, mcp.ErrConnectionClosed) {
		s.wire.fail(err) // the SDK refuses it from now on
	}
	_, noted := receiptIn(ctx).read()
	_, refused := errors.AsType[*statusError](noted)
	answer, answered := errors.AsType[*jsonrpc.Error](err) // or so it seems: the SDK's own errors have this type too
	ours := noted != nil && errors.Is(err, noted)
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errTooLarge), errors.Is(cause, errEnded):
		return cause
	case ctx.Err() != nil:
		return ctx.Err()
	case refused, ours, noted != nil && !answered:
		return noted
	case isUnreadable(answer):
		shown := *answer // without the SDK's words
		shown.Message = clip.Bytes(s.secrets.redact(answer.Message), maxUnknown)
		return &shown
	case answered:
		return err
	}
	// The SDK itself closes the session of a server with another protocol.
	if closed(s.wire.ended()) && (closed(s.stopped) || !errors.Is(s.wire.why(), errClosed)) {
		return s.wire.why()
	}
	return err
}

// arguments always returns an object, because some models send null instead.
func arguments(args json.RawMessage) json.RawMessage {
	if text := bytes.TrimSpace(args); len(text) == 0 || string(text) == "null" {
		return json.RawMessage("{}")
	}
	return args
}
