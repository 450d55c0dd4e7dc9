package agent

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Overrides are what a request asks for otherwise than the configuration has it.
type Overrides struct {
	// MCP says which tools the agents may use; Budgets bound the investigation.
	MCP     MCP     `json:"mcp,omitzero"`
	Budgets Budgets `json:"budgets,omitzero"`
}

// MCP says which tools the agents may use in one investigation: of those that their
// configuration gives them, or lets requests give them, and no others.
type MCP struct {
	// Servers replace the agents' own; none = each agent's own.
	Servers []MCPServer `json:"servers,omitempty"`
	// NativeTools switch those of Gemini models on and off.
	NativeTools NativeTools `json:"native_tools,omitzero"`
}

// MCPServer is a server, and which of its tools: none named = all.
type MCPServer struct {
	Name  string   `json:"name"`
	Tools []string `json:"tools,omitempty"`
}

// NativeTools are tools that a Gemini model runs itself; nil = as it is configured.
type NativeTools struct {
	GoogleSearch  *bool `json:"google_search,omitempty"`
	URLContext    *bool `json:"url_context,omitempty"`
	CodeExecution *bool `json:"code_execution,omitempty"`
}

// Named are all of them, by their names.
func (t *NativeTools) Named() map[string]**bool {
	return map[string]**bool{"google_search": &t.GoogleSearch, "url_context": &t.URLContext, "code_execution": &t.CodeExecution}
}

// Set switches one of them, by its name.
func (t *NativeTools) Set(name string, on bool) error {
	tools := t.Named()
	if tools[name] == nil {
		return fmt.Errorf("no native tool %.100q: there are %s", name, strings.Join(slices.Sorted(maps.Keys(tools)), ", "))
	}
	*tools[name] = &on
	return nil
}

// Budgets bound one investigation, in the words of a chain's bounds and budgets; 0 = the chain's own.
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

// Duration is MaxDuration; 0 if there is none.
func (b Budgets) Duration() time.Duration {
	d, _ := time.ParseDuration(b.MaxDuration) // validate has read it
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
		errs = append(errs, fmt.Errorf(`"budgets.max_duration" is %.50q: give a span of time like 90s or 1h30m`, b.MaxDuration))
	}
	return errs
}

// maxNamed bounds the servers of a request, and the tools of each.
const maxNamed = 100

func (m MCP) validate() (errs []error) {
	if len(m.Servers) > maxNamed {
		return []error{fmt.Errorf(`"mcp.servers" names %d servers, and %d are allowed`, len(m.Servers), maxNamed)}
	}
	unfit := func(name string) bool { return name == "" || len(name) > maxField }
	for n, s := range m.Servers {
		at := fmt.Sprintf("mcp.servers[%d]", n)
		if slices.IndexFunc(m.Servers, func(other MCPServer) bool { return other.Name == s.Name }) < n {
			errs = append(errs, fmt.Errorf("%q names %.100q for the second time", at, s.Name))
		}
		if len(s.Tools) > maxNamed {
			errs = append(errs, fmt.Errorf("%q names %d tools, and %d are allowed", at, len(s.Tools), maxNamed))
		}
		if unfit(s.Name) || slices.ContainsFunc(s.Tools, unfit) {
			errs = append(errs, fmt.Errorf("%q has a name that is missing, empty or longer than %d bytes", at, maxField))
		}
	}
	return errs
}

// ToolNames are the tools as they are named everywhere, "server.tool", whichever way they were
// written; nil = all of the server.
func (s MCPServer) ToolNames() (names []string) {
	for _, name := range s.Tools {
		names = append(names, s.Name+"."+strings.TrimPrefix(strings.TrimPrefix(name, s.Name+"."), s.Name+"__"))
	}
	return names
}
