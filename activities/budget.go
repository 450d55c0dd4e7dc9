package activities

import (
	"context"
	"errors"
	"fmt"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/audit"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/token"
)

// ExtendBudget raises the investigation's bounds, which every agent's model calls are checked against.
func (a *Activities) ExtendBudget(ctx context.Context, in ExtendBudgetIn) error {
	act := audit.Act{
		Investigation: in.Investigation, What: audit.Extended, Who: in.Who, Key: "extended " + in.Key,
		Detail: audit.Detail("llm_calls", more(in.By.LLMCalls), "tokens", more(in.By.Tokens),
			"cost_usd", more(in.By.CostUSD), "duration", more(in.Duration)),
	}
	return storeFailure(a.Ledger.Extend(ctx, in.Investigation, in.Key, in.By, act))
}

// more formats the increase of a bound; an empty string means no increase.
func more[N comparable](n N) string {
	var none N
	if n == none {
		return ""
	}
	return fmt.Sprint(n)
}

// admit reserves room for the call within the investigation's bounds. exceeded names the bound that leaves no room.
// input is the size of the messages and the tools, in tokens. The call that an agent keeps in reserve for its conclusion
// needs no room.
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

// spent returns the tokens and cost of a failed call: the reported usage, or else the reservation if the provider may
// charge for the call, plus the output received so far. The call does not count as a model call, because it brought no
// progress.
func (g *generation) spent(errorType string, err error) (out agent.Usage) {
	if failed, ok := errors.AsType[*llm.Error](err); ok {
		out = failed.Usage
	}
	if out == (agent.Usage{}) && !paid(errorType) {
		return out
	}
	if out.InputTokens == 0 {
		out.InputTokens = g.needs.InputTokens
	}
	out.OutputTokens = max(out.OutputTokens, token.Count(g.provider().Model, g.heard))
	out.CostUSD = g.provider().Prices.Cost(out)
	return out
}
