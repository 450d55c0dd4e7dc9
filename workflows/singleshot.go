package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/internal/agent"
)

// SingleShotAgent is one execution of an agent that answers once, without tools
// (spec: agents, "Single-shot pattern").
func SingleShotAgent(ctx workflow.Context, in AgentInput) (AgentResult, error) {
	run := singleShotRun{newAgentRun(in)}
	return run.execute(ctx, run.loop)
}

type singleShotRun struct{ *agentRun }

func (r singleShotRun) loop(ctx workflow.Context) (AgentResult, error) {
	for {
		if err := r.hold(ctx); err != nil {
			return AgentResult{}, err
		}
		out, err := r.generate(ctx, false)
		if err != nil {
			return AgentResult{}, err
		}
		if !r.again(out) && !r.heard(out) {
			return r.completed(out, agent.StopEndTurn), nil
		}
	}
}
