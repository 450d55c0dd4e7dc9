package config

import (
	"maps"
	"slices"

	"github.com/inquest-dev/inquest/internal/strict"
)

// Entries are what a program defines in Go, beside the files of a configuration
// or in place of them: the same definitions that YAML gives, and checked like
// them. Texts are taken as they are; only those that may be secret (a server's
// env, bearer_token and custom_headers) may have variables in them.
type Entries struct {
	Agents       map[string]*Agent    `yaml:"agents"`
	AgentChains  map[string]*Chain    `yaml:"agent_chains"`
	MCPServers   map[string]*Server   `yaml:"mcp_servers"`
	LLMProviders map[string]*Provider `yaml:"llm_providers"`
	Prompts      map[string]string    `yaml:"prompts"`
}

// InGo is the file of findings about entries that a program defines.
const InGo = "Go"

// Clone is a copy that shares nothing with the entries.
func (e Entries) Clone() Entries {
	return strict.Clone(e, path{}, nil)
}

// define adds a program's entries to those of the files.
func (c *Config) define(e Entries) {
	c.Agents = define(c.report, "agents", c.Agents, e.Agents)
	c.AgentChains = define(c.report, "agent_chains", c.AgentChains, e.AgentChains)
	c.MCPServers = define(c.report, "mcp_servers", c.MCPServers, e.MCPServers)
	c.LLMProviders = define(c.report, "llm_providers", c.LLMProviders, e.LLMProviders)
	c.Prompts = define(c.report, "prompts", c.Prompts, e.Prompts)
}

func define[T any](r *strict.Report, section string, all, own map[string]T) map[string]T {
	for _, name := range slices.Sorted(maps.Keys(own)) {
		p := entryPath(section, name)
		if r.Written(p) {
			r.Errorf(p, "is defined in Go as well")
			continue
		}
		r.Note(p, InGo, 0)
		if all == nil {
			all = map[string]T{}
		}
		all[name] = strict.Clone(own[name], p, r)
	}
	return all
}
