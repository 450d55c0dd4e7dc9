package mcp

import (
	"context"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

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
