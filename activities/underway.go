package activities

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"
)

// running is a call that has outlived its local attempt.
type running struct {
	cut   context.CancelCauseFunc
	waits func() bool // for the store
	// attended: a regular attempt has found it.
	attended atomic.Bool
	over     chan struct{} // closed when the fields below are set
	out      CallToolOut
	err      error
}

// attend does for the call what a regular attempt does: it waits, cuts it when it is cancelled,
// and says what it waits for.
func (r *running) attend(ctx context.Context) (CallToolOut, error) {
	r.attended.Store(true)
	ticker := time.NewTicker(beatEvery)
	defer ticker.Stop()
	for ended := ctx.Done(); ; {
		select {
		case <-r.over:
			return r.out, r.err
		case <-ended:
			r.cut(context.Cause(ctx))
			ended = nil // but it is waited for what it still writes
		case <-ticker.C:
			setWaiting(ctx, r.waits())
		}
	}
}

// underway is this worker's calls that have outlived their local attempts.
type underway struct {
	mu    sync.Mutex
	calls map[string]*running
}

func (u *underway) key(ctx context.Context, in CallToolIn) string {
	return fmt.Sprint(activity.GetInfo(ctx).WorkflowExecution.RunID, "/", in.Ref.Execution, "/", in.Iteration, "/", in.Call)
}

func (u *underway) begin(ctx context.Context, in CallToolIn, r *running) {
	u.mu.Lock()
	defer u.mu.Unlock()
	select {
	case <-r.over:
		return // meanwhile; the journal has its result
	default:
	}
	if u.calls == nil {
		u.calls = map[string]*running{}
	}
	u.calls[u.key(ctx, in)] = r
}

func (u *underway) end(ctx context.Context, in CallToolIn, r *running) {
	u.mu.Lock()
	defer u.mu.Unlock()
	close(r.over)
	if key := u.key(ctx, in); u.calls[key] == r {
		delete(u.calls, key)
	}
}

func (u *underway) find(ctx context.Context, in CallToolIn) *running {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.calls[u.key(ctx, in)]
}

// Drain waits until the calls that have outlived their local attempts are over, or that time is.
func Drain(a *Activities, within time.Duration) {
	late := time.After(within)
	for _, r := range a.underway.all() {
		select {
		case <-r.over:
		case <-late:
			return
		}
	}
}

func (u *underway) all() []*running {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Collect(maps.Values(u.calls))
}
