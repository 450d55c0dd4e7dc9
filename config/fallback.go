package config

import (
	"maps"
	"slices"
)

// Fallback is a provider to try when the providers before it have failed.
type Fallback struct {
	// Provider is the name of the provider; required.
	Provider string `yaml:"provider"`
	// Backend selects the way to reach the provider.
	Backend string `yaml:"backend" enum:"backend" default:"the agent's, where the provider has it"`
}

func (f Fallback) validate(p path, v *validator) {
	if f.Provider == "" {
		v.Errorf(p.Key("provider"), "a provider is required")
	}
	v.provider(p.Key("provider"), f.Provider)
	v.reachable(p.Key("backend"), f.Provider, f.Backend)
}

// takeFallbackLists copies each list to the places that name it, as if it had been written there.
func (c *Config) takeFallbackLists() {
	d, at := &c.Defaults, path{}.Key("defaults")
	c.takeFallbackList(at, "fallback_list", at, &d.FallbackList, &d.FallbackProviders)
	c.takeClosingLists(at, &d.ExecutiveSummaryFallbackList, &d.ExecutiveSummary, &d.Scoring)
	for _, name := range slices.Sorted(maps.Keys(c.AgentChains)) {
		chain, at := c.AgentChains[name], entryPath("agent_chains", name)
		c.takeFallbackList(at, "fallback_list", at, &chain.FallbackList, &chain.FallbackProviders)
		c.takeClosingLists(at, &chain.ExecutiveSummaryFallbackList, &chain.ExecutiveSummary, &chain.Scoring)
		for i, stage := range chain.Stages {
			at := stagePath(name, i)
			c.takeFallbackList(at, "fallback_list", at, &stage.FallbackList, &stage.FallbackProviders)
			for n, a := range stage.Agents {
				at := at.Key("agents").Index(n)
				c.takeFallbackList(at, "fallback_list", at, &a.FallbackList, &a.FallbackProviders)
			}
		}
	}
}

// takeClosingLists does so for the closing agents. The summary's list has two keys.
func (c *Config) takeClosingLists(at path, summaryList *string, summary, score *Closing) {
	ofSummary, ofScore := at.Key(summing.key), at.Key(scoring.key)
	c.takeFallbackList(ofSummary, "fallback_list", ofSummary, &summary.FallbackList, &summary.FallbackProviders)
	c.takeFallbackList(at, "executive_summary_fallback_list", ofSummary, summaryList, &summary.FallbackProviders)
	c.takeFallbackList(ofScore, "fallback_list", ofScore, &score.FallbackList, &score.FallbackProviders)
}

// takeFallbackList copies the list that is named by a key of one place into the providers of another.
func (c *Config) takeFallbackList(at path, key string, into path, name *string, providers *[]Fallback) {
	if *name == "" {
		return
	}
	p, own := at.Key(key), into.Key("fallback_providers")
	named, known := c.FallbackLists[*name]
	switch {
	case *providers != nil:
		c.report.Fail(p, "there are fallback_providers as well: only one of them may be there")
	case !known:
		c.report.Fail(p, "fallback_lists has no %q; there are: %s", *name, list(c.FallbackLists))
	default:
		c.report.Alias(own, p)
		c.report.Silence(own) // problems are reported at the list itself
		*name, *providers = "", append([]Fallback{}, named...)
	}
}
