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

// Requests say what a request may have beyond what the chain and its agents have. Without them,
// it may only have less.
type Requests struct {
	// MCPServers are those that a request may give to the agents that use tools, besides their own. What the
	// agents' tool_config says holds for them, too.
	MCPServers []string `yaml:"mcp_servers" default:"none"`
	// NativeTools are those that a request may switch on, for agents with the backend native-gemini.
	NativeTools NativeTools `yaml:"native_tools"`
	// Budgets are how far a request may raise the bounds and budgets of the chain.
	Budgets RequestBudgets `yaml:"budgets"`
}

// RequestBudgets are the bounds and budgets that a request can set.
type RequestBudgets struct {
	// MaxPasses is as in bounds.
	MaxPasses *int `yaml:"max_passes" min:"1" unit:"passes" default:"the chain's"`
	// MaxLLMCalls is as in bounds.
	MaxLLMCalls *int `yaml:"max_llm_calls" min:"1" unit:"calls" default:"the chain's"`
	// MaxAgentHops is as in bounds.
	MaxAgentHops *int `yaml:"max_agent_hops" min:"1" unit:"stages" default:"the chain's"`
	// MaxTokensTotal is as in budgets.
	MaxTokensTotal *int `yaml:"max_tokens_total" min:"1" unit:"tokens" default:"the chain's"`
	// MaxCostUSD is as in budgets.
	MaxCostUSD *float64 `yaml:"max_cost_usd" above:"0" unit:"US dollars" default:"the chain's"`
	// MaxDuration is as in budgets.
	MaxDuration plan.Duration `yaml:"max_duration" default:"the chain's"`
}

func (r Requests) validate(p path, v *validator) { v.servers(p.Key("mcp_servers"), r.MCPServers) }

// Dedup says which requests ask for the same: the second one is given the investigation of the first, while
// that runs, and for a while after.
type Dedup struct {
	// By are the parts of a request by which two are the same: alert_type, tenant, session, data, data.KEY (of data that
	// are a JSON object; keys within it after further dots) and metadata.KEY. A request that lacks one of them, or
	// in which one of them has something masked, is like no other.
	By []string `yaml:"by" default:"none: requests that bring a fingerprint"`
	// Within is how long, from its end, an investigation that has completed stands for other requests. One that
	// has failed stands for none.
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

// Dedup says by what a request is the same as another, and of which chain; it is empty if the
// request has no chain.
func (c *Config) Dedup(req agent.Request) (chain string, d plan.Dedup) {
	chain = c.ChainOf(req)
	if own, ok := c.AgentChains[chain]; ok {
		d = plan.Dedup(own.Dedup)
	}
	return chain, d
}

// asked is what a request asks for, and what becomes of it.
type asked struct {
	agent.MCP
	may   Requests        // have beyond what there is
	given map[string]bool // what any agent has, as problems name it
}

// servers are those of an agent that the request leaves it, and those that it may give it.
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

// tools are those of a server that the request names; nil = all.
func (a asked) tools(server string) []string {
	for _, s := range a.Servers {
		if s.Name == server {
			return s.ToolNames()
		}
	}
	return nil
}

// native are an agent's native tools, and what the request makes of them.
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

// problems are what the request asks for and no agent has been given.
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

// budget sets the bounds that a request asks for: the stricter one holds, and another one as far as may goes.
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

// byRequest is the origin of bounds that a request sets.
const byRequest = "the request"

// bounded is a plan whose bounds a request sets.
type bounded struct{ *plan.Plan }

// set notes that the request has set a bound.
func (p bounded) set(key string, changed bool) bool {
	if changed {
		if p.Bounds.Origins == nil {
			p.Bounds.Origins = map[string]string{}
		}
		p.Bounds.Origins[key] = byRequest
	}
	return changed
}

// stricter sets a bound to what is asked for, or to as much of it as may be; 0 = there is none.
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
