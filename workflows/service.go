package workflows

import (
	"cmp"

	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
)

// ServiceAgent is one execution of an agent that does no work itself: the hooks of
// its stage do it (spec: pipeline, "Pipeline stages").
func ServiceAgent(ctx workflow.Context, in AgentInput) (AgentResult, error) {
	run := newAgentRun(in)
	return run.execute(ctx, func(ctx workflow.Context) (AgentResult, error) {
		return run.once(ctx, inStore("empty output", act.Serve, activities.ServeIn{Ref: in.Ref}))
	})
}

// mocked replaces an agent's loop: a function of the worker's program
// does its work.
func (r *agentRun) mocked(ctx workflow.Context) (AgentResult, error) {
	in := activities.RunMockIn{Ref: r.in.Ref, Prior: r.in.Prior, Notes: r.in.Notes}
	return r.once(ctx, func(ctx workflow.Context, out *activities.GenerateOut) error {
		return survived(ctx, "work of "+r.in.Agent.Name, 0, func(int) error {
			return workflow.ExecuteActivity(codeOptions(ctx, "mock of "+r.in.Agent.Name), act.RunMock, in).Get(ctx, out)
		})
	})
}

// work produces the output of an iteration without a model call.
type work func(ctx workflow.Context, out *activities.GenerateOut) error

// inStore runs an activity that touches only our own store as the work.
func inStore(summary string, activity, in any) work {
	return func(ctx workflow.Context, out *activities.GenerateOut) error {
		return storeStep(ctx, summary, activity, in, out)
	}
}

// once produces the agent's final text in one iteration.
func (r *agentRun) once(ctx workflow.Context, do work) (AgentResult, error) {
	out, err := r.iterate(ctx, do)
	if err != nil {
		return AgentResult{}, err
	}
	return r.completed(out, agent.StopEndTurn), nil
}

// iterate runs an iteration without a model call.
func (r *agentRun) iterate(ctx workflow.Context, do work) (out activities.GenerateOut, err error) {
	if err := cmp.Or(r.hold(ctx), r.behind); err != nil {
		return out, err
	}
	r.state.Iteration++
	if err = do(ctx, &out); err == nil {
		r.replaceSeen(out.Seen)
	}
	return out, err
}
