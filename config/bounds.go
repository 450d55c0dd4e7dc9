package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/route"
	"github.com/inquest-dev/inquest/internal/strict"
)

// Bounds limit a chain in one investigation. When a limit is reached, the investigation ends with the
// results it has (spec: pipeline, "Bounds").
type Bounds struct {
	// MaxPasses is how often the chain may go through its stages. A jump that would begin another pass ends the
	// investigation.
	MaxPasses *int `yaml:"max_passes" min:"1" unit:"passes" default:"3 for a chain that routes"`
	// MaxLLMCalls limits the model calls of all agents together.
	MaxLLMCalls *int `yaml:"max_llm_calls" min:"1" unit:"calls" default:"10 if it can go back with single-shot agents alone, else none"`
	// MaxAgentHops is how many stage runs may be started in total.
	MaxAgentHops *int `yaml:"max_agent_hops" min:"1" unit:"stages" default:"21 for a chain that routes, else none"`
	// EdgeLimits limit how often the chain goes from one stage to another; in a graph, how often it jumps.
	EdgeLimits []EdgeLimit `yaml:"edge_limits" default:"none"`
}

// EdgeLimit limits how often a chain goes from one stage to another.
type EdgeLimit struct {
	// From is the stage at the start; required.
	From string `yaml:"from"`
	// To is the stage at the destination; required.
	To string `yaml:"to"`
	// MaxCount is the number of times allowed; one more ends the investigation. Required.
	MaxCount *int `yaml:"max_count" min:"1"`
}

// Budgets limit the resources of an investigation.
type Budgets struct {
	// MaxTokensTotal limits the tokens of all model calls, input and output.
	MaxTokensTotal *int `yaml:"max_tokens_total" min:"1" unit:"tokens" default:"none"`
	// MaxCostUSD limits the cost of all model calls.
	MaxCostUSD *float64 `yaml:"max_cost_usd" above:"0" unit:"US dollars" default:"none"`
	// MaxDuration limits the investigation's duration, not counting time spent waiting for people. The investigation
	// then ends with the results it has, whereas reaching timeout makes it fail. If both are set, the shorter applies.
	MaxDuration plan.Duration `yaml:"max_duration" default:"none"`
	// OnLimit says what happens when max_llm_calls or one of these limits is reached. The investigation ends with the
	// results it has, or it asks people, who can extend the limit, conclude the investigation, or stop it. It waits
	// until they answer.
	OnLimit plan.OnBound `yaml:"on_limit" enum:"on bound" default:"end"`
	// OnLimitTimeout is how long to wait for people before the investigation ends.
	OnLimitTimeout plan.Duration `yaml:"on_limit_timeout" default:"168h"`
}

// bounds returns a chain's bounds and, for each key, its level: 0 for a default, 1 for a value in the chain. A chain
// that only goes from its first stage to its last needs no bounds. The limit of ten model calls suits agents that
// answer once each; iterating agents are limited by their iterations.
func (c *Config) bounds(name string) (Bounds, map[string]int) {
	chart, standard := c.AgentChains[name].chart(), Bounds{}
	if chart.walk.Routed() {
		standard.MaxPasses, standard.MaxAgentHops = new(3), new(21)
	}
	if chart.loops() && c.answersOnce(name) {
		standard.MaxLLMCalls = new(10)
	}
	return strict.Inherit(standard, chart.Bounds)
}

// answersOnce reports whether the chain has an agent that asks a model, and every such agent asks once.
func (c *Config) answersOnce(chain string) bool {
	asking := 0
	for i := range c.AgentChains[chain].Stages {
		for _, w := range c.allWork(chain, i) {
			if !w.kind.Pattern.Model() {
				continue
			}
			if w.kind.Pattern != agent.SingleShot {
				return false
			}
			asking++
		}
	}
	return asking > 0
}

// planBounds returns the bounds and budgets of a chain, with the origin of each. own are the chain's settings.
func (c *Config) planBounds(name string, own inherited) plan.Bounds {
	all, from := c.bounds(name)
	out := all.plan(own.Budgets, own.Timeout)
	origins := map[string]string{}
	for key, level := range from {
		origins[key] = "default"
		if level > 0 {
			origins[key] = c.report.Where(origin{At: entryPath("agent_chains", name).Key("bounds").Key(key)}).String()
		}
	}
	clock := "timeout"
	if out.MaxDuration > 0 {
		clock = "budgets.max_duration"
	}
	for _, key := range []string{"budgets.max_tokens_total", "budgets.max_cost_usd", clock} {
		if _, set := own.from[key]; set {
			origins[strings.TrimPrefix(key, "budgets.")] = c.report.Where(own.origin(key)).String()
		}
	}
	if len(out.Edges) == 0 {
		delete(origins, "edge_limits")
	}
	if len(origins) > 0 {
		out.Origins = origins
	}
	return out
}

