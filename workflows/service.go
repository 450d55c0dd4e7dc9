package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
)

// ServiceAgent is one execution of an agent that does nothing itself: the hooks of
// its stage do (spec: pipeline, "Pipeline stages").
func ServiceAgent(ctx workflow.Context, in AgentInput) (AgentResult, error) {
	run := newAgentRun(in)
	return run.execute(ctx, func(ctx workflow.Context) (AgentResult, error) {
		return run.once(ctx, storeOptions(ctx, "empty output"), act.Serve, activities.ServeIn{Ref: in.Ref})
	})
}

// mocked stands in place of an agent's loop: a function of the worker's program
// works in its place.
func (r *agentRun) mocked(ctx workflow.Context) (AgentResult, error) {
	in := activities.RunMockIn{Ref: r.in.Ref, Prior: r.in.Prior, Notes: r.in.Notes}
	return r.once(ctx, codeOptions(ctx, "mock of "+r.in.Agent.Name), act.RunMock, in)
}

// once has the agent's final text made by one activity.
func (r *agentRun) once(ctx, options workflow.Context, activity, in any) (AgentResult, error) {
	out, err := r.iterate(ctx, options, activity, in)
	if err != nil {
		return AgentResult{}, err
	}
	return r.completed(out, agent.StopEndTurn), nil
}

// iterate is an iteration of an agent that asks no model: one activity.
func (r *agentRun) iterate(ctx, options workflow.Context, activity, in any) (out activities.GenerateOut, err error) {
	if err := r.hold(ctx); err != nil {
		return out, err
	}
	r.state.Iteration++
	err = survived(ctx, "work of "+r.in.Agent.Name, 0, func(int) error {
		return workflow.ExecuteActivity(options, activity, in).Get(ctx, &out)
	})
	return out, err
}
