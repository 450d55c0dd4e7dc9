package workflows

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
)

// IteratingAgent is one execution of an agent that loops over model calls and
// tool calls (spec: agents, "Iterating pattern").
func IteratingAgent(ctx workflow.Context, in AgentInput) (AgentResult, error) {
	run := iteratingRun{newAgentRun(in)}
	return run.execute(ctx, run.loop)
}

type iteratingRun struct{ *agentRun }

func (r iteratingRun) loop(ctx workflow.Context) (AgentResult, error) {
	r.listTools(ctx)
	for {
		if err := r.hold(ctx); err != nil {
			return AgentResult{}, err
		}
		switch {
		case r.state.PausedUntil.IsZero():
		case r.turns:
			return AgentResult{Status: agent.StatusCompleted, StopReason: agent.StopPauseHeartbeats, Outcome: agent.OutcomeSuccess}, nil
		default:
			if err := r.sleep(ctx); err != nil {
				return AgentResult{}, err
			}
		}
		switch {
		case r.steering.Concluding:
			return r.conclude(ctx, activities.InputConclude, agent.StopConcluded)
		case r.spent() && r.in.Agent.OnLimit != agent.OnLimitError:
			return r.conclude(ctx, activities.InputLimit, agent.StopMaxIterations)
		case !r.turns && workflow.GetInfo(ctx).GetContinueAsNewSuggested():
			return AgentResult{}, r.continueAsNew(ctx)
		}
		out, err := r.generate(ctx, false)
		if err != nil {
			return AgentResult{}, err
		}
		if done, result := r.react(ctx, out); done {
			return result, nil
		}
	}
}

// react does what a reply asks for; done when it was the last one.
func (r iteratingRun) react(ctx workflow.Context, out activities.GenerateOut) (done bool, result AgentResult) {
	switch {
	case len(out.Calls) > 0 && r.spent():
		limit := r.in.Agent.MaxIterations
		return true, r.failed(activities.ErrorIterationLimit,
			fmt.Sprintf("Tool iteration limit (%d) exceeded. The agent may be stuck in an infinite loop.", limit))
	case len(out.Calls) > 0:
		r.state.Nudges = 0
		r.callTools(ctx, out.Calls)
		r.state.Batches++
		return false, AgentResult{}
	case r.again(out):
		return false, AgentResult{}
	}
	r.signals.drain(ctx, r.handle)
	if r.guided() && !r.spent() {
		return false, AgentResult{} // somebody spoke while the last word was said: it is not the last
	}
	return true, r.completed(out, agent.StopEndTurn)
}

// spent reports whether the agent has had all its iterations.
func (r iteratingRun) spent() bool { return r.state.Batches >= r.in.Agent.MaxIterations }

func (r iteratingRun) guided() bool {
	return slices.ContainsFunc(r.state.Inputs, func(in activities.Input) bool { return in.Kind == activities.InputGuidance })
}

// conclude asks for the best conclusion from what is known, without tools.
func (r iteratingRun) conclude(ctx workflow.Context, why activities.InputKind, reason agent.StopReason) (AgentResult, error) {
	r.state.Inputs = append(r.state.Inputs, activities.Input{Kind: why})
	for {
		out, err := r.generate(ctx, true)
		if err != nil {
			return AgentResult{}, err
		}
		if !r.again(out) {
			return r.completed(out, reason), nil
		}
	}
}

// listTools has every server's catalogue put into the store, once per
// execution. A server that cannot be asked is Generate's to tell the model.
func (r iteratingRun) listTools(ctx workflow.Context) {
	if r.state.Listed {
		return
	}
	r.note(ctx, "listing tools")
	var pending []workflow.Future
	for _, server := range r.in.Agent.Servers {
		in := activities.ListToolsIn{Ref: r.in.Ref, Server: server.Name}
		pending = append(pending, workflow.ExecuteActivity(listOptions(ctx, r.in.Agent.Timeouts, server), act.ListTools, in))
	}
	for i, future := range pending {
		if err := future.Get(ctx, nil); err != nil && ctx.Err() == nil {
			workflow.GetLogger(ctx).Warn("tools not listed", "server", r.in.Agent.Servers[i].Name, "error", err)
		}
	}
	r.state.Listed = true
}

// continueAsNew starts the next run of this execution where this one stands.
func (r iteratingRun) continueAsNew(ctx workflow.Context) error {
	r.state.Deadline.hold(workflow.Now(ctx))
	next := r.in
	next.Steering, next.Continued = r.steering, &r.state
	return workflow.NewContinueAsNewError(ctx, IteratingAgent, next)
}
