package activities

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

// Heartbeats tells Temporal that an attempt of an activity is alive.
type Heartbeats interface {
	// Beat returns a *temporal.CanceledError if the activity was cancelled, and a
	// *serviceerror.NotFound if the attempt is over for Temporal.
	Beat(ctx context.Context, taskToken []byte) error
}

const (
	// beatEvery is how soon a cancellation is known, at the most.
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
	work, cut := context.WithCancelCause(ctx)
	beating, over := context.WithCancel(context.WithoutCancel(ctx)) // what is cut may still have to write what is in hand
	stop = func() {
		over()
		cut(nil)
	}
	if a.Heartbeats == nil {
		return work, stop
	}
	go func() {
		ticker := time.NewTicker(beatEvery)
		defer ticker.Stop()
		for {
			select {
			case <-beating.Done():
				return
			case <-ticker.C:
			}
			if err := a.beat(beating, activity.GetInfo(ctx).TaskToken, work.Err() == nil); err != nil {
				cut(err)
			}
		}
	}()
	return work, stop
}

// beat returns an error only if the attempt has to end; first = it was not told before.
func (a *Activities) beat(ctx context.Context, token []byte, first bool) error {
	asking, cancel := context.WithTimeout(ctx, beatTimeout)
	defer cancel()
	err := a.Heartbeats.Beat(asking, token)
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

// errReplaced is the cause of a context whose attempt is over for Temporal: another
// one has begun, or nobody waits for it any more.
type errReplaced struct{ error }
