package workflows

import (
	"cmp"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/plan"
)

// deadline bounds a piece of work by workflow time. Time in which the work is
// held (paused, waiting for people) does not count.
type deadline struct {
	Remaining time.Duration `json:"remaining,omitempty"` // zero means no bound
	Expired   bool          `json:"expired,omitempty"`

	since    time.Time           // when the clock was last started; zero while it is stopped
	extended bool                // whether time was added since then
	timer    workflow.Future     // the running timer; nil while the clock is stopped
	stop     workflow.CancelFunc // of the timer
}

// bound configures a deadline.
type bound struct {
	what string
	held func() bool
	// more asks for more time when the time is up, and reports whether it was granted. Nil means never.
	more func(workflow.Context) bool
	// warn asks the work to conclude when the time is up, and returns how long it has until it is cancelled.
	// Without warn it is cancelled at once.
	warn func() (grace time.Duration)
}

// start returns a context that is cancelled when the time is up. The caller
// cancels it when the work is done.
func (d *deadline) start(ctx workflow.Context, watch *watch, b bound) (workflow.Context, workflow.CancelFunc) {
	ctx, cancel := workflow.WithCancel(ctx)
	d.timer = nil
	if d.Remaining > 0 {
		watch.whenever(ctx, func() bool { return d.turns(b) }, func(ctx workflow.Context) {
			if d.turn(ctx, b) {
				cancel()
			}
		})
	}
	return ctx, cancel
}

// turns reports whether the clock must be started or stopped, or the time is up.
func (d *deadline) turns(b bound) bool {
	if d.timer == nil {
		return !b.held()
	}
	return d.timer.IsReady() || d.extended || b.held()
}

// turn starts or stops the clock. over means that the time is up, including the grace time that warn gives.
func (d *deadline) turn(ctx workflow.Context, b bound) (over bool) {
	if d.timer == nil {
		d.since, d.extended = workflow.Now(ctx), false
		ctx, d.stop = workflow.WithCancel(ctx)
		d.timer = workflow.NewTimerWithOptions(ctx, d.Remaining, workflow.TimerOptions{Summary: b.what})
		return false
	}
	restart := b.held() || d.extended
	d.stop()
	d.timer = nil
	d.stopClock(workflow.Now(ctx))
	if restart || b.more != nil && b.more(ctx) {
		return false
	}
	d.Expired = true
	if b.warn != nil {
		_ = workflow.Sleep(ctx, b.warn())
	}
	return true
}

// awaitPeople waits until done returns true (inTime) or the time expires. A pause stops the clock: *expires is zero
// during the pause, and then later by the length of the pause. moved is called when *expires
// changes.
func awaitPeople(ctx workflow.Context, what string, expires *time.Time, paused, done func() bool, moved func()) (inTime bool, err error) {
	left := expires.Sub(workflow.Now(ctx))
	for {
		if paused() && !done() {
			*expires = time.Time{}
			moved()
			if err := workflow.Await(ctx, func() bool { return !paused() || done() }); err != nil {
				return false, err
			}
			*expires = workflow.Now(ctx).Add(left)
			moved()
		}
		began := workflow.Now(ctx)
		options := workflow.AwaitOptions{Timeout: max(left, time.Millisecond), TimerOptions: workflow.TimerOptions{Summary: what}}
		inTime, err := workflow.AwaitWithOptions(ctx, options, func() bool { return paused() || done() })
		if err != nil || !inTime || done() {
			return inTime, err
		}
		left -= workflow.Now(ctx).Sub(began)
	}
}

// timeToConclude returns how long work has to conclude after a limit. Pass zero for limits other than time limits.
// Plans that are older than the setting get lastWord.
func timeToConclude(conclude, limit plan.Duration) time.Duration {
	return cmp.Or(plan.Grace(conclude, limit).D(), lastWord)
}

// shorter returns the shorter of two durations. Zero means no limit.
func shorter(a, b plan.Duration) plan.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// stopClock stops the clock. Remaining never becomes zero, because zero means no bound.
func (d *deadline) stopClock(now time.Time) {
	if !d.since.IsZero() {
		d.Remaining = max(d.Remaining-now.Sub(d.since), time.Millisecond)
		d.since = time.Time{}
	}
}

// extend adds time to the deadline.
func (d *deadline) extend(by time.Duration) {
	if d.Remaining > 0 && by > 0 {
		d.Remaining, d.extended = d.Remaining+by, true
	}
}

// until is when the time will be up. It is zero while the clock is stopped or if there is no bound.
func (d *deadline) until() time.Time {
	if d.since.IsZero() || d.Remaining == 0 {
		return time.Time{}
	}
	return d.since.Add(d.Remaining)
}

// exact returns a time at the precision of the store.
func exact(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// A heartbeat lets an agent continue without new input (spec: agents,
// "Heartbeats"). It is unrelated to an activity's heartbeat.

// sleepFor pauses the agent's heartbeats from now on; a second pause overwrites the first.
func (r *agentRun) sleepFor(ctx workflow.Context, minutes int) {
	r.state.PausedUntil = workflow.Now(ctx).Add(time.Duration(minutes) * time.Minute)
}

// asleep reports whether the agent has paused its heartbeats.
func (r *agentRun) asleep(ctx workflow.Context) bool {
	return r.state.PausedUntil.After(workflow.Now(ctx))
}

// wake ends a pause, if there is one.
func (r *agentRun) wake() { r.state.PausedUntil = time.Time{} }

// sleep waits until the pause of the heartbeats is over or a person ends it, and
// then tells the model.
func (r *agentRun) sleep(ctx workflow.Context) error {
	r.sleeping = true
	r.waitReporter.changed()
	defer func() {
		r.sleeping = false
		r.waitReporter.changed()
	}()
	for r.asleep(ctx) {
		until := r.state.PausedUntil
		r.note(ctx, "heartbeats paused until "+until.UTC().Format(time.RFC3339)+"; wakes on resume-heartbeats, guide or conclude")
		options := workflow.AwaitOptions{
			Timeout:      until.Sub(workflow.Now(ctx)),
			TimerOptions: workflow.TimerOptions{Summary: "heartbeats paused"},
		}
		changed := func() bool { return r.steering.Concluding || r.state.PausedUntil != until }
		if _, err := workflow.AwaitWithOptions(ctx, options, changed); err != nil {
			return err
		}
		if r.steering.Concluding {
			break
		}
	}
	r.wake()
	r.state.Inputs = append(r.state.Inputs, activities.Input{Kind: activities.InputAwake})
	return nil
}

// clamped is the length of the pause in minutes: from 1 to 60, or 2 if no usable value is given.
func (p PauseHeartbeats) clamped() int {
	if p.Minutes == nil {
		return defaultPause
	}
	return min(max(*p.Minutes, 1), 60)
}

const defaultPause = 2 // minutes
