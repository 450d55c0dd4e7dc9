package config

import "github.com/inquest-dev/inquest/internal/agent"

// Defaults are what chains and agents inherit from.
type Defaults struct {
	LLMProvider       string              `yaml:"llm_provider"`
	LLMBackend        string              `yaml:"llm_backend"`
	MaxIterations     *int                `yaml:"max_iterations"`
	FallbackProviders []Fallback          `yaml:"fallback_providers"`
	SuccessPolicy     agent.SuccessPolicy `yaml:"success_policy"`
	// AlertType is assumed of a request that names neither a chain nor an alert type.
	AlertType   string      `yaml:"alert_type"`
	Runbook     string      `yaml:"runbook"`
	Timeouts    Timeouts    `yaml:"timeouts"`
	Compression Compression `yaml:"compression"`
	Shell       Shell       `yaml:"shell"`
	_           struct{}    `later:"model_roles alert_masking scoring summarization orchestrator memory budgets"`
}

// Fallback is a provider to try when the ones before it have failed.
type Fallback struct {
	Provider string `yaml:"provider"`
	Backend  string `yaml:"backend"`
}

// System is what the processes themselves need.
type System struct {
	Store Store    `yaml:"store"`
	_     struct{} `later:"http runbooks cost_estimation retention holidays dashboard_url"`
}

// Store says where content is kept.
type Store struct {
	SQLite string   `yaml:"sqlite"` // path of the database file
	_      struct{} `later:"postgres"`
}

func (d *Defaults) validate(p path, v *validator) {
	v.provider(p.key("llm_provider"), d.LLMProvider)
	v.backend(p.key("llm_backend"), d.LLMBackend)
	v.atLeast(p.key("max_iterations"), d.MaxIterations, 1)
	v.fallbacks(p.key("fallback_providers"), d.FallbackProviders)
	v.successPolicy(p.key("success_policy"), d.SuccessPolicy)
	d.Compression.validate(p.key("compression"), v)
	d.Shell.validate(p.key("shell"), v)
	if _, ok := v.chainOf[d.AlertType]; d.AlertType != "" && !ok {
		v.errorf(p.key("alert_type"), "no chain has the alert type %q", d.AlertType)
	}
}

func (d *Defaults) settings() settings {
	return settings{
		Provider: d.LLMProvider, Backend: d.LLMBackend, Fallbacks: d.FallbackProviders,
		MaxIterations: d.MaxIterations, Timeouts: d.Timeouts, Compression: d.Compression, Shell: d.Shell.settings(),
	}
}
