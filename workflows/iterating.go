package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// IteratingAgent is one execution of an agent that loops over model calls and
// tool calls (spec: agents, "Iterating pattern").
func IteratingAgent(ctx workflow.Context, in AgentInput) (AgentResult, error) {
	run := iteratingRun{newAgentRun(in)}
	return run.execute(ctx, run.loop)
}

type iteratingRun struct{ *agentRun }

func (r iteratingRun) loop(ctx workflow.Context) (AgentResult, error) {
	for {
		r.orchestration.afterReset(ctx)
		r.listTools(ctx)
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
			return r.concludeNow(ctx)
		case r.spent() && r.in.Agent.OnLimit != plan.OnLimitError:
			return r.conclude(ctx, activities.Input{Kind: activities.InputLimit}, agent.StopMaxIterations)
		case !r.turns && workflow.GetInfo(ctx).GetContinueAsNewSuggested() && r.settled:
			if r.orchestration.idle() {
				if err := r.listing.settle(ctx); err != nil {
					return AgentResult{}, err
				}
				return AgentResult{}, r.continueAsNew(ctx)
			}
			if err := r.orchestration.settle(ctx); err != nil { // children do not survive it
				return AgentResult{}, err
			}
			continue
		}
		toolless := len(r.in.Agent.Servers) > 0 && len(r.unlisted()) == len(r.in.Agent.Servers)
		out, err := r.generate(ctx, false)
		if err != nil {
			return AgentResult{}, err
		}
		if done, result := r.react(ctx, out, toolless); done {
			return result, nil
		}
	}
}

// react processes a reply, and reports whether it was the last one. toolless means that no server of the agent had
// listed its tools when the model was called.
func (r iteratingRun) react(ctx workflow.Context, out activities.GenerateOut, toolless bool) (done bool, result AgentResult) {
	switch {
	case out.Other:
		return false, AgentResult{}
	case len(out.Calls) > 0 && r.spent():
		limit := r.in.Agent.MaxIterations
		return true, r.failed(activities.ErrorIterationLimit,
			fmt.Sprintf("Tool iteration limit (%d) exceeded. The agent may be stuck in an infinite loop.", limit))
	case len(out.Calls) > 0:
		r.state.Nudges = 0
		r.hearAnswer(out)
		r.callTools(ctx, out.Calls)
		r.state.Batches++
		if out.Unread { // guidance arrived before the agent asked to sleep
			r.wake()
		}
		return false, AgentResult{}
	case r.hearAnswer(out):
		r.state.Inputs = append(r.state.Inputs, activities.Input{Kind: activities.InputAnswered})
		return false, AgentResult{}
	case !r.orchestration.idle() || r.orchestration.due(): // the agent is not finished
		if !r.heard(out) {
			r.orchestration.await(ctx)
		}
		return false, AgentResult{}
	case r.again(out), !r.spent() && r.heard(out):
		return false, AgentResult{}
	case toolless && !r.spent() && r.toolsArrive(ctx):
		r.state.Inputs = append(r.state.Inputs, activities.Input{Kind: activities.InputTools})
		return false, AgentResult{}
	}
	return true, r.completed(out, agent.StopEndTurn)
}

// spent reports whether the agent has had all its iterations.
func (r iteratingRun) spent() bool { return r.state.Batches >= r.in.Agent.MaxIterations }

// concludeNow concludes at the request of a person or at the time limit.
func (r iteratingRun) concludeNow(ctx workflow.Context) (AgentResult, error) {
	if r.steering.Late {
		return r.conclude(ctx, activities.Input{Kind: activities.InputBound, Text: string(agent.StopTimedOut)}, agent.StopTimedOut)
	}
	return r.conclude(ctx, activities.Input{Kind: activities.InputConclude}, agent.StopConcluded)
}

// continueAsNew starts the next run of this execution where this one stands.
func (r iteratingRun) continueAsNew(ctx workflow.Context) error {
	r.teller.settle(ctx)
	r.signals.settle(ctx)
	_ = workflow.Await(ctx, r.approvals.answered)
	r.state.Deadline.hold(workflow.Now(ctx))
	if r.state.Orchestration != nil {
		r.state.Orchestration.Budget.hold(workflow.Now(ctx))
	}
	next := r.in
	next.Steering, next.Continued = r.steering, &r.state
	return workflow.NewContinueAsNewError(ctx, IteratingAgent, next)
}
