package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/spell"
	"github.com/inquest-dev/inquest/internal/strict"
)

// Requests list what requests may use beyond the settings of the chain and its agents. Without them, a request can only
// restrict.
type Requests struct {
	// MCPServers are additional servers that a request may give to agents that use tools. The agents' tool_config also
	// applies to them.
	MCPServers []string `yaml:"mcp_servers" default:"none"`
	// NativeTools are those that a request may turn on, for agents with the backend native-gemini.
	NativeTools NativeTools `yaml:"native_tools"`
	// Budgets are how far a request may raise the bounds and budgets of the chain.
	Budgets RequestBudgets `yaml:"budgets"`
}

// RequestBudgets are the bounds and budgets that a request can set.
type RequestBudgets struct {
	// MaxPasses works as in bounds.
	MaxPasses *int `yaml:"max_passes" min:"1" unit:"passes" default:"the chain's"`
	// MaxLLMCalls works as in bounds.
	MaxLLMCalls *int `yaml:"max_llm_calls" min:"1" unit:"calls" default:"the chain's"`
	// MaxAgentHops works as in bounds.
	MaxAgentHops *int `yaml:"max_agent_hops" min:"1" unit:"stages" default:"the chain's"`
	// MaxTokensTotal works as in budgets.
	MaxTokensTotal *int `yaml:"max_tokens_total" min:"1" unit:"tokens" default:"the chain's"`
	// MaxCostUSD works as in budgets.
	MaxCostUSD *float64 `yaml:"max_cost_usd" above:"0" unit:"US dollars" default:"the chain's"`
	// MaxDuration works as in budgets.
	MaxDuration plan.Duration `yaml:"max_duration" default:"the chain's"`
}

func (r Requests) validate(p path, v *validator) { v.servers(p.Key("mcp_servers"), r.MCPServers) }

// Dedup says which requests are duplicates. A duplicate gets the investigation of the first request while that runs,
// and for a while afterwards.
type Dedup struct {
	// By are the parts of a request that are equal in duplicates: alert_type, tenant, session, data, data.KEY (if the
	// data are a JSON object; further dots select keys within it) and metadata.KEY. A request that lacks one of them,
	// or has something masked in one of them, is never a duplicate.
	By []string `yaml:"by" default:"none: requests that bring a fingerprint"`
	// Within is how long after its end a completed investigation is used for duplicates. A failed investigation is
	// never used.
	Within plan.Duration `yaml:"within" default:"only while it runs"`
}

var dedupPart = regexp.MustCompile(`^(alert_type|tenant|session|data(\.[^.]+)*|metadata\.[A-Za-z0-9_-]{1,64})$`)

func (d Dedup) validate(p path, v *validator) {
	for i, part := range d.By {
		if !dedupPart.MatchString(part) {
			v.Errorf(p.Key("by").Index(i), "requests have no part %q: there are alert_type, tenant, session, data, data.KEY and metadata.KEY", part)
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
	may   Requests        // what the request may use beyond the chain's own
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
func (a asked) native(w work, provider *Provider) NativeTools {
	out, own := agent.NativeTools(w.NativeTools), w.NativeTools
	if provider != nil {
		own, _ = strict.Inherit(provider.NativeTools, w.NativeTools)
	}
	has, may, asked := (*agent.NativeTools)(&own).Named(), (*agent.NativeTools)(&a.may.NativeTools).Named(), a.NativeTools.Named()
	for name, into := range out.Named() {
		on, can := *asked[name], value(*has[name]) || value(*may[name]) && w.Backend == BackendNativeGemini
		if on != nil && (can || !*on) {
			*into, a.given[name] = on, true
		}
	}
	return NativeTools(out)
}

// problems lists the wishes of the request that no agent was granted.
func (a asked) problems(c *Config, chain string) (all []string) {
	for n, s := range a.Servers {
		at := fmt.Sprintf("mcp.servers[%d]: ", n)
		switch _, known := c.MCPServers[s.Name]; {
		case !known:
			meant := spell.DidYouMean(s.Name, slices.Collect(maps.Keys(c.MCPServers)))
			all = append(all, fmt.Sprintf("%sno MCP server named %q%s", at, s.Name, meant))
		case !a.given[s.Name]:
			const text = "%sno agent of the chain %q has the MCP server %q, and requests.mcp_servers does not name it"
			all = append(all, fmt.Sprintf(text, at, chain, s.Name))
		}
	}
	for name, wanted := range a.NativeTools.Named() {
		if value(*wanted) && !a.given[name] {
			const text = "mcp.native_tools.%[1]s: no agent of the chain %[2]q has it, and requests.native_tools does not allow it"
			all = append(all, fmt.Sprintf(text, name, chain))
		}
	}
	slices.Sort(all)
	return all
}

// budget applies the limits that a request asks for: stricter limits always, and higher limits up to may.
func (p bounded) budget(asked agent.Budgets, may RequestBudgets) {
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
