package job

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// running is a call of a tool or a model that has outlived its local attempt.
type running struct {
	cut   context.CancelCauseFunc
	waits func() bool // reports whether the call waits for the store
	// attended means that a regular attempt has found the call.
	attended atomic.Bool
	over     chan struct{} // closed when the fields below are set
	out      any
	err      error
}

// attend acts for the call as a regular attempt: it waits, cancels the call on cancellation, and reports the call's
// waits. first means that no other attempt has received the call's result.
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
			ended = nil // wait for what the call still writes
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

// underway holds this worker's calls that have outlived their local attempts. Finished calls stay for as long as a
// regular attempt on another worker would wait for them.
type underway struct {
	mu    sync.Mutex
	calls map[string]*running
	made  sync.WaitGroup // all calls begun within workflow tasks, including those that ended there or were cut
}

// begin returns false if the call has already ended.
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

// end marks the call as finished and forgets it after the given time.
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

// deserted reports whether a call is running that no regular attempt attends to yet.
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

// Drain waits until the calls begun within workflow tasks have ended, or until the time has passed.
func (a *Worker) Drain(within time.Duration) {
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
