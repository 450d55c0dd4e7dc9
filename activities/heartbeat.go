package activities

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

// Heartbeats tells Temporal that an attempt of an activity is alive.
type Heartbeats interface {
	// Beat tells Temporal what the attempt is doing. It returns a *temporal.CanceledError if
	// the activity was cancelled, and a *serviceerror.NotFound if the attempt is over for Temporal.
	Beat(ctx context.Context, taskToken []byte, doing Doing) error
}

// Doing is what a heartbeat says of an attempt. Older workers send Waits alone, as a string, and so do newer ones
// where nothing else is to be said.
type Doing struct {
	// Waits is what the attempt waits for, as the type of an error. An empty string means nothing.
	Waits string `json:"waits,omitempty"`
	// Intended means that the attempt has written the intent of a call that must not run twice. If the store
	// has no such intent later, it has lost it.
	Intended bool `json:"intended,omitempty"`
}

// Details are what Temporal keeps of the heartbeat.
func (d Doing) Details() []any {
	switch {
	case d.Intended:
		return []any{d}
	case d.Waits != "":
		return []any{d.Waits}
	}
	return nil
}

// ReadDoing reads the details of a heartbeat by a function that decodes them into a pointer.
func ReadDoing(decode func(to any) error) (d Doing) {
	if decode(&d.Waits) == nil {
		return d
	}
	if decode(&d) != nil {
		return Doing{} // there are none
	}
	return d
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
	pulse := &pulse{}
	work, cut := context.WithCancelCause(context.WithValue(ctx, pulseKey{}, pulse))
	if a.Heartbeats == nil || activity.GetInfo(ctx).IsLocalActivity { // that one's worker keeps the workflow task
		return work, func() { cut(nil) }
	}
	pulse.intended.Store(intendedBefore(ctx))                       // a heartbeat without it would undo it
	beating, over := context.WithCancel(context.WithoutCancel(ctx)) // what is cut may still have to write what is in hand
	// A beat of before the intent must not arrive after the one that tells of it.
	var turn sync.Mutex
	once := func() {
		turn.Lock()
		defer turn.Unlock()
		if beating.Err() != nil {
			return
		}
		if err := a.beat(beating, activity.GetInfo(ctx).TaskToken, pulse.doing(), work.Err() == nil); err != nil {
			cut(err)
		}
	}
	var beat func()
	beat = func() {
		if beating.Err() != nil {
			return
		}
		once()
		time.AfterFunc(beatEvery, beat) // between two beats there is no goroutine, and no stack that has grown
	}
	begin := time.AfterFunc(beatEvery, beat)
	pulse.now = func() { go once() }
	return work, func() {
		begin.Stop() // most are over before
		over()
		cut(nil)
	}
}

// beat returns an error only if the attempt has to end. first: it has not been told so before.
func (a *Activities) beat(ctx context.Context, token []byte, doing Doing, first bool) error {
	asking, cancel := context.WithTimeout(ctx, beatTimeout)
	defer cancel()
	err := a.Heartbeats.Beat(asking, token, doing)
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

// pulse is what the heartbeats of an attempt say.
type pulse struct {
	waiting, intended atomic.Bool
	now               func() // sends one at once; nil: the attempt has none
}

type pulseKey struct{}

func (p *pulse) doing() Doing {
	doing := Doing{Intended: p.intended.Load()}
	if p.waiting.Load() {
		doing.Waits = ErrorStore
	}
	return doing
}

// setWaiting says that what is in hand waits for the store, or no longer does.
func setWaiting(ctx context.Context, waiting bool) {
	if p, ok := ctx.Value(pulseKey{}).(*pulse); ok {
		p.waiting.Store(waiting)
	}
}

// waits is what the activity waits for, as the type of an error.
func waits(ctx context.Context) string {
	if p, ok := ctx.Value(pulseKey{}).(*pulse); ok {
		return p.doing().Waits
	}
	return ""
}

// setIntended tells Temporal, without waiting for it, that the intent of the attempt's call is written.
func setIntended(ctx context.Context) {
	if p, ok := ctx.Value(pulseKey{}).(*pulse); ok {
		p.intended.Store(true)
		if p.now != nil {
			p.now()
		}
	}
}

// intendedBefore reports whether an earlier attempt had written the intent of its call.
func intendedBefore(ctx context.Context) bool {
	return activity.HasHeartbeatDetails(ctx) && ReadDoing(func(to any) error { return activity.GetHeartbeatDetails(ctx, to) }).Intended
}

// errReplaced is the cause of a context whose attempt Temporal has given up: another
// attempt has begun, or nobody waits for this one any more.
type errReplaced struct{ error }
