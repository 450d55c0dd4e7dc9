package activities

import (
	"context"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
)

// ExtendBudget lets the model calls of all agents know that they may go on for longer.
func (a *Activities) ExtendBudget(ctx context.Context, in ExtendBudgetIn) error {
	return storeFailure(a.Ledger.Extend(ctx, in.Investigation, in.Key, in.By))
}

// admit asks for room for the call in the investigation's bounds; input is that
// of the messages, in tokens. exceeded says that there is none. The call that an
// agent has in reserve to conclude with needs no room.
func (g *generation) admit(ctx context.Context, input int) (exceeded agent.EndReason, err error) {
	provider, needs := g.provider(), agent.Usage{ModelCalls: 1, InputTokens: input}
	needs.CostUSD = provider.Prices.Cost(needs)
	g.needs = needs
	if !g.plan.Bounds.LimitCalls() || g.in.Reserve {
		return "", nil
	}
	return g.Ledger.Admit(ctx, record.Admission{
		Investigation: g.ref.Investigation, Execution: g.ref.Execution, Iteration: g.in.Iteration, RunID: g.writer.RunID,
		Provider: provider.Name, Model: provider.Model, Needs: needs, Bounds: g.plan.Bounds,
	})
}

// spent is what a call that has failed counts for, in tokens and money: what was
// reserved for it if the provider may charge for it. What it was answering with is not
// known, and a call without a reply is no step of the work, so that it counts as none.
func (g *generation) spent(errorType string) (out agent.Usage) {
	if paid(errorType) {
		out = agent.Usage{InputTokens: g.needs.InputTokens, CostUSD: g.needs.CostUSD}
	}
	return out
}
