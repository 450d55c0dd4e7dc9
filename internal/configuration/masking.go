package configuration

import (
	"cmp"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/strict"
	"github.com/inquest-dev/inquest/internal/trust/mask"
)

func validateCustomPattern(c config.CustomPattern, p path, v *validator) {
	if c.Pattern == "" {
		v.Errorf(p.Key("pattern"), "a pattern is required")
	} else if err := mask.Check(plannedCustomPattern(c)); err != nil {
		v.Errorf(p.Key("pattern"), "cannot be used: %v", err)
	}
}

// masking returns a server's settings after inheritance. The levels in the map are 0 for built-in values, 1 for
// defaults.alert_masking, and 2 for the server itself.
func (c *content) masking(own config.DataMasking) (config.DataMasking, map[string]int) {
	builtIn, defaults := config.DataMasking{Enabled: new(true)}, config.DataMasking{}
	if own.PatternGroups == nil && own.Patterns == nil {
		defaults.PatternGroups = []string{c.Defaults.AlertMasking.PatternGroup}
	}
	return strict.Inherit(builtIn, defaults, own)
}

// resultMasking returns the masking of a server's results in a plan.
func (c *content) resultMasking(server string) *plan.Masking {
	own := c.MCPServers[server].DataMasking
	if own == nil {
		return plannedAlertMasking(c.Defaults.AlertMasking)
	}
	all, _ := c.masking(*own)
	return plannedDataMasking(all)
}

// AlertMasking returns the masking of requests, or nil for none. Apply it to a request's data before storing or sending
// them anywhere.
func (c *Config) AlertMasking() *plan.Masking { return plannedAlertMasking(c.Defaults.AlertMasking) }

// plannedAlertMasking returns nil if nothing is masked.
func plannedAlertMasking(a config.AlertMasking) *plan.Masking {
	return plannedDataMasking(config.DataMasking{Enabled: a.Enabled, PatternGroups: []string{a.PatternGroup}})
}

func plannedDataMasking(d config.DataMasking) *plan.Masking {
	if !value(d.Enabled) {
		return nil
	}
	out := &plan.Masking{}
	out.Patterns, _ = mask.Expand(d.PatternGroups, d.Patterns) // the names have been validated
	for _, c := range d.CustomPatterns {
		out.Custom = append(out.Custom, plannedCustomPattern(c))
	}
	return out
}

func plannedCustomPattern(c config.CustomPattern) plan.MaskPattern {
	return plan.MaskPattern{Pattern: c.Pattern, Replacement: cmp.Or(c.Replacement, mask.Replacement), Description: c.Description}
}

// masking returns a server's settings after inheritance, for display. It returns nil if the server has none.
func (v *view) masking(p path, own *config.DataMasking) *config.DataMasking {
	if own == nil {
		return nil
	}
	all, from := v.source.masking(*own)
	group := path{}.Key("defaults").Key("alert_masking").Key("pattern_group")
	// any order: paths differ
	for key, level := range from {
		v.from[p.Key(key).Text] = [...]origin{{Rule: "data_masking"}, {At: group}, {At: p.Key(key)}}[level]
	}
	return &all
}

func validateSummarization(s config.Summarization, p path, v *validator) {
	v.provider(p.Key("llm_provider"), s.LLMProvider)
	all, _ := v.summarization(s)
	v.summarizer(p, all.LLMProvider, s.LLMBackend)
}

func validateSummarizer(s config.Summarizer, p path, v *validator) {
	v.provider(p.Key("llm_provider"), s.LLMProvider)
	v.summarizer(p, s.LLMProvider, s.LLMBackend)
}

func (v *validator) summarizer(p path, provider, backend string) {
	if backend != "" && provider == "" {
		v.Errorf(p.Key("llm_backend"), "llm_backend requires llm_provider")
	}
	v.reachable(p.Key("llm_backend"), provider, backend)
}

// summarization returns a server's settings after inheritance. The levels in the map are 0 for built-in values, 1
// for defaults.summarization, and 2 for the server itself.
func (c *content) summarization(own config.Summarization) (config.Summarization, map[string]int) {
	builtIn := config.Summarization{Enabled: new(true), SizeThresholdTokens: new(5000), SummaryMaxTokenLimit: new(1000)}
	defaults := config.Summarization{LLMProvider: c.Defaults.Summarization.LLMProvider, LLMBackend: c.Defaults.Summarization.LLMBackend}
	if own.LLMProvider != "" {
		defaults.LLMBackend = "" // it belongs to the other provider
	}
	return strict.Inherit(builtIn, defaults, own)
}

// summaryProvider returns the provider that summarises a server's results. An empty string means the agent's, or none.
func (c *content) summaryProvider(server string) string {
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
		backend := reachableBy(o.entry, cmp.Or(canonical(s.LLMBackend), w.Backend))
		provider := r.checked(plannedProvider(o.entry, o.name, backend, config.NativeTools{}))
		out.Provider = &provider
	}
	return out
}

// summarization returns a server's settings after inheritance, for display.
func (v *view) summarization(p path, own config.Summarization) config.Summarization {
	all, from := v.source.summarization(own)
	defaults := path{}.Key("defaults").Key("summarization")
	// any order: paths differ
	for key, level := range from {
		v.from[p.Key(key).Text] = [...]origin{{Rule: "summarization"}, {At: defaults.Key(key)}, {At: p.Key(key)}}[level]
	}
	return all
}
