package activities

import (
	"context"
	"fmt"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// ExtendBudget raises the investigation's bounds, which every agent's model calls are checked against.
func (a *Activities) ExtendBudget(ctx context.Context, in ExtendBudgetIn) error {
	act := audit.Act{
		Investigation: in.Investigation, What: audit.Extended, Who: in.Who, Key: "extended " + in.Key,
		Detail: audit.Detail("llm_calls", more(in.By.LLMCalls), "tokens", more(in.By.Tokens),
			"cost_usd", more(in.By.CostUSD), "duration", more(in.Duration)),
	}
	return job.StoreFailure(a.Ledger.Extend(ctx, in.Investigation, in.Key, in.By, act))
}

// more formats the increase of a bound; an empty string means no increase.
func more[N comparable](n N) string {
	var none N
	if n == none {
		return ""
	}
	return fmt.Sprint(n)
}
