package config

import "github.com/inquest-dev/inquest/internal/plan"

// Defaults are what chains and agents inherit from.
type Defaults struct {
	// LLMProvider is the provider of every agent that has no other.
	LLMProvider string `yaml:"llm_provider"`
	// ModelRoles are models, written as default_model is, by the roles that agents have (planner, critic, …).
	ModelRoles map[string]string `yaml:"model_roles" default:"none"`
	// LLMBackend says how the provider is reached.
	LLMBackend string `yaml:"llm_backend" enum:"backend"`
	// MaxIterations bounds the model calls of agents whose type has no number of its own.
	MaxIterations *int `yaml:"max_iterations" min:"1"`
	// FallbackProviders are tried in order when the provider fails: at once if it refuses for good (the key, the request)
	// or nobody of the fleet asks it at the moment, after two failures in a row of the server or of the reply's stream, and
	// after timeouts.outage if it limits the rate. The one that takes over stays until the agent has ended.
	FallbackProviders []Fallback `yaml:"fallback_providers" default:"none"`
	// FallbackList is the name of one of fallback_lists, in place of fallback_providers.
	FallbackList string `yaml:"fallback_list" default:"none"`
	// SuccessPolicy says how many of a stage's agents must succeed.
	SuccessPolicy plan.SuccessPolicy `yaml:"success_policy" enum:"success policy"`
	// AlertType is assumed of a request that names neither a chain nor an alert type.
	AlertType string `yaml:"alert_type" default:"none"`
	// Runbook is what agents are told to go by, unless the chain or the request has one.
	Runbook string `yaml:"runbook" default:"none"`
	// Timeouts bound the work of agents.
	Timeouts Timeouts `yaml:"timeouts"`
	// Compression bounds the conversations that models are shown.
	Compression Compression `yaml:"compression"`
	// Shell limits the shell of the agents that have one.
	Shell Shell `yaml:"shell"`
	// ToolConfig is what agents may do with their tools.
	ToolConfig ToolConfig `yaml:"tool_config"`
	// Summarization says who shortens large results of tools.
	Summarization Summarizer `yaml:"summarization"`
	// AlertMasking is what is masked in requests, and in results of which nothing else is said.
	AlertMasking AlertMasking `yaml:"alert_masking"`

	// Budgets are what every investigation may use up.
	Budgets Budgets `yaml:"budgets"`
	// Requests say what requests may have beyond what chains and agents have.
	Requests Requests `yaml:"requests"`
	// ExecutiveSummary sums up in a few lines what came of an investigation.
	ExecutiveSummary Closing `yaml:"executive_summary"`
	// ExecutiveSummaryProvider is the provider of executive summaries. Naming one switches the summary on,
	// unless executive_summary.enabled says otherwise.
	ExecutiveSummaryProvider string `yaml:"executive_summary_provider" default:"none"`
	// ExecutiveSummaryBackend says how that provider is reached.
	ExecutiveSummaryBackend string `yaml:"executive_summary_backend" enum:"backend" default:"none"`
	// ExecutiveSummaryFallbackList is the same as executive_summary.fallback_list.
	ExecutiveSummaryFallbackList string `yaml:"executive_summary_fallback_list" default:"none"`
	// Scoring judges investigations that have completed.
	Scoring Closing `yaml:"scoring"`

	// Orchestrator bounds the sub-agents of every agent that dispatches others.
	Orchestrator Orchestrator `yaml:"orchestrator"`

	_ struct{} `later:"memory agents label_map compose compose_provider compose_backend compose_fallback_list"`
}

func (d *Defaults) validate(p path, v *validator) {
	v.provider(p.Key("llm_provider"), d.LLMProvider)
	v.provider(p.Key("executive_summary_provider"), d.ExecutiveSummaryProvider)
	summing.check(p.Key(summing.key), v, d.ExecutiveSummary)
	scoring.check(p.Key(scoring.key), v, d.Scoring)
	if _, ok := v.chainOf[d.AlertType]; d.AlertType != "" && !ok {
		v.Errorf(p.Key("alert_type"), "no chain has the alert type %q", d.AlertType)
	}
}
