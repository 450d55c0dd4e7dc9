package workflows

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
)

// A Temporal reset replaces a run and leaves its children running. The new run's history
// may end before or after they were started. Their IDs are the same in both runs, so
// children are signalled and cancelled by ID. (The server rejects "for a child only"
// requests from any run but the one that started the child.)

// child is a child workflow, created before it starts. Its Future is its result.
type child struct {
	workflow.Future
	id      string
	started workflow.Future
	outbox  []*letter // of signals; the first is being delivered
}

// letter is a signal on its way to a child.
type letter struct {
	signal
	done, taken bool
}

// family starts the children of a workflow and detects resets.
type family struct {
	watch         *watch
	investigation string
	run           string            // the first run, or the run after the last reset
	reopening     bool              // cleanup after a reset is in progress
	priority      temporal.Priority // of its children; the zero value = its own
	children      []*child
}

func newFamily(ctx workflow.Context, watch *watch, investigation string) family {
	return family{watch: watch, investigation: investigation, run: currentRun(ctx)}
}

// currentRun returns the ID of the run that is really executing. Replay of the part before a reset
// reports the ID of the original run.
func currentRun(ctx workflow.Context) (id string) {
	running := func(ctx workflow.Context) any { return workflow.GetInfo(ctx).WorkflowExecution.RunID }
	same := func(a, b any) bool { return a == b }
	_ = workflow.MutableSideEffect(ctx, "run", running, same).Get(&id)
	return id
}

// afterReset cleans up after a reset, before anything else is started or recorded. It marks the
// record as running again and cancels children that this run does not know. It reports whether
// there was a reset; without one it costs nothing.
func (f *family) afterReset(ctx workflow.Context) bool {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	run := currentRun(ctx)
	if run == f.run {
		_ = workflow.Await(ctx, func() bool { return !f.reopening })
		return false
	}
	f.run, f.reopening = run, true
	defer func() { f.reopening = false }()
	in := activities.ReopenIn{}
	if workflow.GetInfo(ctx).ParentWorkflowExecution == nil {
		in.Investigation = f.investigation
	}
	for _, c := range f.children {
		if !c.IsReady() {
			in.Children = append(in.Children, c.id)
		}
	}
	if err := workflow.ExecuteActivity(storeOptions(ctx, "after a reset"), act.Reopen, in).Get(ctx, nil); err != nil {
		workflow.GetLogger(ctx).Warn("after a reset", "error", err)
	}
	return true
}

// start starts a child that is cancelled together with the workflow.
func (f *family) start(ctx workflow.Context, name, summary string, workflowType, input any) *child {
	c := &child{id: childID(f.investigation, name)}
	f.children = append(slices.DeleteFunc(f.children, (*child).IsReady), c)
	var end, start workflow.Settable
	c.Future, end = workflow.NewFuture(ctx)
	c.started, start = workflow.NewFuture(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		detached, _ := workflow.NewDisconnectedContext(ctx) // this package cancels the child, not the SDK
		detached = workflow.WithWorkflowPriority(childOptions(detached, c.id, summary), f.priority)
		run, err := c.begin(ctx, detached, workflowType, input)
		start.Set(nil, err)
		if err != nil {
			end.SetError(err)
			return
		}
		end.Chain(run)
		f.cancelWith(ctx, c)
	})
	return c
}

// cancelWith cancels the child once ctx is.
func (f *family) cancelWith(ctx workflow.Context, c *child) {
	watching, done := workflow.NewDisconnectedContext(ctx)
	f.watch.whenever(watching, func() bool { return c.IsReady() || ctx.Err() != nil }, func(watching workflow.Context) {
		if !c.IsReady() {
			_ = workflow.RequestCancelExternalWorkflow(watching, c.id, "").Get(watching, nil)
		}
		done()
	})
}

// begin starts the child under its ID. If a child of a run before a reset still uses the ID, begin
// cancels that child and waits for its end, until ctx ends.
func (c *child) begin(ctx, detached workflow.Context, workflowType, input any) (workflow.ChildWorkflowFuture, error) {
	began := workflow.Now(ctx)
	for wait := firstIDWait; ; wait = min(2*wait, longestIDWait) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		run := workflow.ExecuteChildWorkflow(detached, workflowType, input)
		err := run.GetChildWorkflowExecution().Get(detached, nil)
		if !temporal.IsWorkflowExecutionAlreadyStartedError(err) {
			return run, err
		}
		if workflow.Now(ctx).Sub(began) > maxIDWait {
			return nil, temporal.NewNonRetryableApplicationError(
				fmt.Sprintf("workflow %s of a run that was reset did not end within %s", c.id, maxIDWait), ErrorFailed, nil)
		}
		_ = workflow.RequestCancelExternalWorkflow(detached, c.id, "").Get(detached, nil) // ignore the error: it may just have ended
		timer := workflow.NewTimerWithOptions(ctx, wait, workflow.TimerOptions{Summary: "until the child of a run that was reset has ended"})
		if err := timer.Get(ctx, nil); err != nil {
			return nil, err
		}
	}
}

// signal sends the child a signal, in order, and reports whether it was delivered. A child that
// has not started gets it later, and signal does not wait for that, because the child's ID may
// be in use for a long time.
func (c *child) signal(ctx workflow.Context, sig signal) bool {
	if c.IsReady() {
		return false
	}
	l := &letter{signal: sig}
	if c.outbox = append(c.outbox, l); len(c.outbox) == 1 {
		workflow.Go(ctx, c.deliver)
	}
	if !c.started.IsReady() {
		return true
	}
	return workflow.Await(ctx, func() bool { return l.done }) == nil && l.taken
}

// deliver sends the signals in the outbox.
func (c *child) deliver(ctx workflow.Context) {
	ended := c.started.Get(ctx, nil) != nil
	for ; len(c.outbox) > 0; c.outbox = c.outbox[1:] {
		l := c.outbox[0]
		l.taken = !ended && !c.IsReady() && workflow.SignalExternalWorkflow(ctx, c.id, "", l.Name, l.payload()).Get(ctx, nil) == nil
		l.done = true
	}
}
