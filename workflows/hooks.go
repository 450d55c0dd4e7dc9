package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/plan"
)

// preProcess runs the hook before the stage's agents, and reports whether they may start. The agents
// see its output next to the results of earlier stages.
func (r *stageRun) preProcess(ctx workflow.Context) (ok bool) {
	name := r.in.Stage.PreProcess
	if name == "" {
		return true
	}
	source := activities.Source{Stage: r.in.Stage.Name, Execution: activities.HookExecution(r.in.Stage.Name, activities.PreProcess, name)}
	changed, err := r.runHook(ctx, name, activities.RunHookIn{
		Ref: r.hookRef(source.Execution), Point: activities.PreProcess, Prior: r.in.Prior, Notes: r.in.Notes,
	})
	if err != nil {
		r.hookFailed(ctx, activities.PreProcess, name, err)
		return false
	}
	if changed {
		r.in.Prior = append(r.in.Prior[:len(r.in.Prior):len(r.in.Prior)], source)
	}
	return true
}

// postProcess runs the hook on the stage's output. It does not run in a stage that failed,
// was cancelled, or has reached a bound.
func (r *stageRun) postProcess(ctx workflow.Context) {
	name := r.in.Stage.PostProcess
	if name == "" || r.result.Status != agent.StatusCompleted || r.result.Bound != "" {
		return
	}
	execution := activities.HookExecution(r.in.Stage.Name, activities.PostProcess, name)
	changed, err := r.runHook(ctx, name, activities.RunHookIn{
		Ref: r.hookRef(execution), Point: activities.PostProcess, Prior: r.in.Prior, Notes: r.in.Notes, Result: r.result.Result,
	})
	switch {
	case err != nil:
		r.hookFailed(ctx, activities.PostProcess, name, err)
	case changed:
		r.result.Result = execution
	}
}

// hookRef names a hook's execution, and the agent that speaks for the stage.
func (r *stageRun) hookRef(execution string) activities.Ref {
	ref := activities.Ref{
		Investigation: r.in.Investigation, Execution: execution, Plan: r.in.Plan, Data: r.in.Data, Stage: r.in.Index, Seen: r.seen,
	}
	if r.in.Stage.Synthesis != nil {
		ref.Agent = plan.SynthesisIndex
	}
	return ref
}

// runHook runs a hook. It waits first while the stage is paused.
func (r *stageRun) runHook(ctx workflow.Context, name string, in activities.RunHookIn) (changed bool, err error) {
	if err := workflow.Await(ctx, func() bool { return !r.steering.Paused }); err != nil {
		return false, err
	}
	var out activities.RunHookOut
	err = survived(ctx, in.Point+" "+name, 0, func(int) error {
		return workflow.ExecuteActivity(codeOptions(ctx, in.Point+" "+name), act.RunHook, in).Get(ctx, &out)
	})
	r.seen = addSeen(r.seen, out.Seen)
	return out.Changed, err
}

// hookFailed ends the stage as timed out or cancelled if that ended the hook, and otherwise as failed. The stage's
// timeout does not apply to a post_process: if it has expired, an agent was the cause.
func (r *stageRun) hookFailed(ctx workflow.Context, point, name string, err error) {
	r.result.Outcome = agent.OutcomeError
	switch {
	case point == activities.PreProcess && r.deadline.Expired:
		r.result.Status = agent.StatusTimedOut
		r.result.Error = fmt.Sprintf("%s %s: the stage did not finish within %s", point, name, r.in.Stage.Timeout)
	case ctx.Err() != nil:
		r.result.Status = agent.StatusCancelled
	default:
		errorType, message := failure(err)
		r.result.Status, r.result.ErrorType = agent.StatusFailed, errorType
		r.result.Error = clip.Text(fmt.Sprintf("%s %s: %s", point, name, message), 2000)
	}
}
