package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"
)

// deadline bounds a piece of work by workflow time; time in which the work is
// held (paused, waiting for people) does not count.
type deadline struct {
	Remaining time.Duration `json:"remaining,omitempty"` // 0 = no bound
	Expired   bool          `json:"expired,omitempty"`

	since    time.Time // when the clock was last set going; zero while it is held
	extended bool      // since then
}

// bound is what a deadline is for.
type bound struct {
	what string
	held func() bool
	// warn has the work concluded when the time is up, for which it has lastWord
	// before it is cancelled; nil = it is cancelled at once.
	warn func()
}

// start returns a context that is cancelled when the time is up. The caller
// cancels it when the work is done.
func (d *deadline) start(ctx workflow.Context, b bound) (workflow.Context, workflow.CancelFunc) {
	ctx, cancel := workflow.WithCancel(ctx)
	if d.Remaining > 0 {
		workflow.Go(ctx, func(ctx workflow.Context) { d.run(ctx, cancel, b) })
	}
	return ctx, cancel
}

func (d *deadline) run(ctx workflow.Context, cancel workflow.CancelFunc, b bound) {
	for workflow.Await(ctx, func() bool { return !b.held() }) == nil {
		d.since, d.extended = workflow.Now(ctx), false
		again, err := workflow.AwaitWithOptions(ctx, workflow.AwaitOptions{
			Timeout:      d.Remaining,
			TimerOptions: workflow.TimerOptions{Summary: b.what},
		}, func() bool { return b.held() || d.extended })
		if err != nil {
			return
		}
		d.hold(workflow.Now(ctx))
		if !again {
			d.Expired = true
			if b.warn != nil {
				b.warn()
				_ = workflow.Sleep(ctx, lastWord)
			}
			cancel()
			return
		}
	}
}

// awaitPeople waits until done, or until nobody was in time: by expires. No time passes while
// people have paused the work: expires is zero then, and later by the pause once they go on.
// moved is called when it changes.
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

// hold stops the clock. What is left never becomes zero, which means no bound.
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

// until is when the time will be up; zero while the clock is held, or if there is no bound.
func (d *deadline) until() time.Time {
	if d.since.IsZero() || d.Remaining == 0 {
		return time.Time{}
	}
	return d.since.Add(d.Remaining)
}
