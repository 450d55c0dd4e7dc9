package agent

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Overrides are a request's settings that differ from the configuration.
type Overrides struct {
	// MCP says which tools the agents may use. Budgets limit the investigation.
	MCP     MCP     `json:"mcp,omitzero"`
	Budgets Budgets `json:"budgets,omitzero"`
}

// MCP says which tools the agents may use in one investigation, out of those that their configuration gives them or
// allows requests to give them.
type MCP struct {
	// Servers replace the agents' own. None means each agent's own servers.
	Servers []MCPServer `json:"servers,omitempty"`
	// NativeTools turns native tools of Gemini models on and off.
	NativeTools NativeTools `json:"native_tools,omitzero"`
}

// MCPServer is a server and a selection of its tools. No names means all of them.
type MCPServer struct {
	Name  string   `json:"name"`
	Tools []string `json:"tools,omitempty"`
}

// NativeTools are tools that a Gemini model runs itself. Nil means the configured value.
type NativeTools struct {
	GoogleSearch  *bool `json:"google_search,omitempty"`
	URLContext    *bool `json:"url_context,omitempty"`
	CodeExecution *bool `json:"code_execution,omitempty"`
}

// Named returns all of them by name.
func (t *NativeTools) Named() map[string]**bool {
	return map[string]**bool{"google_search": &t.GoogleSearch, "url_context": &t.URLContext, "code_execution": &t.CodeExecution}
}

// Set turns one of them on or off, by name.
func (t *NativeTools) Set(name string, on bool) error {
	tools := t.Named()
	if tools[name] == nil {
		return fmt.Errorf("unknown native tool %.100q; available: %s", name, strings.Join(slices.Sorted(maps.Keys(tools)), ", "))
	}
	*tools[name] = &on
	return nil
}

// Budgets limit one investigation, with the names of a chain's bounds and budgets. Zero means the chain's own limit.
type Budgets struct {
	MaxPasses      int     `json:"max_passes,omitempty"`
	MaxLLMCalls    int     `json:"max_llm_calls,omitempty"`
	MaxAgentHops   int     `json:"max_agent_hops,omitempty"`
	MaxTokensTotal int     `json:"max_tokens_total,omitempty"`
	MaxCostUSD     float64 `json:"max_cost_usd,omitempty"`
	MaxDuration    string  `json:"max_duration,omitempty"` // "90s", "1h30m"
}

// BudgetKeys are the keys of Budgets, in the order of its fields.
var BudgetKeys = []string{"max_passes", "max_llm_calls", "max_agent_hops", "max_tokens_total", "max_cost_usd", "max_duration"}

// Duration returns MaxDuration, or zero if there is none.
func (b Budgets) Duration() time.Duration {
	d, _ := time.ParseDuration(b.MaxDuration) // validate has checked it
	return d
}

func (b Budgets) validate() (errs []error) {
	numbers := []float64{
		float64(b.MaxPasses), float64(b.MaxLLMCalls), float64(b.MaxAgentHops), float64(b.MaxTokensTotal), b.MaxCostUSD,
	}
	for n, number := range numbers {
		if number < 0 {
			errs = append(errs, fmt.Errorf(`"budgets" has a negative %s`, BudgetKeys[n]))
		}
	}
	if d, err := time.ParseDuration(b.MaxDuration); b.MaxDuration != "" && (err != nil || d <= 0) {
		errs = append(errs, fmt.Errorf(`"budgets.max_duration" is %.50q: use a duration such as 90s or 1h30m`, b.MaxDuration))
	}
	return errs
}

// maxNamed is the maximum number of servers in a request, and of tools for each.
const maxNamed = 100

func (m MCP) validate() (errs []error) {
	if len(m.Servers) > maxNamed {
		return []error{fmt.Errorf(`"mcp.servers" names %d servers; the limit is %d`, len(m.Servers), maxNamed)}
	}
	unfit := func(name string) bool { return name == "" || len(name) > maxField }
	for n, s := range m.Servers {
		at := fmt.Sprintf("mcp.servers[%d]", n)
		if slices.IndexFunc(m.Servers, func(other MCPServer) bool { return other.Name == s.Name }) < n {
			errs = append(errs, fmt.Errorf("%q names %.100q, which an earlier entry already names", at, s.Name))
		}
		if len(s.Tools) > maxNamed {
			errs = append(errs, fmt.Errorf("%q names %d tools; the limit is %d", at, len(s.Tools), maxNamed))
		}
		if unfit(s.Name) || slices.ContainsFunc(s.Tools, unfit) {
			errs = append(errs, fmt.Errorf("%q: the name of the server and of each tool must have 1 to %d bytes", at, maxField))
		}
	}
	return errs
}

// ToolNames returns the tools in the common form "server.tool", whichever way they were written. Nil means all tools of
// the server.
func (s MCPServer) ToolNames() (names []string) {
	for _, name := range s.Tools {
		names = append(names, s.Name+"."+strings.TrimPrefix(strings.TrimPrefix(name, s.Name+"."), s.Name+"__"))
	}
	return names
}
