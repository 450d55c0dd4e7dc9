package config

import (
	"maps"
	"slices"
)

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

// takeFallbackLists puts the lists into the places that name them: from there on, all is as if they stood there.
func (c *Config) takeFallbackLists() {
	defaults := path{}.Key("defaults")
	c.takeFallbackList(defaults, &c.Defaults.FallbackList, &c.Defaults.FallbackProviders)
	for _, name := range slices.Sorted(maps.Keys(c.AgentChains)) {
		chain := c.AgentChains[name]
		c.takeFallbackList(entryPath("agent_chains", name), &chain.FallbackList, &chain.FallbackProviders)
		for i, stage := range chain.Stages {
			at := stagePath(name, i)
			c.takeFallbackList(at, &stage.FallbackList, &stage.FallbackProviders)
			for n, a := range stage.Agents {
				c.takeFallbackList(at.Key("agents").Index(n), &a.FallbackList, &a.FallbackProviders)
			}
		}
	}
}

func (c *Config) takeFallbackList(at path, name *string, providers *[]Fallback) {
	if *name == "" {
		return
	}
	p, own := at.Key("fallback_list"), at.Key("fallback_providers")
	named, known := c.FallbackLists[*name]
	switch {
	case *providers != nil:
		c.report.Fail(p, "there are fallback_providers as well: only one of them may be there")
	case !known:
		c.report.Fail(p, "fallback_lists has no %q; there are: %s", *name, list(c.FallbackLists))
	default:
		c.report.Alias(own, p)
		c.report.Silence(own) // the list says what is wrong with it
		*name, *providers = "", append([]Fallback{}, named...)
	}
}
