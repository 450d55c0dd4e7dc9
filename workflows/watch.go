package workflows

import (
	"slices"

	"go.temporal.io/sdk/workflow"
)

// watch waits for all events that may arrive while a workflow does something else: signals, changes to
// report, the end of its time. A coroutine holds a goroutine and its stack for as long as the
// workflow is in its worker's cache. So one coroutine waits for everything, and others live only
// while they have work.
type watch struct{ watched []*watched }

type watched struct {
	ctx  workflow.Context
	due  func() bool
	busy bool
	do   func(workflow.Context)
}

// newWatch watches until the workflow ends, even if ctx is cancelled.
func newWatch(ctx workflow.Context) *watch {
	w := &watch{}
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for workflow.Await(ctx, w.due) == nil {
			w.begin()
		}
	})
	return w
}

// whenever does something each time it is due, one time after the other, until ctx ends.
func (w *watch) whenever(ctx workflow.Context, due func() bool, do func(workflow.Context)) {
	w.watched = append(w.watched, &watched{ctx: ctx, due: due, do: do})
}

func (w *watch) due() bool { return slices.ContainsFunc(w.watched, (*watched).ready) }

func (w *watch) begin() {
	w.watched = slices.DeleteFunc(w.watched, func(one *watched) bool { return one.ctx.Err() != nil })
	for _, one := range w.watched {
		if !one.ready() {
			continue
		}
		one.busy = true
		workflow.Go(one.ctx, func(ctx workflow.Context) {
			one.do(ctx)
			one.busy = false
		})
	}
}

func (one *watched) ready() bool { return !one.busy && one.ctx.Err() == nil && one.due() }
