package config

import (
	"maps"
	"slices"
)

// uses are the entries ("agents.LogAgent") that a chain needs, itself included.
func (c *Config) uses(name string) map[string]bool {
	used := map[string]bool{entryPath("agent_chains", name).text: true}
	chain := c.AgentChains[name]
	for _, stage := range chain.Stages {
		all := c.agentWork(chain, stage)
		if stage.joined() {
			all = append(all, c.synthesisWork(chain, stage))
		}
		for _, w := range all {
			used[entryPath("agents", w.definition).text] = true
			for _, server := range w.settings.Servers {
				used[entryPath("mcp_servers", server).text] = true
			}
			for _, provider := range w.settings.providers() {
				used[entryPath("llm_providers", provider).text] = true
			}
		}
	}
	return used
}

// providers are the names of the providers to try, in order, each once.
func (s settings) providers() []string {
	names := []string{s.Provider}
	for _, f := range s.Fallbacks {
		if !slices.Contains(names, f.Provider) {
			names = append(names, f.Provider)
		}
	}
	return names
}

// users tells, for every entry that is used, by which chains, sorted.
func (c *Config) users() map[string][]string {
	users := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(c.AgentChains)) {
		for entry := range c.uses(name) {
			users[entry] = append(users[entry], name)
		}
	}
	return users
}
