package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/internal/tool"
)

// metaKey is where a call's idempotency key stands in its _meta.
const metaKey = "inquest/idempotencyKey"

// call sends one request. sent says whether the server may have processed it.
func (s *session) call(ctx context.Context, own string, call tool.Call) (result tool.Result, sent bool, err error) {
	ctx, receipt, end := s.begin(ctx)
	defer end()
	params := &mcp.CallToolParams{
		Meta:      mcp.Meta{metaKey: call.Key},
		Name:      own,
		Arguments: arguments(call.Arguments),
	}
	if call.Progress != nil {
		params.SetProgressToken(call.Key)
	}
	answer, err := s.client.CallTool(ctx, params)
	if err != nil {
		sent, _ = receipt.read()
		return tool.Result{}, sent, s.explain(ctx, err)
	}
	result, err = convert(s.wire.results().take(answer.Meta))
	return result, true, err
}

// begin applies the server's own timeout to a request, and ends it if the
// session is stopped.
func (s *session) begin(ctx context.Context) (context.Context, *receipt, func()) {
	cancel := func() {}
	if s.transport.Timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, s.transport.Timeout.D())
	}
	ctx, receipt := withReceipt(ctx)
	undo := s.abort(receipt)
	done := s.wire.results().wait()
	return ctx, receipt, func() {
		done()
		undo()
		receipt.giveUp(nil)
		cancel()
	}
}

// abort gives a request up when the session is stopped.
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

// explain finds the reason for an error of the SDK. What the wire has seen
// counts for more than what the SDK made of it.
func (s *session) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, mcp.ErrConnectionClosed) {
		s.wire.fail(err) // the SDK refuses it from now on
	}
	_, noted := receiptIn(ctx).read()
	_, refused := errors.AsType[*statusError](noted)
	_, answered := errors.AsType[*jsonrpc.Error](err) // or so it looks: the SDK's own errors are such, too
	ours := noted != nil && errors.Is(err, noted)
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errTooLarge), errors.Is(cause, errEnded):
		return cause
	case ctx.Err() != nil:
		return ctx.Err()
	case refused, ours, noted != nil && !answered:
		return noted
	case answered:
		return err
	}
	if closed(s.wire.ended()) {
		return s.wire.why()
	}
	return err
}

// arguments are an object always: some models say null where there are none.
func arguments(args json.RawMessage) json.RawMessage {
	if text := bytes.TrimSpace(args); len(text) == 0 || string(text) == "null" {
		return json.RawMessage("{}")
	}
	return args
}

// receipt is what the wire tells the caller of the SDK about a request.
type receipt struct {
	giveUp context.CancelCauseFunc // ends the request

	mu   sync.Mutex
	sent bool
	err  error
}

type receiptKey struct{}

// withReceipt returns a ctx for one request. The cause of its end says more
// than its Err if it was the wire that ended it.
func withReceipt(ctx context.Context) (context.Context, *receipt) {
	ctx, cancel := context.WithCancelCause(ctx)
	r := &receipt{giveUp: cancel}
	return context.WithValue(ctx, receiptKey{}, r), r
}

// receiptOf finds the receipt of a request; anything else gets one that nobody
// reads (the notice of a cancellation carries its call's ctx).
func receiptOf(ctx context.Context, msg jsonrpc.Message) *receipt {
	if request, ok := msg.(*jsonrpc.Request); ok && request.IsCall() {
		return receiptIn(ctx)
	}
	return unread()
}

func receiptIn(ctx context.Context) *receipt {
	if r, ok := ctx.Value(receiptKey{}).(*receipt); ok {
		return r
	}
	return unread()
}

func unread() *receipt { return &receipt{giveUp: func(error) {}} }

// setSent says whether the server may have seen the request.
func (r *receipt) setSent(sent bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = sent
}

// note keeps what went wrong on the way; nil = nothing so far.
func (r *receipt) note(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}

func (r *receipt) read() (sent bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sent, r.err
}
