package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// receipt records what happens to one request of the SDK on the wire.
type receipt struct {
	giveUp context.CancelCauseFunc // ends the request
	once   bool                    // the request must not be sent a second time, whoever tries
	// allowed is called directly before the request is sent, and may refuse that. Nil allows it.
	allowed func() error
	answers *answers // learns which requests are sent; nil for an unused receipt
	keeps   bool     // the result is kept in the server's form
	asker   asker    // set before the request is sent

	mu        sync.Mutex
	sends     int   // how often the request may have reached the server
	withdrawn bool  // the caller has gone, so the request must not be sent any more
	over      bool  // nobody waits for an answer, but the notice of the cancellation may be sent
	withheld  error // why the request was not sent
	err       error // the error on the way
	sent      sentRequest
}

// sentRequest identifies a sent request, so that it can be cancelled at the server.
type sentRequest struct {
	id   any           // of JSON-RPC
	http *http.Request // its body is available only by GetBody; nil for a process
}

var (
	errTwice     = errors.New("the call must not be sent twice")
	errWithdrawn = errors.New("the call was abandoned before it was sent")
)

type receiptKey struct{}

// withReceipt returns a ctx for one request. If the wire ends the request, the cause of the ctx is the reason.
func withReceipt(ctx context.Context, answers *answers) (context.Context, *receipt) {
	ctx, cancel := context.WithCancelCause(ctx)
	r := &receipt{giveUp: cancel, answers: answers}
	return context.WithValue(ctx, receiptKey{}, r), r
}

// receiptOf returns the receipt of a request. Other messages get an unused receipt, because the notice of a
// cancellation carries the ctx of its call.
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

// begin must be called directly before the first byte is sent. If it returns an error, nothing may be sent.
func (r *receipt) begin(sent sentRequest) error {
	err := r.barred()
	if err == nil && r.allowed != nil {
		err = r.allowed() // may ask the store, so not under the lock
	}
	if err == nil {
		err = r.barred()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil && r.over && sent.id != nil {
		err = errWithdrawn // net/http may ask for the body of a request that was given up
	}
	if err != nil {
		if r.withheld == nil {
			r.withheld = err
		}
		return err
	}
	r.sends++
	if sent.id != nil { // otherwise it is a notice about the request
		r.sent = sent
		if r.answers != nil {
			r.answers.expect(sent.id, r.keeps)
		}
	}
	return nil
}

func (r *receipt) barred() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.withdrawn:
		return errWithdrawn
	case r.once && r.sends > 0:
		return errTwice
	}
	return nil
}

// undo reverts begin: nothing that a server could act on was sent.
func (r *receipt) undo() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sends--
	if r.answers != nil {
		r.answers.unsent(r.sent.id)
	}
}

// forget must be called when nobody waits for the answer any more.
func (r *receipt) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	r.answers.forget(r.sent.id)
}

// withdraw prevents a request from being sent, and reports whether it was sent already.
func (r *receipt) withdraw() (sent bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.withdrawn = true
	return r.sends > 0
}

// ofCancellation reports whether a message is the SDK's own notice of a withdrawn request. It carries the ctx of the
// request, and is dropped because the session has sent a notice already.
func ofCancellation(ctx context.Context, msg jsonrpc.Message) bool {
	r, notice := receiptIn(ctx), false
	if request, ok := msg.(*jsonrpc.Request); ok {
		notice = !request.IsCall()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return notice && r.withdrawn
}

// note records the error on the way. Nil means none so far.
func (r *receipt) note(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}

func (r *receipt) read() (sends int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sends, r.err
}

// refused returns why the fence kept the request from being sent, or nil.
func (r *receipt) refused() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sends > 0 || errors.Is(r.withheld, errWithdrawn) {
		return nil
	}
	return r.withheld
}

func (r *receipt) request() sentRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sent
}

// cancellation is the notice of an abandoned request.
func cancellation(id any) *jsonrpc.Request {
	params, _ := json.Marshal(map[string]any{"requestId": id, "reason": "the client abandoned the call"}) // an id can be encoded
	return &jsonrpc.Request{Method: "notifications/cancelled", Params: params}
}