// plan returns the bounds and budgets of a chain in one value.
func (b Bounds) plan(budgets Budgets, timeout plan.Duration) plan.Bounds {
	out := plan.Bounds{
		MaxPasses: value(b.MaxPasses), MaxLLMCalls: value(b.MaxLLMCalls), MaxHops: value(b.MaxAgentHops),
		MaxTokens: value(budgets.MaxTokensTotal), MaxCost: value(budgets.MaxCostUSD),
	}
	if budgets.timeout(timeout) == budgets.MaxDuration {
		out.MaxDuration = budgets.MaxDuration
	}
	if budgets.OnLimit == plan.OnBoundAsk {
		out.OnLimit, out.OnLimitTimeout = plan.OnBoundAsk, cmp.Or(budgets.OnLimitTimeout, plan.Duration(7*24*time.Hour))
	}
	for _, e := range b.EdgeLimits {
		out.Edges = append(out.Edges, plan.EdgeLimit{From: e.From, To: e.To, Max: value(e.MaxCount)})
	}
	return out
}

// timeout returns the shorter of the two limits on an investigation's duration. Zero means no limit.
func (b Budgets) timeout(timeout plan.Duration) plan.Duration {
	if timeout == 0 || b.MaxDuration > 0 && b.MaxDuration < timeout {
		return b.MaxDuration
	}
	return timeout
}

func (b Bounds) validate(p path, v *validator, c chart) {
	edges := c.walk.Ways()
	for i, e := range b.EdgeLimits {
		at := p.Key("edge_limits").Index(i)
		known := v.stage(at.Key("from"), e.From, c)
		known = v.stage(at.Key("to"), e.To, c) && known
		if e.MaxCount == nil {
			v.Errorf(at.Key("max_count"), "a max_count is required")
		}
		same := func(other EdgeLimit) bool { return other.From == e.From && other.To == e.To }
		way := func(way route.Edge) bool { return way.From == e.From && way.To == e.To }
		jump := func(edge route.Edge) bool {
			return way(edge) && edge.Kind != route.EdgeRequires && edge.Kind != route.EdgeAfter
		}
		switch {
		case !known: // reported already
		case slices.IndexFunc(b.EdgeLimits, same) < i:
			v.Errorf(at, "the way from %q to %q is limited twice", e.From, e.To)
		case !slices.ContainsFunc(edges, way):
			v.Add(SeverityWarning, at, "the chain has no way from %q to %q", e.From, e.To)
		case !slices.ContainsFunc(edges, jump):
			v.Errorf(at, "%q starts because it waits for %q, which is no jump: "+
				"in a chain with requires or after only jumps can be limited", e.To, e.From)
		}
	}
}

// tightBounds warns of bounds that a single pass through a chain may reach, if every agent uses everything it is
// allowed.
func (v *validator) tightBounds() {
	if v.Findings.Failed() {
		return // an incomplete chain has no meaningful needs
	}
	for _, name := range slices.Sorted(maps.Keys(v.AgentChains)) {
		p, chart := entryPath("agent_chains", name).Key("bounds"), v.AgentChains[name].chart()
		b, _ := v.bounds(name)
		calls, hops := make([]int, len(chart.names)), make([]int, len(chart.names))
		var list []string
		for i, stage := range chart.names {
			calls[i], hops[i] = v.modelCalls(name, i), 1
			list = append(list, fmt.Sprintf("%s %d", stage, calls[i]))
		}
		if most, need := value(b.MaxLLMCalls), chart.longest(calls); most > 0 && most < need {
			v.Add(SeverityWarning, p.Key("max_llm_calls"),
				"%d model calls may not be enough for one pass through the chain, whose agents may make %d (%s)",
				most, need, strings.Join(list, ", "))
		}
		if most, need := value(b.MaxAgentHops), chart.longest(hops); most > 0 && most < need {
			v.Add(SeverityWarning, p.Key("max_agent_hops"),
				"%d stages are not enough for one pass through the chain, which has %d", most, need)
		}
	}
}

// modelCalls returns the maximum number of model calls of a stage's agents, including the concluding call of an
// iterating agent.
func (c *Config) modelCalls(chain string, i int) (n int) {
	for _, w := range c.allWork(chain, i) {
		switch w.kind.Pattern {
		case agent.Iterating:
			n += value(w.MaxIterations) + 1
		case agent.SingleShot:
			n++
		}
	}
	return n
}
