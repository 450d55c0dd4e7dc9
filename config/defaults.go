package config

import "github.com/inquest-dev/inquest/value"

// Defaults are the settings that chains and agents inherit.
type Defaults struct {
	// LLMProvider is the provider of every agent that has no other one.
	LLMProvider string `yaml:"llm_provider"`
	// ModelRoles are models, in the form of default_model, by the roles of agents (planner, critic, …).
	ModelRoles map[string]string `yaml:"model_roles" default:"none"`
	// LLMBackend selects the way to reach the provider.
	LLMBackend string `yaml:"llm_backend" enum:"backend"`
	// MaxIterations limits the model calls of agents whose type sets no number.
	MaxIterations *int `yaml:"max_iterations" min:"1"`
	// FallbackProviders are tried in order when the provider fails. An agent switches at once if the provider rejects the
	// key or the request, or if the workers have stopped calling it because it is failing. It switches after two
	// consecutive failures of the server or of the reply's stream, and after timeouts.outage if the provider limits the
	// rate. The agent then keeps the new provider until it ends.
	FallbackProviders []Fallback `yaml:"fallback_providers" default:"none"`
	// FallbackList names an entry of fallback_lists to use instead of fallback_providers.
	FallbackList string `yaml:"fallback_list" default:"none"`
	// SuccessPolicy is how many of a stage's agents must succeed.
	SuccessPolicy value.SuccessPolicy `yaml:"success_policy" enum:"success policy"`
	// AlertType is the alert type of a request that names neither a chain nor an alert type.
	AlertType string `yaml:"alert_type" default:"none"`
	// Runbook is the procedure for agents to follow, unless the chain or the request has one. It is text, the
	// https URL of a text (see system.runbooks), or file:PATH, a file in the configuration's directory. The file is read
	// with the configuration, and {{.NAME}} in it is not expanded. If a URL cannot be fetched, the next runbook is used:
	// the request's, the chain's, and then this one.
	Runbook string `yaml:"runbook" default:"none"`
	// Timeouts limit the work of agents.
	Timeouts Timeouts `yaml:"timeouts"`
	// Compression limits the size of the conversations that models get.
	Compression Compression `yaml:"compression"`
	// ToolSearch lets agents with many tools look for tools when they need them.
	ToolSearch ToolSearch `yaml:"tool_search"`
	// Shell limits the shell of agents whose type has one.
	Shell Shell `yaml:"shell"`
	// ToolConfig says what agents may do with their tools.
	ToolConfig ToolConfig `yaml:"tool_config"`
	// Summarization selects the model that shortens large tool results.
	Summarization Summarizer `yaml:"summarization"`
	// AlertMasking selects what to mask in requests, and in results without masking settings.
	AlertMasking AlertMasking `yaml:"alert_masking"`

	// Budgets limit what every investigation may use.
	Budgets Budgets `yaml:"budgets"`
	// Requests list what a request may use in addition to the settings of chains and agents.
	Requests Requests `yaml:"requests"`
	// ExecutiveSummary summarises the result of an investigation in a few lines.
	ExecutiveSummary Closing `yaml:"executive_summary"`
	// ExecutiveSummaryProvider is the provider of executive summaries. Setting it turns the summary on, unless
	// executive_summary.enabled says otherwise.
	ExecutiveSummaryProvider string `yaml:"executive_summary_provider" default:"none"`
	// ExecutiveSummaryBackend selects the way to reach that provider.
	ExecutiveSummaryBackend string `yaml:"executive_summary_backend" enum:"backend" default:"none"`
	// ExecutiveSummaryFallbackList is the same as executive_summary.fallback_list.
	ExecutiveSummaryFallbackList string `yaml:"executive_summary_fallback_list" default:"none"`
	// Scoring judges completed investigations.
	Scoring Closing `yaml:"scoring"`

	// Orchestrator limits the sub-agents of every agent that dispatches others.
	Orchestrator Orchestrator `yaml:"orchestrator"`

	// Memory lets agents learn from earlier investigations.
	Memory Memory `yaml:"memory"`

	_ struct{} `foreign:"agents" instead:"set llm_provider and fallback_list where a chain names the agent, or default_model in agents.NAME"`
	_ struct{} `foreign:"embedding_provider embedding_model" instead:"use memory.embedding.provider and memory.embedding.model"`
	_ struct{} `foreign:"label_map" instead:"Inquest has no labels; end the chain with an agent of type llm whose JSON reply has them"`
	_ struct{} `foreign:"compose compose_provider compose_backend compose_fallback_list" instead:"combine the results in a last stage"`
}
