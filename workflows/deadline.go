package workflows

import (
	"cmp"
	"time"

	"go.temporal.io/sdk/workflow"

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
	again := b.held() || d.extended
	d.stop()
	d.timer = nil
	d.hold(workflow.Now(ctx))
	if again || b.more != nil && b.more(ctx) {
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

// hold stops the clock. Remaining never becomes zero, because zero means no bound.
func (d *deadline) hold(now time.Time) {
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
