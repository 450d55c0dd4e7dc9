package agent

// Extension raises the bounds of a running investigation.
type Extension struct {
	LLMCalls int     `json:"llm_calls,omitempty"`
	Tokens   int     `json:"tokens,omitempty"`
	CostUSD  float64 `json:"cost_usd,omitempty"`
}

// Add returns the sum of two extensions.
func (e Extension) Add(f Extension) Extension {
	return Extension{LLMCalls: e.LLMCalls + f.LLMCalls, Tokens: e.Tokens + f.Tokens, CostUSD: e.CostUSD + f.CostUSD}
}

// Extend returns the bounds, raised. What has no bound gets none.
func (b Bounds) Extend(e Extension) Bounds {
	if b.MaxLLMCalls > 0 {
		b.MaxLLMCalls += e.LLMCalls
	}
	if b.MaxTokens > 0 {
		b.MaxTokens += e.Tokens
	}
	if b.MaxCost > 0 {
		b.MaxCost += e.CostUSD
	}
	return b
}

// LimitCalls reports whether model calls have a bound.
func (b Bounds) LimitCalls() bool { return b.MaxLLMCalls > 0 || b.MaxTokens > 0 || b.MaxCost > 0 }

// Exceeded is the bound that an investigation would pass which has used so much
// and needs so much more; "" = none.
func (b Bounds) Exceeded(used, needs Usage) EndReason {
	all := used.Add(needs)
	switch {
	case b.MaxLLMCalls > 0 && all.ModelCalls > b.MaxLLMCalls:
		return EndMaxLLMCalls
	case b.MaxTokens > 0 && all.Tokens() > b.MaxTokens, b.MaxCost > 0 && all.CostUSD > b.MaxCost:
		return EndBudget
	}
	return ""
}
