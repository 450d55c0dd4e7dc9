package config

import (
	"github.com/inquest-dev/inquest/value"
)

// Chain is a sequence of stages that investigates certain types of alerts.
type Chain struct {
	// AlertTypes are the types of alerts that this chain investigates. Each type belongs to one chain only.
	AlertTypes []string `yaml:"alert_types"`
	// Description describes the chain's purpose, in lists.
	Description string `yaml:"description"`
	// Projects are the only projects that may run and see the chain.
	Projects []string `yaml:"projects" default:"all"`
	// Stages run one after the other; at least one is required.
	Stages []*Stage `yaml:"stages"`
	// LLMProvider is the provider of all agents of the chain.
	LLMProvider string `yaml:"llm_provider"`
	// LLMBackend selects the way to reach the provider.
	LLMBackend string `yaml:"llm_backend" enum:"backend"`
	// FallbackProviders are tried in order when the provider fails; [] means none.
	FallbackProviders []Fallback `yaml:"fallback_providers"`
	// FallbackList names an entry of fallback_lists to use instead of fallback_providers.
	FallbackList string `yaml:"fallback_list" default:"none"`
	// MaxIterations limits the model calls of every agent of the chain.
	MaxIterations *int `yaml:"max_iterations" min:"1"`
	// MCPServers replace those of the agents' definitions.
	MCPServers []string `yaml:"mcp_servers"`
	// ToolConfig replaces the values in the agents' definitions and in defaults, key by key.
	ToolConfig ToolConfig `yaml:"tool_config"`
	// Timeout limits the investigation; time paused does not count.
	Timeout value.Duration `yaml:"timeout" default:"queue.session_timeout"`
	// Runbook is the procedure for all agents to follow; it has the same forms as defaults.runbook.
	Runbook string `yaml:"runbook"`
	// Bounds limit the chain in one investigation.
	Bounds Bounds `yaml:"bounds"`
	// Budgets replace the values in defaults.budgets, key by key.
	Budgets Budgets `yaml:"budgets"`
	// Requests replace the values in defaults.requests, key by key.
	Requests Requests `yaml:"requests"`
	// Dedup defines which requests are duplicates.
	Dedup Dedup `yaml:"dedup"`
	// Interrupts control how the chain waits for people.
	Interrupts Interrupts `yaml:"interrupts"`
	// ExecutiveSummary summarises the result of an investigation in a few lines.
	ExecutiveSummary Closing `yaml:"executive_summary"`
	// ExecutiveSummaryProvider is the provider of the executive summary. Setting it turns the summary on, unless
	// executive_summary.enabled says otherwise.
	ExecutiveSummaryProvider string `yaml:"executive_summary_provider" default:"none"`
	// ExecutiveSummaryBackend selects the way to reach that provider.
	ExecutiveSummaryBackend string `yaml:"executive_summary_backend" enum:"backend" default:"none"`
	// ExecutiveSummaryFallbackList is the same as executive_summary.fallback_list.
	ExecutiveSummaryFallbackList string `yaml:"executive_summary_fallback_list" default:"none"`
	// Scoring judges a completed investigation.
	Scoring Closing `yaml:"scoring"`

	// Chat is read and checked, and has no effect: starter chat talks with an agent about a report.
	Chat Chat `yaml:"chat"`

	// SubAgents are the agents that every iterating agent of the chain may dispatch; they replace those of the
	// definitions.
	SubAgents []SubAgent `yaml:"sub_agents"`

	_ struct{} `foreign:"label_map" instead:"Inquest has no labels; end the chain with an agent of type llm whose JSON reply has them"`
	_ struct{} `foreign:"compose compose_provider compose_backend compose_fallback_list" instead:"combine the results in a last stage"`
}

// Chat is TARSy's chat about an investigation of the chain. Inquest checks it, but it has no effect: use starter chat,
// and give the agent the report.
type Chat struct {
	// Enabled allows chats about an investigation.
	Enabled *bool `yaml:"enabled" default:"none"`
	// Agent is the definition of the agent that answers.
	Agent string `yaml:"agent" default:"none"`
	// LLMProvider is the provider of this agent.
	LLMProvider string `yaml:"llm_provider"`
	// LLMBackend selects the way to reach the provider.
	LLMBackend string `yaml:"llm_backend" enum:"backend"`
	// MCPServers are the servers of this agent.
	MCPServers []string `yaml:"mcp_servers"`
	// MaxIterations limits the model calls of an answer.
	MaxIterations *int `yaml:"max_iterations" min:"1"`
	// SubAgents are the agents that this agent may dispatch.
	SubAgents []SubAgent `yaml:"sub_agents"`
}

// Closing is an agent that works after the stages of a chain have ended. Its result does not change how the
// investigation ends.
type Closing struct {
	// Enabled turns the agent on.
	Enabled *bool `yaml:"enabled" default:"the value in defaults, else false"`
	// Agent is the name of an agent definition of the required type.
	Agent string `yaml:"agent" default:"the value in defaults, else ExecSummaryAgent or ScoringAgent"`
	// LLMBackend selects the way to reach the provider.
	LLMBackend string `yaml:"llm_backend" enum:"backend"`
	// LLMProvider is the provider of this agent.
	LLMProvider string `yaml:"llm_provider"`
	// FallbackProviders are tried in order when the provider fails.
	FallbackProviders []Fallback `yaml:"fallback_providers"`
	// FallbackList names an entry of fallback_lists to use instead of fallback_providers.
	FallbackList string `yaml:"fallback_list" default:"none"`
}
