package plan

import (
	"strconv"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
)

// Extension raises the limits of a running investigation.
type Extension struct {
	LLMCalls int     `json:"llm_calls,omitempty"`
	Tokens   int     `json:"tokens,omitempty"`
	CostUSD  float64 `json:"cost_usd,omitempty"`
}

// Add returns the sum of two extensions.
func (e Extension) Add(f Extension) Extension {
	return Extension{LLMCalls: e.LLMCalls + f.LLMCalls, Tokens: e.Tokens + f.Tokens, CostUSD: e.CostUSD + f.CostUSD}
}

// Extend returns the raised limits. It adds no limit where there was none.
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

// LimitCalls reports whether model calls are limited.
func (b Bounds) LimitCalls() bool { return b.MaxLLMCalls > 0 || b.MaxTokens > 0 || b.MaxCost > 0 }

// Exceeded returns the limit that an investigation would exceed if it used needs in addition to used. An empty result
// means none.
func (b Bounds) Exceeded(used, needs agent.Usage) agent.EndReason {
	all := used.Add(needs)
	switch {
	case b.MaxLLMCalls > 0 && all.ModelCalls > b.MaxLLMCalls:
		return agent.EndMaxLLMCalls
	case b.MaxTokens > 0 && all.Tokens() > b.MaxTokens, b.MaxCost > 0 && all.CostUSD > b.MaxCost:
		return agent.EndBudget
	}
	return ""
}

// Bound is a limit in force, for display.
type Bound struct {
	Name  string `json:"name"` // its key in the configuration
	Limit string `json:"limit"`
	From  string `json:"from,omitempty"` // see Bounds.Origins
}

// InForce lists the limits, including the timeout, after an extension of e and a timeout that is longer by longer.
func (b Bounds) InForce(timeout Duration, e Extension, longer Duration) (out []Bound) {
	add := func(name, key, limit string, extended bool) {
		from := b.Origins[key]
		if extended {
			from = strings.TrimPrefix(from+", extended", ", ")
		}
		if limit != "0" && limit != "0s" {
			out = append(out, Bound{Name: name, Limit: limit, From: from})
		}
	}
	now := b.Extend(e)
	add("max_passes", "max_passes", strconv.Itoa(now.MaxPasses), false)
	add("max_llm_calls", "max_llm_calls", strconv.Itoa(now.MaxLLMCalls), e.LLMCalls > 0)
	add("max_agent_hops", "max_agent_hops", strconv.Itoa(now.MaxHops), false)
	for _, edge := range b.Edges {
		add("edge_limits "+edge.From+"→"+edge.To, "edge_limits", strconv.Itoa(edge.Max), false)
	}
	add("max_tokens_total", "max_tokens_total", strconv.Itoa(now.MaxTokens), e.Tokens > 0)
	add("max_cost_usd", "max_cost_usd", strconv.FormatFloat(now.MaxCost, 'f', -1, 64), e.CostUSD > 0)
	clock := "timeout"
	if b.MaxDuration > 0 {
		clock = "max_duration"
	}
	add(clock, clock, brief((timeout + longer).String()), longer > 0)
	return out
}

// brief drops trailing zero units from a duration: "2h0m0s" becomes "2h".
func brief(span string) string {
	if minutes, ok := strings.CutSuffix(span, "m0s"); ok {
		span = minutes + "m"
	}
	if hours, ok := strings.CutSuffix(span, "h0m"); ok {
		span = hours + "h"
	}
	return span
}
