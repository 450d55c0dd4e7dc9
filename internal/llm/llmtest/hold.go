package llmtest

import (
	"context"
	"sync"
	"testing"
	"time"
)

// Hold stops a reply at a known point of its stream, so that a test can act while the client waits: kill it, signal it,
// inspect it.
//
//	hold := llmtest.NewHold()
//	srv := llmtest.Start(t, llmtest.Always(llmtest.Text("a long story").Chunked(2, 0).Hold(hold, 3)))
//	… start the client …
//	hold.Wait(t)   // three chunks are out
//	… kill -9 …
//	hold.Release() // for all that come after
type Hold struct {
	reached, released chan struct{}
	reach, release    sync.Once
}

// NewHold returns a hold that no reply has reached.
func NewHold() *Hold {
	return &Hold{reached: make(chan struct{}), released: make(chan struct{})}
}

// Reached is closed when the first reply reaches the hold.
func (h *Hold) Reached() <-chan struct{} { return h.reached }

// Wait waits for Reached.
func (h *Hold) Wait(t testing.TB) {
	t.Helper()
	select {
	case <-h.reached:
	case <-time.After(patience):
		t.Fatal("llmtest: no reply reached the hold")
	}
}

// Release releases all replies, now and later.
func (h *Hold) Release() { h.release.Do(func() { close(h.released) }) }

// stop waits at the hold until it is released or ctx ends.
func (h *Hold) stop(ctx context.Context) {
	h.reach.Do(func() { close(h.reached) })
	select {
	case <-h.released:
	case <-ctx.Done():
	}
}
