package mcp

import (
	"context"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

type receiptKey struct{}

// withReceipt lets the caller of the SDK learn whether its request was written.
func withReceipt(ctx context.Context) (context.Context, *atomic.Bool) {
	receipt := new(atomic.Bool)
	return context.WithValue(ctx, receiptKey{}, receipt), receipt
}

// receiptOf finds the receipt of a request; anything else gets one that nobody
// reads (the notice of a cancellation carries its call's ctx).
func receiptOf(ctx context.Context, msg jsonrpc.Message) *atomic.Bool {
	if request, ok := msg.(*jsonrpc.Request); ok && request.IsCall() {
		if receipt, ok := ctx.Value(receiptKey{}).(*atomic.Bool); ok {
			return receipt
		}
	}
	return new(atomic.Bool)
}
