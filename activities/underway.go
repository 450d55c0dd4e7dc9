package activities

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// running is a call of a tool or a model that has outlived its local attempt.
type running struct {
	cut   context.CancelCauseFunc
	waits func() bool // for the store
	// attended: a regular attempt has found it.
	attended atomic.Bool
	over     chan struct{} // closed when the fields below are set
	out      any
	err      error
}

// attend does for the call what a regular attempt does: it waits, cuts it when it is cancelled,
// and says what it waits for. first: no other attempt was told how the call has ended.
func (r *running) attend(ctx context.Context) (out any, first bool, err error) {
	if r.attended.Swap(true) && r.ended() {
		return nil, false, nil
	}
	ticker := time.NewTicker(beatEvery)
	defer ticker.Stop()
	for ended := ctx.Done(); ; {
		select {
		case <-r.over:
			return r.out, true, r.err
		case <-ended:
			r.cut(context.Cause(ctx))
			ended = nil // but it is waited for what it still writes
		case <-ticker.C:
			setWaiting(ctx, r.waits())
		}
	}
}

func (r *running) ended() bool {
	select {
	case <-r.over:
		return true
	default:
		return false
	}
}

// underway is this worker's calls that have outlived their local attempts. Those that are over
// stay for as long as a regular attempt on another worker would wait for them.
type underway struct {
	mu    sync.Mutex
	calls map[string]*running
	made  sync.WaitGroup // all that were begun within workflow tasks, also those that end there, or were cut
}

// begin returns false if the call is over meanwhile.
func (u *underway) begin(key string, r *running) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if r.ended() {
		return false
	}
	if u.calls == nil {
		u.calls = map[string]*running{}
	}
	u.calls[key] = r
	return true
}

// end says that the call is over, and forgets it after so long.
func (u *underway) end(key string, r *running, after time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	close(r.over)
	if u.calls[key] == r {
		time.AfterFunc(after, func() { u.forget(key, r) })
	}
}

func (u *underway) forget(key string, r *running) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.calls[key] == r {
		delete(u.calls, key)
	}
}

// deserted reports whether there is a call that goes on, and that no regular attempt attends to yet.
func (u *underway) deserted() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, r := range u.calls {
		if !r.attended.Load() && !r.ended() {
			return true
		}
	}
	return false
}

func (u *underway) find(key string) *running {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.calls[key]
}

// Drain waits until the calls that were begun within workflow tasks are over, or until that time has passed. The
// caller sees to it that no more begin.
func Drain(a *Activities, within time.Duration) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		a.underway.made.Wait()
	}()
	select {
	case <-over:
	case <-time.After(within):
	}
}
