package llm

import (
	"context"
	"time"
)

// Idle ends a context when a stream is silent for too long. Only the time spent
// waiting for the provider counts, so a slow reader of ours stalls nothing.
type Idle struct {
	limit  time.Duration
	timer  *time.Timer
	cancel context.CancelCauseFunc
}

// WatchIdle returns a context that ends, with ErrStalled as its cause, once
// nothing has arrived for limit. The wait begins at once. The caller stops it.
func WatchIdle(ctx context.Context, limit time.Duration) (context.Context, *Idle) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(limit, func() { cancel(ErrStalled) })
	return ctx, &Idle{limit: limit, timer: timer, cancel: cancel}
}

// Wait says that the next chunk is being waited for.
func (i *Idle) Wait() { i.timer.Reset(i.limit) }

// Arrived says that it has come.
func (i *Idle) Arrived() { i.timer.Stop() }

// Stop ends the watch and its context.
func (i *Idle) Stop() {
	i.timer.Stop()
	i.cancel(context.Canceled)
}
