package config

import (
	"cmp"

	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/strict"
)

// Summarization lets a model shorten results of a server's tools that are too large for a conversation. The full result
// stays in the store (spec: tools, "Results").
type Summarization struct {
	// Enabled turns summaries on.
	Enabled *bool `yaml:"enabled" default:"true"`
	// SizeThresholdTokens is the size up to which results are not shortened.
	SizeThresholdTokens *int `yaml:"size_threshold_tokens" min:"100" unit:"tokens" default:"5000"`
	// SummaryMaxTokenLimit is the maximum size of a summary.
	SummaryMaxTokenLimit *int `yaml:"summary_max_token_limit" min:"50" unit:"tokens" default:"1000"`
	// LLMProvider is the provider that summarises.
	LLMProvider string `yaml:"llm_provider" default:"that of defaults.summarization, else the agent's"`
	// LLMBackend selects the way to reach that provider.
	LLMBackend string `yaml:"llm_backend" enum:"backend" default:"the agent's, where the provider has it"`
}

// Summarizer is the model that summarises, unless a server names another.
type Summarizer struct {
	// LLMProvider is the provider that summarises.
	LLMProvider string `yaml:"llm_provider" default:"the agent's"`
	// LLMBackend selects the way to reach that provider.
	LLMBackend string `yaml:"llm_backend" enum:"backend" default:"the agent's, where the provider has it"`
}

func (s Summarization) validate(p path, v *validator) {
	v.provider(p.Key("llm_provider"), s.LLMProvider)
	all, _ := v.summarization(s)
	v.summarizer(p, all.LLMProvider, s.LLMBackend)
}

func (s Summarizer) validate(p path, v *validator) {
	v.provider(p.Key("llm_provider"), s.LLMProvider)
	v.summarizer(p, s.LLMProvider, s.LLMBackend)
}

func (v *validator) summarizer(p path, provider, backend string) {
	if backend != "" && provider == "" {
		v.Errorf(p.Key("llm_backend"), "a backend is only for an llm_provider, and there is none")
	}
	v.reachable(p.Key("llm_backend"), provider, backend)
}

// summarization returns a server's settings after inheritance. The levels in the map are 0 for built-in values, 1
// for defaults.summarization, and 2 for the server itself.
func (c *Config) summarization(own Summarization) (Summarization, map[string]int) {
	builtIn := Summarization{Enabled: new(true), SizeThresholdTokens: new(5000), SummaryMaxTokenLimit: new(1000)}
	defaults := Summarization{LLMProvider: c.Defaults.Summarization.LLMProvider, LLMBackend: c.Defaults.Summarization.LLMBackend}
	if own.LLMProvider != "" {
		defaults.LLMBackend = "" // it belongs to the other provider
	}
	return strict.Inherit(builtIn, defaults, own)
}

// summaryProvider returns the provider that summarises a server's results. An empty string means the agent's, or none.
func (c *Config) summaryProvider(server string) string {
	s, ok := c.MCPServers[server]
	if !ok {
		return ""
	}
	all, _ := c.summarization(s.Summarization)
	if !value(all.Enabled) {
		return ""
	}
	return all.LLMProvider
}

// summarize returns the summarization in an agent's plan, or nil if it is off. If a request names a provider, that also
// summarises.
func (r *resolver) summarize(w work, server string) *plan.Summarization {
	s, _ := r.summarization(r.MCPServers[server].Summarization)
	if !value(s.Enabled) {
		return nil
	}
	out := &plan.Summarization{Threshold: value(s.SizeThresholdTokens), MaxTokens: value(s.SummaryMaxTokenLimit)}
	if entry := r.LLMProviders[s.LLMProvider]; entry != nil && r.override == nil {
		o := r.chosen(w, override{s.LLMProvider, entry})
		backend := o.entry.reachableBy(cmp.Or(canonical(s.LLMBackend), w.Backend))
		provider := r.checked(o.entry.plan(o.name, backend, NativeTools{}))
		out.Provider = &provider
	}
	return out
}

// summarization returns a server's settings after inheritance, for display.
func (v *view) summarization(p path, own Summarization) Summarization {
	all, from := v.source.summarization(own)
	defaults := path{}.Key("defaults").Key("summarization")
	for key, level := range from {
		v.from[p.Key(key).Text] = [...]origin{{Rule: "summarization"}, {At: defaults.Key(key)}, {At: p.Key(key)}}[level]
	}
	return all
}
