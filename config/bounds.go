package config

import (
	"slices"

	"github.com/inquest-dev/inquest/internal/agent"
)

// Bounds are what a chain may do in one investigation. One that is reached ends
// the investigation with what it has (spec: pipeline, "Bounds").
type Bounds struct {
	// MaxPasses is how often the chain may go through its stages: a jump that would begin one pass more ends the investigation.
	MaxPasses *int `yaml:"max_passes" min:"1" unit:"passes" default:"3 for a chain that routes"`
	// MaxLLMCalls bounds the model calls of all agents together.
	MaxLLMCalls *int `yaml:"max_llm_calls" min:"1" unit:"calls" default:"10 for a chain that routes, else none"`
	// MaxAgentHops is how many stages may be started, each run counted.
	MaxAgentHops *int `yaml:"max_agent_hops" min:"1" unit:"stages" default:"21 for a chain that routes, else none"`
	// EdgeLimits bound how often the chain goes from one stage to another; in a graph, how often it jumps.
	EdgeLimits []EdgeLimit `yaml:"edge_limits" default:"none"`
}

// EdgeLimit bounds how often a chain goes from one stage to another.
type EdgeLimit struct {
	// From is the stage that is left; required.
	From string `yaml:"from"`
	// To is the stage that is gone to; required.
	To string `yaml:"to"`
	// MaxCount is how often; once more ends the investigation. Required.
	MaxCount *int `yaml:"max_count" min:"1"`
}

// Budgets are what an investigation may use up.
type Budgets struct {
	// MaxTokensTotal bounds the tokens of all model calls, in and out.
	MaxTokensTotal *int `yaml:"max_tokens_total" min:"1" unit:"tokens" default:"none"`
	// MaxCostUSD bounds their price.
	MaxCostUSD *float64 `yaml:"max_cost_usd" above:"0" unit:"US dollars" default:"none"`
	// MaxDuration bounds the investigation; time in which it waits for people does not count. It then ends with what it has, where the timeout makes it a failure; of the two the shorter holds.
	MaxDuration agent.Duration `yaml:"max_duration" default:"none"`
}

// complete fills in what is not set, for a chain that routes.
func (b Bounds) complete() Bounds {
	all, _ := inherit(Bounds{MaxPasses: new(3), MaxLLMCalls: new(10), MaxAgentHops: new(21)}, b)
	return all
}

// plan is the bounds of a chain, its budgets with them.
func (b Bounds) plan(budgets Budgets, timeout agent.Duration) agent.Bounds {
	out := agent.Bounds{
		MaxPasses: value(b.MaxPasses), MaxLLMCalls: value(b.MaxLLMCalls), MaxHops: value(b.MaxAgentHops),
		MaxTokens: value(budgets.MaxTokensTotal), MaxCost: value(budgets.MaxCostUSD),
	}
	if budgets.timeout(timeout) == budgets.MaxDuration {
		out.MaxDuration = budgets.MaxDuration
	}
	for _, e := range b.EdgeLimits {
		out.Edges = append(out.Edges, agent.EdgeLimit{From: e.From, To: e.To, Max: value(e.MaxCount)})
	}
	return out
}

// timeout is how long an investigation may take: of two limits the shorter; 0 = any time.
func (b Budgets) timeout(timeout agent.Duration) agent.Duration {
	if timeout == 0 || b.MaxDuration > 0 && b.MaxDuration < timeout {
		return b.MaxDuration
	}
	return timeout
}

func (b Bounds) validate(p path, v *validator, c chart) {
	edges := c.edges()
	for i, e := range b.EdgeLimits {
		at := p.key("edge_limits").index(i)
		known := v.stage(at.key("from"), e.From, c)
		known = v.stage(at.key("to"), e.To, c) && known
		if e.MaxCount == nil {
			v.errorf(at.key("max_count"), "a max_count is required")
		}
		same := func(other EdgeLimit) bool { return other.From == e.From && other.To == e.To }
		way := func(way Edge) bool { return way.From == e.From && way.To == e.To }
		jump := func(edge Edge) bool { return way(edge) && edge.Kind != EdgeRequires && edge.Kind != EdgeAfter }
		switch {
		case !known: // reported already
		case slices.IndexFunc(b.EdgeLimits, same) < i:
			v.errorf(at, "the way from %q to %q is limited twice", e.From, e.To)
		case !slices.ContainsFunc(edges, way):
			v.add(SeverityWarning, at, "the chain has no way from %q to %q", e.From, e.To)
		case !slices.ContainsFunc(edges, jump):
			v.errorf(at, "%q starts because it waits for %q, which is no jump: in a chain with requires or after only jumps can be limited", e.To, e.From)
		}
	}
}
