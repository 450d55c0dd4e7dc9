package workflows

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
)

// step is an activity that takes milliseconds and writes a journal. It runs as a local
// activity, which costs a fraction of a regular one. If the worker dies before the workflow
// task ends, the step runs again and finds what it has written.
type step struct {
	activity, in any
	// inHistory is what a regular activity is given in place of in, because the history
	// holds it; nil = in.
	inHistory any
	summary   string
	// within bounds the local tries, for which signals and queries wait.
	within time.Duration
}

// storeStep runs an activity that touches only our own store.
func storeStep(ctx workflow.Context, summary string, activity, in, out any) error {
	return step{activity: activity, in: in, summary: summary, within: storeWithin}.run(storeOptions(ctx, summary), out)
}

// run tries the step within the workflow task, and then as a regular activity with the options
// of ctx: that one waits for a store that is away, and another worker may be able to do it.
// A cancellation does not cut the local tries, so that what they write is written before the
// workflow goes on.
func (s step) run(ctx workflow.Context, out any) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	local, _ := workflow.NewDisconnectedContext(localOptions(ctx, s.within, s.summary))
	err := workflow.ExecuteLocalActivity(local, s.activity, s.in).Get(local, out)
	if err == nil || lasts(err) {
		return err
	}
	return workflow.ExecuteActivity(ctx, s.activity, cmp.Or(s.inHistory, s.in)).Get(ctx, out)
}

// lasts reports whether a regular activity would end with the same error.
func lasts(err error) bool {
	failed, ok := errors.AsType[*temporal.ApplicationError](err)
	return ok && failed.NonRetryable() && !slices.Contains(leftToRegular, failed.Type())
}

// leftToRegular are the final errors of local activities that a regular one may not have. One
// whose input is too large is given inHistory, which may be less.
var leftToRegular = []string{ErrorTooLarge, activities.ErrorNotQuick, activities.ErrorReplaced}
