package configuration

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/spell"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/route"
	"github.com/inquest-dev/inquest/internal/strict"
)

// bounds returns a chain's bounds and, for each key, its level: 0 for a default, 1 for a value in the chain. A chain
// that only goes from its first stage to its last needs no bounds. The limit of ten model calls suits agents that
// answer once each; iterating agents are limited by their iterations.
func (c *content) bounds(name string) (config.Bounds, map[string]int) {
	chart, standard := chartOf(c.AgentChains[name]), config.Bounds{}
	if chart.walk.Routed() {
		standard.MaxPasses, standard.MaxAgentHops = new(3), new(21)
	}
	if chart.loops() && c.answersOnce(name) {
		standard.MaxLLMCalls = new(10)
	}
	return strict.Inherit(standard, chart.Bounds)
}

// answersOnce reports whether the chain has an agent that asks a model, and every such agent asks once.
func (c *content) answersOnce(chain string) bool {
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
func (c *content) planBounds(name string, own inherited) plan.Bounds {
	all, from := c.bounds(name)
	out := plannedBounds(all, own.Budgets, own.Timeout)
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

// plannedBounds returns the bounds and budgets of a chain in one value.
func plannedBounds(b config.Bounds, budgets config.Budgets, timeout plan.Duration) plan.Bounds {
	out := plan.Bounds{
		MaxPasses: value(b.MaxPasses), MaxLLMCalls: value(b.MaxLLMCalls), MaxHops: value(b.MaxAgentHops),
		MaxTokens: value(budgets.MaxTokensTotal), MaxCost: value(budgets.MaxCostUSD),
	}
	if budgetTimeout(budgets, timeout) == budgets.MaxDuration {
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

// budgetTimeout returns the shorter of the two limits on an investigation's duration. Zero means no limit.
func budgetTimeout(b config.Budgets, timeout plan.Duration) plan.Duration {
	if timeout == 0 || b.MaxDuration > 0 && b.MaxDuration < timeout {
		return b.MaxDuration
	}
	return timeout
}

func validateBounds(b config.Bounds, p path, v *validator, c chart) {
	edges := c.walk.Ways()
	for i, e := range b.EdgeLimits {
		at := p.Key("edge_limits").Index(i)
		known := v.stage(at.Key("from"), e.From, c)
		known = v.stage(at.Key("to"), e.To, c) && known
		if e.MaxCount == nil {
			v.Errorf(at.Key("max_count"), "max_count is required")
		}
		same := func(other config.EdgeLimit) bool { return other.From == e.From && other.To == e.To }
		way := func(way route.Edge) bool { return way.From == e.From && way.To == e.To }
		jump := func(edge route.Edge) bool {
			return way(edge) && edge.Kind != route.EdgeRequires && edge.Kind != route.EdgeAfter
		}
		switch {
		case !known: // reported already
		case slices.IndexFunc(b.EdgeLimits, same) < i:
			v.Errorf(at, "two limits apply to the transition from %q to %q", e.From, e.To)
		case !slices.ContainsFunc(edges, way):
			v.Add(config.SeverityWarning, at, "the chain has no transition from %q to %q", e.From, e.To)
		case !slices.ContainsFunc(edges, jump):
			v.Errorf(at, "%q follows %q without a jump: in a chain with requires or after, only jumps can be limited", e.To, e.From)
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
		p, chart := entryPath("agent_chains", name).Key("bounds"), chartOf(v.AgentChains[name])
		b, _ := v.bounds(name)
		calls, hops := make([]int, len(chart.names)), make([]int, len(chart.names))
		var list []string
		for i, stage := range chart.names {
			calls[i], hops[i] = v.modelCalls(name, i), 1
			list = append(list, fmt.Sprintf("%s %d", stage, calls[i]))
		}
		if most, need := value(b.MaxLLMCalls), chart.longest(calls); most > 0 && most < need {
			v.Add(config.SeverityWarning, p.Key("max_llm_calls"),
				"one pass through the chain can make up to %d model calls, more than this limit of %d; by stage: %s",
				need, most, strings.Join(list, ", "))
		}
		if most, need := value(b.MaxAgentHops), chart.longest(hops); most > 0 && most < need {
			v.Add(config.SeverityWarning, p.Key("max_agent_hops"),
				"one pass through the chain can run up to %d stages, more than this limit of %d", need, most)
		}
	}
}

// modelCalls returns the maximum number of model calls of a stage's agents, including the concluding call of an
// iterating agent.
func (c *content) modelCalls(chain string, i int) (n int) {
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

func validateRequests(r config.Requests, p path, v *validator) {
	v.servers(p.Key("mcp_servers"), r.MCPServers)
}

var dedupPart = regexp.MustCompile(`^(alert_type|tenant|session|data(\.[^.]+)*|metadata\.[A-Za-z0-9_-]{1,64})$`)

func validateDedup(d config.Dedup, p path, v *validator) {
	for i, part := range d.By {
		if !dedupPart.MatchString(part) {
			v.Errorf(p.Key("by").Index(i), "unknown part of a request %q; available: alert_type, tenant, session, data, data.KEY, metadata.KEY",
				part)
		}
	}
}

// Dedup returns the deduplication rule that applies to a request, and its chain. The chain is empty if the request has
// none.
func (c *Config) Dedup(req agent.Request) (chain string, d plan.Dedup) {
	chain = c.ChainOf(req)
	if own, ok := c.AgentChains[chain]; ok {
		d = plan.Dedup(own.Dedup)
	}
	return chain, d
}

// asked holds a request's wishes, and records which of them were granted.
type asked struct {
	agent.MCP
	may   config.Requests // what the request may use beyond the chain's own
	given map[string]bool // granted to any agent, by the names used in problems
}

// servers returns an agent's servers: those that the request keeps, and those that it adds and may add.
func (a asked) servers(w work) []string {
	if len(a.Servers) == 0 || !w.kind.Pattern.Tools() {
		return w.Servers
	}
	names := []string{}
	for _, s := range a.Servers {
		if slices.Contains(w.Servers, s.Name) || slices.Contains(a.may.MCPServers, s.Name) {
			names, a.given[s.Name] = append(names, s.Name), true
		}
	}
	return names
}

// tools returns the tools of a server that the request names. Nil means all.
func (a asked) tools(server string) []string {
	for _, s := range a.Servers {
		if s.Name == server {
			return s.ToolNames()
		}
	}
	return nil
}

// native returns an agent's native tools, after the request has turned tools on or off.
func (a asked) native(w work, provider *config.Provider) config.NativeTools {
	out, own := agent.NativeTools(w.NativeTools), w.NativeTools
	if provider != nil {
		own, _ = strict.Inherit(provider.NativeTools, w.NativeTools)
	}
	has, may, asked := (*agent.NativeTools)(&own).Named(), (*agent.NativeTools)(&a.may.NativeTools).Named(), a.NativeTools.Named()
	for name, into := range out.Named() {
		on, can := *asked[name], value(*has[name]) || value(*may[name]) && w.Backend == config.BackendNativeGemini
		if on != nil && (can || !*on) {
			*into, a.given[name] = on, true
		}
	}
	return config.NativeTools(out)
}

// problems lists the wishes of the request that no agent was granted.
func (a asked) problems(c *Config, chain string) (all []string) {
	for n, s := range a.Servers {
		at := fmt.Sprintf("mcp.servers[%d]: ", n)
		switch _, known := c.MCPServers[s.Name]; {
		case !known:
			meant := spell.Hint(s.Name, slices.Collect(maps.Keys(c.MCPServers)))
			all = append(all, fmt.Sprintf("%sunknown MCP server %q%s", at, s.Name, meant))
		case !a.given[s.Name]:
			const text = "%sno agent of chain %q has the MCP server %q, and requests.mcp_servers adds it to none (agents without tools get none)"
			all = append(all, fmt.Sprintf(text, at, chain, s.Name))
		}
	}
	for name, wanted := range a.NativeTools.Named() {
		if value(*wanted) && !a.given[name] {
			const text = "mcp.native_tools.%[1]s: no agent of the chain %[2]q has it, and requests.native_tools adds it to none " +
				"(only agents with llm_backend native-gemini get it)"
			all = append(all, fmt.Sprintf(text, name, chain))
		}
	}
	slices.Sort(all)
	return all
}

// budget applies the limits that a request asks for: stricter limits always, and higher limits up to may.
func (p bounded) budget(asked agent.Budgets, may config.RequestBudgets) {
	b := &p.Bounds
	for _, bound := range []struct {
		key        string
		now        *int
		asked, may int
	}{
		{"max_passes", &b.MaxPasses, asked.MaxPasses, value(may.MaxPasses)},
		{"max_llm_calls", &b.MaxLLMCalls, asked.MaxLLMCalls, value(may.MaxLLMCalls)},
		{"max_agent_hops", &b.MaxHops, asked.MaxAgentHops, value(may.MaxAgentHops)},
		{"max_tokens_total", &b.MaxTokens, asked.MaxTokensTotal, value(may.MaxTokensTotal)},
	} {
		p.set(bound.key, stricter(bound.now, bound.asked, bound.may))
	}
	p.set("max_cost_usd", stricter(&b.MaxCost, asked.MaxCostUSD, value(may.MaxCostUSD)))
	if p.set("max_duration", stricter(&p.Timeout, plan.Duration(asked.Duration()), may.MaxDuration)) {
		b.MaxDuration = p.Timeout
		delete(b.Origins, "timeout")
	}
}

// byRequest is the origin of limits that a request sets.
const byRequest = "the request"

// bySchedule is the origin of a limit that a schedule sets.
const bySchedule = "the schedule"

// schedule applies what a schedule demands of its investigations. Its limit never raises another one.
func (p bounded) schedule(s agent.Schedule) {
	if now := p.Bounds.MaxCost; s.MaxCostPerDay > 0 && (now == 0 || s.MaxCostPerDay < now) {
		p.Bounds.MaxCost = s.MaxCostPerDay
		p.set("max_cost_usd", true)
		p.Bounds.Origins["max_cost_usd"] = bySchedule
	}
	p.Check = s.Check
}

// bounded is a plan whose limits a request sets.
type bounded struct{ *plan.Plan }

// set records that the request has set a limit.
func (p bounded) set(key string, changed bool) bool {
	if changed {
		if p.Bounds.Origins == nil {
			p.Bounds.Origins = map[string]string{}
		}
		p.Bounds.Origins[key] = byRequest
	}
	return changed
}

// stricter sets a limit to the requested value, or to as much of it as is allowed. Zero means no limit.
func stricter[N int | float64 | plan.Duration](now *N, asked, may N) (changed bool) {
	switch {
	case asked == 0 || asked == *now:
		return false
	case *now > 0 && asked > *now:
		asked = max(*now, min(asked, may))
	}
	changed = asked != *now
	*now = asked
	return changed
}
