package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
)

// ToolPlanAgent is one execution of an agent that makes the calls planned by an
// earlier stage (spec: pipeline, "Pipeline stages"). It calls no model.
func ToolPlanAgent(ctx workflow.Context, in AgentInput) (AgentResult, error) {
	run := toolPlanRun{iteratingRun{newAgentRun(in)}}
	return run.execute(ctx, run.loop)
}

type toolPlanRun struct{ iteratingRun }

func (r toolPlanRun) loop(ctx workflow.Context) (AgentResult, error) {
	r.listAll(ctx)
	in := activities.PlanCallsIn{Ref: r.ref(), Prior: r.in.Prior}
	planned, err := r.iterate(ctx, inStore("the plan's calls", act.PlanCalls, in))
	if err != nil {
		return AgentResult{}, err
	}
	undone, err := r.inOrder(ctx, planned.Calls)
	if err != nil {
		return AgentResult{}, err
	}
	join := activities.PlanResultIn{Ref: r.ref(), Prior: r.in.Prior, Inputs: undone}
	return r.once(ctx, inStore("what came of the plan", act.PlanResult, join))
}

// inOrder runs the calls one after the other, and continues after failures. It
// returns the results decided by this workflow.
func (r toolPlanRun) inOrder(ctx workflow.Context, calls []activities.Call) (undone []activities.Input, err error) {
	b := batch{agentRun: r.agentRun, calls: calls, asked: make([]*approval, len(calls))}
	slot := workflow.NewSemaphore(ctx, 1)
	r.listened = workflow.Now(ctx) // its plan took no time
	for n, call := range calls {
		if err := r.hold(ctx); err != nil {
			return nil, err
		}
		if r.behind != nil {
			return nil, r.behind
		}
		if r.steering.Concluding {
			undone = append(undone, b.notRun(n))
			continue
		}
		r.state.Usage.ToolCalls++
		b.asked[n] = r.ask(ctx, n, calls[n:n+1])[0]
		if input := b.run(ctx, slot, n, call); input != nil {
			input.Text = fit(input.Text, maxPlanInput)
			undone = append(undone, *input)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return undone, nil
}

// maxPlanInput bounds a result that the workflow decided, in bytes of JSON: those
// of all steps of a plan are the input of one activity.
const maxPlanInput = 500

// notRun is the result of a call not made because of a request to conclude.
func (b *batch) notRun(n int) activities.Input {
	return activities.Input{
		Kind: activities.InputResult, Iteration: b.state.Iteration, Call: n, ErrorType: activities.ResultNotRun,
		Text: "The agent was told to conclude before this call.",
	}
}
