package config

import (
	"github.com/inquest-dev/inquest/value"
)

// Bounds limit a chain in one investigation. When a limit is reached, the investigation ends with the results so far.
type Bounds struct {
	// MaxPasses is how often the chain may go through its stages. A jump back begins another pass; when no pass is left,
	// it ends the investigation.
	MaxPasses *int `yaml:"max_passes" min:"1" unit:"passes" default:"3 for a routed chain, else none"`
	// MaxLLMCalls limits the model calls of all agents together.
	MaxLLMCalls *int `yaml:"max_llm_calls" min:"1" unit:"calls" default:"10 if the chain loops and each agent makes one call, else none"`
	// MaxAgentHops limits how many stages may start in one investigation. A stage counts each time that it starts.
	MaxAgentHops *int `yaml:"max_agent_hops" min:"1" unit:"stages" default:"21 for a routed chain, else none"`
	// EdgeLimits limit how often the chain goes from one stage to another. In a chain with requires or after, they can
	// limit only jumps.
	EdgeLimits []EdgeLimit `yaml:"edge_limits" default:"none"`
}

// EdgeLimit limits how often a chain goes from one stage to another.
type EdgeLimit struct {
	// From is the stage that the chain leaves; required.
	From string `yaml:"from"`
	// To is the stage that the chain enters; required.
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
	// MaxDuration limits the investigation's duration, not counting time spent waiting for people. An investigation that
	// reaches max_duration ends with the results so far; one that reaches the chain's timeout fails. If both are set, the
	// shorter one applies.
	MaxDuration value.Duration `yaml:"max_duration" default:"none"`
	// OnLimit is what happens when max_llm_calls or one of these limits is reached. With end, the investigation ends
	// with the results so far. With ask, it waits until people extend the limit, conclude the investigation, or stop it.
	OnLimit value.OnBound `yaml:"on_limit" enum:"on bound" default:"end"`
	// OnLimitTimeout is how long to wait for people before the investigation ends.
	OnLimitTimeout value.Duration `yaml:"on_limit_timeout" default:"168h (7 days)"`
}

// Requests list what a request may use in addition to the settings of the chain and its agents. Without them, a request
// can only restrict these settings.
type Requests struct {
	// MCPServers are additional servers that a request may give to agents that use tools. The agents' tool_config also
	// applies to them.
	MCPServers []string `yaml:"mcp_servers" default:"none"`
	// NativeTools are the native tools that a request may turn on, for agents with the backend native-gemini.
	NativeTools NativeTools `yaml:"native_tools"`
	// Budgets are the highest values to which a request may raise the bounds and budgets of the chain.
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
	MaxDuration value.Duration `yaml:"max_duration" default:"the chain's"`
}

// Dedup defines which requests are duplicates. A duplicate request starts nothing: it gets the investigation of the first
// request, while that runs and for a while afterwards.
type Dedup struct {
	// By lists the parts of a request that must be equal: alert_type, tenant, session, data, data.KEY (if the
	// data are a JSON object; further dots select keys within it) and metadata.KEY. A request that lacks one of them,
	// or has something masked in one of them, is never a duplicate.
	By []string `yaml:"by" default:"none: only equal fingerprints count"`
	// Within is how long after its end duplicates still get a completed investigation. They never get a failed one.
	Within value.Duration `yaml:"within" default:"only while it runs"`
}
