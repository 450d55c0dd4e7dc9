package workflows

import (
	"cmp"
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
		if err := r.awaitResume(ctx); err != nil {
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
		case !r.turns && workflow.GetInfo(ctx).GetContinueAsNewSuggested() && r.model.canEnd:
			if r.orchestration.idle() {
				if err := r.listing.stopAndWait(ctx); err != nil {
					return AgentResult{}, err
				}
				return AgentResult{}, r.continueAsNew(ctx)
			}
			if err := r.orchestration.awaitSubAgents(ctx); err != nil { // sub-agents would not survive continue-as-new
				return AgentResult{}, err
			}
			continue
		}
		r.state.Missing = r.missing()
		toolless := len(r.in.Agent.Servers) > 0 && len(r.state.Missing) == len(r.in.Agent.Servers)
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
		r.approvals.recordAnswer(out)
		r.callTools(ctx, out.Calls)
		r.state.Batches++
		if out.Unread { // guidance arrived before the agent asked to sleep
			r.wake()
		}
		return false, AgentResult{}
	case r.approvals.recordAnswer(out):
		r.state.Inputs = append(r.state.Inputs, activities.Input{Kind: activities.InputAnswered})
		return false, AgentResult{}
	case !r.orchestration.idle() || r.orchestration.due(): // the agent is not finished
		if !r.guidanceArrived(out) {
			r.orchestration.await(ctx)
		}
		return false, AgentResult{}
	case r.repeatRequest(out), !r.spent() && r.guidanceArrived(out):
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
	r.state.Missing = r.notChecked()
	if r.steering.Late {
		return r.conclude(ctx, activities.Input{Kind: activities.InputBound, Text: string(agent.StopTimedOut)}, agent.StopTimedOut)
	}
	return r.conclude(ctx, activities.Input{Kind: activities.InputConclude}, agent.StopConcluded)
}

// continueAsNew starts the next run of this execution where this one stands.
func (r iteratingRun) continueAsNew(ctx workflow.Context) error {
	r.waitReporter.awaitSent(ctx)
	r.signals.awaitHandled(ctx)
	_ = workflow.Await(ctx, r.approvals.answered)
	r.state.Deadline.stopClock(workflow.Now(ctx))
	if r.state.Orchestration != nil {
		r.state.Orchestration.Budget.stopClock(workflow.Now(ctx))
	}
	next := r.in
	next.Steering, next.Continued = r.steering, &r.state
	return workflow.NewContinueAsNewError(ctx, IteratingAgent, next)
}

// SingleShotAgent is one execution of an agent that answers once, without tools
// (spec: agents, "Single-shot pattern").
func SingleShotAgent(ctx workflow.Context, in AgentInput) (AgentResult, error) {
	run := singleShotRun{newAgentRun(in)}
	return run.execute(ctx, run.loop)
}

type singleShotRun struct{ *agentRun }

func (r singleShotRun) loop(ctx workflow.Context) (AgentResult, error) {
	for {
		if err := r.awaitResume(ctx); err != nil {
			return AgentResult{}, err
		}
		out, err := r.generate(ctx, false)
		if err != nil {
			return AgentResult{}, err
		}
		if !r.repeatRequest(out) && !r.guidanceArrived(out) {
			return r.completed(out, agent.StopEndTurn), nil
		}
	}
}

// ToolPlanAgent is one execution of an agent that makes the calls planned by an
// earlier stage (spec: pipeline, "Pipeline stages"). It calls no model.
func ToolPlanAgent(ctx workflow.Context, in AgentInput) (AgentResult, error) {
	run := toolPlanRun{iteratingRun{newAgentRun(in)}}
	return run.execute(ctx, run.loop)
}

type toolPlanRun struct{ iteratingRun }

func (r toolPlanRun) loop(ctx workflow.Context) (AgentResult, error) {
	if r.awaitsServers(ctx) {
		r.listTools(ctx)
	} else {
		r.listAll(ctx)
	}
	r.state.Missing = r.missing()
	in := activities.PlanCallsIn{Ref: r.ref(), Prior: r.in.Prior}
	planned, err := r.iterate(ctx, inStore("the plan's calls", act.PlanCalls, in))
	if err != nil {
		return AgentResult{}, err
	}
	if err := r.inOrder(ctx, planned.Calls); err != nil {
		return AgentResult{}, err
	}
	join := activities.PlanResultIn{Ref: r.ref(), Prior: r.in.Prior, Inputs: r.state.Inputs}
	result, err := r.once(ctx, inStore("outcome of the plan", act.PlanResult, join))
	if err == nil {
		r.state.Inputs = nil
	}
	return result, err
}

// inOrder runs the calls one after the other, and continues after failures. It adds the results that no tool produced
// to the agent's inputs.
func (r toolPlanRun) inOrder(ctx workflow.Context, calls []activities.Call) error {
	b := batch{agentRun: r.agentRun, calls: calls, asked: make([]*approval, len(calls))}
	slot := workflow.NewSemaphore(ctx, 1)
	r.model.listened = workflow.Now(ctx) // PlanCalls takes almost no time
	for n, call := range calls {
		if err := r.awaitResume(ctx); err != nil {
			return err
		}
		if r.behind != nil {
			return r.behind
		}
		if r.steering.Concluding {
			r.state.Inputs = append(r.state.Inputs, b.notRun(n))
			continue
		}
		r.state.Usage.ToolCalls++
		b.asked[n] = r.approvals.ask(ctx, n, calls[n:n+1])[0]
		if input := b.run(ctx, slot, n, call); input != nil {
			r.state.Inputs = append(r.state.Inputs, shortened(*input, maxPlanInput))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// maxPlanInput limits each such result, in bytes of JSON, because those of all steps go into one
// activity's input.
const maxPlanInput = 380

// notRun is the result of a call that was skipped because the agent must conclude.
func (b *batch) notRun(n int) activities.Input {
	return activities.Input{
		Kind: activities.InputResult, Iteration: b.state.Iteration, Call: n, ErrorType: activities.ResultNotRun,
		Text: "This call was not run: the agent was told to conclude first.",
	}
}

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
	if err := cmp.Or(r.awaitResume(ctx), r.behind); err != nil {
		return out, err
	}
	r.state.Iteration++
	if err = do(ctx, &out); err == nil {
		r.replaceSeen(out.Seen)
	}
	return out, err
}
