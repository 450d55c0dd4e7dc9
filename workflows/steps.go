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
// task ends, the step runs again and finds its earlier writes.
type step struct {
	activity, in any
	// inHistory replaces in for a regular activity, whose arguments are stored in the
	// history. Nil means in.
	inHistory any
	summary   string
	// within bounds the local tries, for which signals and queries wait.
	within time.Duration
}

// storeStep runs an activity that touches only our own store.
func storeStep(ctx workflow.Context, summary string, activity, in, out any) error {
	return step{activity: activity, in: in, summary: summary, within: storeWithin}.run(storeOptions(ctx, summary), out)
}

// run tries the step within the workflow task, and then as a regular activity with the options of
// ctx. The regular one waits for an unavailable store, and other workers can run it. Cancellation
// does not interrupt the local tries, so their writes are complete before the
// workflow continues.
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

// leftToRegular lists final errors of local activities that a regular one may avoid. If the
// input is too large, the regular one gets inHistory, which may be smaller.
var leftToRegular = []string{ErrorTooLarge, activities.ErrorNotQuick, activities.ErrorReplaced}
