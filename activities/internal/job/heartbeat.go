package job

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
	// Beat reports the attempt's state to Temporal. It returns a *temporal.CanceledError if the activity was cancelled, and
	// a *serviceerror.NotFound if Temporal has ended the attempt.
	Beat(ctx context.Context, taskToken []byte, doing Doing) error
}

// Doing is the payload of a heartbeat. Older workers send Waits alone, as a string. Newer workers do the same if no
// other field is set.
type Doing struct {
	// Waits names the attempt's current wait, as an error type. An empty string means nothing.
	Waits string `json:"waits,omitempty"`
	// Intended means that the attempt has written the intent of a call that must not run twice. If the store has no such
	// intent later, it has lost it.
	Intended bool `json:"intended,omitempty"`
}

// Details returns the heartbeat details that Temporal keeps.
func (d Doing) Details() []any {
	switch {
	case d.Intended:
		return []any{d}
	case d.Waits != "":
		return []any{d.Waits}
	}
	return nil
}

// ReadDoing reads heartbeat details with a function that decodes them into a pointer.
func ReadDoing(decode func(to any) error) (d Doing) {
	if decode(&d.Waits) == nil {
		return d
	}
	if decode(&d) != nil {
		return Doing{} // there are no details
	}
	return d
}

const (
	// beatEvery limits how late a cancellation is noticed.
	beatEvery = 1500 * time.Millisecond
	// beatTimeout is how long Temporal may take to answer one heartbeat.
	beatTimeout = 10 * time.Second
)

// Attend sends heartbeats until stop is called, so that a dead worker is noticed, and returns the context to work under.
// That context ends when the activity is cancelled or the attempt is over, but never because Temporal does not answer.
// The SDK's own heartbeat treats a missing answer as a cancellation, so a stall of two seconds would cut every running
// call. Heartbeats carry no progress: models' streams have an idle timeout, and tools have timeouts.
func (a *Worker) Attend(ctx context.Context) (work context.Context, stop func()) {
	pulse := &pulse{}
	work, cut := context.WithCancelCause(context.WithValue(ctx, pulseKey{}, pulse))
	if a.Heartbeats == nil || activity.GetInfo(ctx).IsLocalActivity { // that activity's worker keeps the workflow task alive
		return work, func() { cut(nil) }
	}
	pulse.intended.Store(IntendedBefore(ctx))                       // a heartbeat without it would clear it
	beating, over := context.WithCancel(context.WithoutCancel(ctx)) // a cut attempt may still have to write its result
	// A heartbeat from before the intent must not arrive after the one that reports it.
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
		time.AfterFunc(beatEvery, beat) // between heartbeats there is no goroutine and no grown stack
	}
	begin := time.AfterFunc(beatEvery, beat)
	pulse.now = func() { go once() }
	return work, func() {
		begin.Stop() // most attempts end before the first heartbeat
		over()
		cut(nil)
	}
}

// beat returns an error only if the attempt has to end. first means that the attempt does not know yet.
func (a *Worker) beat(ctx context.Context, token []byte, doing Doing, first bool) error {
	asking, cancel := context.WithTimeout(ctx, beatTimeout)
	defer cancel()
	err := a.Heartbeats.Beat(asking, token, doing)
	_, over := errors.AsType[*serviceerror.NotFound](err)
	switch {
	case temporal.IsCanceledError(err):
		if first {
			activity.RecordHeartbeat(ctx) // the SDK lets an activity end as cancelled only if it knows about the cancellation
		}
		return err
	case over, errors.Is(err, activity.ErrActivityPaused), errors.Is(err, activity.ErrActivityReset):
		return errReplaced{err}
	}
	return nil
}

// pulse is the state that an attempt's heartbeats report.
type pulse struct {
	waiting, intended atomic.Bool
	now               func() // sends a heartbeat at once; nil: the attempt sends none
}

type pulseKey struct{}

func (p *pulse) doing() Doing {
	doing := Doing{Intended: p.intended.Load()}
	if p.waiting.Load() {
		doing.Waits = ErrorStore
	}
	return doing
}

// setWaiting records whether a result is waiting for the store.
func setWaiting(ctx context.Context, waiting bool) {
	if p, ok := ctx.Value(pulseKey{}).(*pulse); ok {
		p.waiting.Store(waiting)
	}
}

// waits returns the activity's current wait, as an error type.
func waits(ctx context.Context) string {
	if p, ok := ctx.Value(pulseKey{}).(*pulse); ok {
		return p.doing().Waits
	}
	return ""
}

// SetIntended tells Temporal, without waiting for the answer, that the intent of the attempt's call is written.
func SetIntended(ctx context.Context) {
	if p, ok := ctx.Value(pulseKey{}).(*pulse); ok {
		p.intended.Store(true)
		if p.now != nil {
			p.now()
		}
	}
}

// IntendedBefore reports whether an earlier attempt had written the intent of its call.
func IntendedBefore(ctx context.Context) bool {
	return activity.HasHeartbeatDetails(ctx) && ReadDoing(func(to any) error { return activity.GetHeartbeatDetails(ctx, to) }).Intended
}

// errReplaced is the cause of a context whose attempt Temporal has given up: another attempt has begun, or the result is
// no longer needed.
type errReplaced struct{ error }
