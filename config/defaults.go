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
	// FallbackProviders are tried in order when the provider fails.
	FallbackProviders []Fallback `yaml:"fallback_providers" default:"none"`
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

	// Orchestrator bounds the sub-agents of every agent that dispatches others.
	Orchestrator Orchestrator `yaml:"orchestrator"`

	_ struct{} `later:"scoring memory agents fallback_list label_map compose compose_provider compose_backend compose_fallback_list"`
	_ struct{} `later:"executive_summary executive_summary_provider executive_summary_backend executive_summary_fallback_list"`
}

// Fallback is a provider to try when the ones before it have failed.
type Fallback struct {
	// Provider is the name of the provider; required.
	Provider string `yaml:"provider"`
	// Backend says how the provider is reached.
	Backend string `yaml:"backend" enum:"backend" default:"the agent's, where the provider has it"`
}

func (f Fallback) validate(p path, v *validator) {
	if f.Provider == "" {
		v.Errorf(p.Key("provider"), "a provider is required")
	}
	v.provider(p.Key("provider"), f.Provider)
	v.reachable(p.Key("backend"), f.Provider, f.Backend)
}

func (d *Defaults) validate(p path, v *validator) {
	v.provider(p.Key("llm_provider"), d.LLMProvider)
	if _, ok := v.chainOf[d.AlertType]; d.AlertType != "" && !ok {
		v.Errorf(p.Key("alert_type"), "no chain has the alert type %q", d.AlertType)
	}
}
