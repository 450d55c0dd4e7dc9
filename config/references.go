package config

import (
	"maps"
	"slices"
	"strings"
)

// uses returns the entries ("agents.LogAgent") that a chain needs, including the chain itself.
func (c *Config) uses(name string) map[string]bool {
	used := map[string]bool{entryPath("agent_chains", name).Text: true}
	for _, server := range c.chainSettings(name).Requests.MCPServers {
		used[entryPath("mcp_servers", server).Text] = true
	}
	for _, w := range c.chainWork(name) {
		used[entryPath("agents", w.definition).Text] = true
		for _, server := range w.Servers {
			used[entryPath("mcp_servers", server).Text] = true
			if provider := c.summaryProvider(server); provider != "" && w.kind.Pattern.Model() {
				used[entryPath("llm_providers", provider).Text] = true
			}
		}
		if !w.kind.Pattern.Model() {
			continue
		}
		if w.PromptKey != "" {
			used[entryPath("prompts", w.PromptKey).Text] = true
		}
		for _, choice := range c.choices(w.settings) {
			used[entryPath("llm_providers", choice.provider).Text] = true
			entry, _, _ := strings.Cut(choice.provider, ":") // from entry:model
			used[entryPath("llm_providers", entry).Text] = true
		}
	}
	return used
}

// users maps every entry in use to the chains that use it, sorted.
func (c *Config) users() map[string][]string {
	users := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(c.AgentChains)) {
		for entry := range c.uses(name) {
			users[entry] = append(users[entry], name)
		}
	}
	return users
}
