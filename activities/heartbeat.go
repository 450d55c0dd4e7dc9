package activities

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

// Heartbeats tells Temporal that an attempt of an activity is alive.
type Heartbeats interface {
	// Beat tells Temporal's users what the attempt waits for ("" = nothing). It
	// returns a *temporal.CanceledError if the activity was cancelled, and a
	// *serviceerror.NotFound if the attempt is over for Temporal.
	Beat(ctx context.Context, taskToken []byte, waits string) error
}

const (
	// beatEvery bounds how late a cancellation is noticed.
	beatEvery = 1500 * time.Millisecond
	// beatTimeout is how long Temporal may take to answer one beat.
	beatTimeout = 10 * time.Second
)

// attend heartbeats until stop is called, so that a dead worker is noticed, and
// returns the context to work under. That ends when somebody cancels the activity or
// the attempt is over, and never because Temporal does not answer: the SDK's own
// heartbeat takes a missing answer for a cancellation, so that a stall of two
// seconds would cut every call that runs. Heartbeats say nothing about progress: a
// model's stream has an idle timeout, a tool a timeout of its own.
func (a *Activities) attend(ctx context.Context) (work context.Context, stop func()) {
	work, cut := context.WithCancelCause(context.WithValue(ctx, waitingKey{}, new(atomic.Bool)))
	if a.Heartbeats == nil || activity.GetInfo(ctx).IsLocalActivity { // that one's worker keeps the workflow task
		return work, func() { cut(nil) }
	}
	beating, over := context.WithCancel(context.WithoutCancel(ctx)) // what is cut may still have to write what is in hand
	var beat func()
	beat = func() {
		if beating.Err() != nil {
			return
		}
		if err := a.beat(beating, activity.GetInfo(ctx).TaskToken, waits(work), work.Err() == nil); err != nil {
			cut(err)
		}
		time.AfterFunc(beatEvery, beat) // between two beats there is no goroutine, and no stack that has grown
	}
	begin := time.AfterFunc(beatEvery, beat)
	return work, func() {
		begin.Stop() // most are over before
		over()
		cut(nil)
	}
}

// beat returns an error only if the attempt has to end. first: it has not been told so before.
func (a *Activities) beat(ctx context.Context, token []byte, waits string, first bool) error {
	asking, cancel := context.WithTimeout(ctx, beatTimeout)
	defer cancel()
	err := a.Heartbeats.Beat(asking, token, waits)
	_, over := errors.AsType[*serviceerror.NotFound](err)
	switch {
	case temporal.IsCanceledError(err):
		if first {
			activity.RecordHeartbeat(ctx) // the SDK lets only those activities end as cancelled that it knows to be
		}
		return err
	case over, errors.Is(err, activity.ErrActivityPaused), errors.Is(err, activity.ErrActivityReset):
		return errReplaced{err}
	}
	return nil
}

// waitingKey is that of a flag in an activity's context: what is in hand waits for the store.
type waitingKey struct{}

func setWaiting(ctx context.Context, waiting bool) {
	if flag, ok := ctx.Value(waitingKey{}).(*atomic.Bool); ok {
		flag.Store(waiting)
	}
}

// waits is what the activity waits for, as the type of an error.
func waits(ctx context.Context) string {
	if flag, ok := ctx.Value(waitingKey{}).(*atomic.Bool); ok && flag.Load() {
		return ErrorStore
	}
	return ""
}

// errReplaced is the cause of a context whose attempt Temporal has given up: another
// attempt has begun, or nobody waits for this one any more.
type errReplaced struct{ error }
