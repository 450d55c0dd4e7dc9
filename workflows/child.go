package workflows

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
)

// A Temporal reset replaces a run and leaves its children running: the new run's
// history ends before, or after, they were started. Their ids are the same in both
// runs, so children are signalled and cancelled by id. (The server refuses what is
// "for a child only" from any run but the one that started it.)

// child is a child workflow, from before it starts. Its Future is its result.
type child struct {
	workflow.Future
	id      string
	started workflow.Future
	outbox  []*letter // of signals; the first is being delivered
}

// letter is a signal on its way to a child.
type letter struct {
	signal
	settled, taken bool
}

// family starts the children of a workflow, and knows whether it was reset.
type family struct {
	watch         *watch
	investigation string
	run           string            // that began, or took over after a reset
	reopening     bool              // it is being made good
	priority      temporal.Priority // of its children; the zero value = its own
	children      []*child
}

func newFamily(ctx workflow.Context, watch *watch, investigation string) family {
	return family{watch: watch, investigation: investigation, run: currentRun(ctx)}
}

// currentRun is the id of the run that really is under way: what was done before the
// point of a reset is replayed with the id of the run that did it.
func currentRun(ctx workflow.Context) (id string) {
	running := func(ctx workflow.Context) any { return workflow.GetInfo(ctx).WorkflowExecution.RunID }
	same := func(a, b any) bool { return a == b }
	_ = workflow.MutableSideEffect(ctx, "run", running, same).Get(&id)
	return id
}

// afterReset cleans up after a reset, before anything else is started or recorded: the record
// says that the investigation runs again, and children that this run does not know are
// cancelled. It reports whether there was a reset; without one it costs nothing.
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

// start starts a child that ends with a workflow's cancellation.
func (f *family) start(ctx workflow.Context, name, summary string, workflowType, input any) *child {
	c := &child{id: childID(f.investigation, name)}
	f.children = append(slices.DeleteFunc(f.children, (*child).IsReady), c)
	var end, start workflow.Settable
	c.Future, end = workflow.NewFuture(ctx)
	c.started, start = workflow.NewFuture(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		detached, _ := workflow.NewDisconnectedContext(ctx) // to cancel the child is our matter, not the SDK's
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

// begin starts the child under its id. While that is taken, by a child of a run that
// was reset, whoever has it is told to end, and waited for until ctx ends.
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
		_ = workflow.RequestCancelExternalWorkflow(detached, c.id, "").Get(detached, nil) // it may just have ended
		timer := workflow.NewTimerWithOptions(ctx, wait, workflow.TimerOptions{Summary: "until the child of a run that was reset has ended"})
		if err := timer.Get(ctx, nil); err != nil {
			return nil, err
		}
	}
}

// signal sends the child a signal, after those before it, and reports whether it was taken.
// A child that has not started yet gets it later, and nobody waits for that: its id may be
// taken for long.
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
	return workflow.Await(ctx, func() bool { return l.settled }) == nil && l.taken
}

// deliver empties the outbox.
func (c *child) deliver(ctx workflow.Context) {
	ended := c.started.Get(ctx, nil) != nil
	for ; len(c.outbox) > 0; c.outbox = c.outbox[1:] {
		l := c.outbox[0]
		l.taken = !ended && !c.IsReady() && workflow.SignalExternalWorkflow(ctx, c.id, "", l.Name, l.payload()).Get(ctx, nil) == nil
		l.settled = true
	}
}
