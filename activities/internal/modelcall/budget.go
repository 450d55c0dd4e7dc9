package modelcall

import (
	"context"
	"errors"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/token"
)

// noRoom explains to people why a call is not made.
var noRoom = map[agent.EndReason]string{
	agent.EndMaxLLMCalls: "The model was not called: the investigation has reached its limit of model calls.",
	agent.EndBudget:      "The model was not called: what is left of the investigation's token or cost budget is not enough for the call.",
}

// admit reserves room for the call within the investigation's bounds. exceeded names the bound that leaves no room.
// input is the size of the messages and the tools, in tokens. The call that an agent keeps in reserve for its conclusion
// needs no room.
func (g *generation) admit(ctx context.Context, input int) (exceeded agent.EndReason, err error) {
	provider, needs := g.provider(), agent.Usage{ModelCalls: 1, InputTokens: input}
	needs.CostUSD = provider.Prices.Cost(needs)
	g.needs = needs
	if !g.Plan.Bounds.LimitCalls() || g.in.Reserve {
		return "", nil
	}
	return g.Ledger.Admit(ctx, record.Admission{
		Investigation: g.Ref.Investigation, Execution: g.Ref.Execution, Iteration: g.in.Iteration, RunID: g.Writer.RunID,
		Provider: provider.Name, Model: provider.Model, Needs: needs, Bounds: g.Plan.Bounds,
	})
}

// spent returns the tokens and cost of a failed call: the reported usage, or else the reservation if the provider may
// charge for the call, plus the output received so far. The call does not count as a model call, because it brought no
// progress.
func (g *generation) spent(errorType string, err error) (out agent.Usage) {
	if failed, ok := errors.AsType[*llm.Error](err); ok {
		out = failed.Usage
	}
	if out == (agent.Usage{}) && !job.Paid(errorType) {
		return out
	}
	if out.InputTokens == 0 {
		out.InputTokens = g.needs.InputTokens
	}
	out.OutputTokens = max(out.OutputTokens, token.Count(g.provider().Model, g.partial))
	out.CostUSD = g.provider().Prices.Cost(out)
	return out
}
