package config

import (
	"embed"
	"maps"
	"slices"

	"github.com/inquest-dev/inquest/internal/strict"
)

// Entries are what has a name. A program may define them in Go, beside the files of a
// configuration or in place of them: the same definitions that YAML gives, and checked
// like them. Texts are taken as they are; only those that may be secret (a server's
// env, bearer_token and custom_headers) may have variables in them.
type Entries struct {
	// Agents are the definitions of agents, by name.
	Agents map[string]*Agent `yaml:"agents"`
	// AgentChains are the chains, by name.
	AgentChains map[string]*Chain `yaml:"agent_chains"`
	// MCPServers are the servers whose tools agents use, by name.
	MCPServers map[string]*Server `yaml:"mcp_servers"`
	// LLMProviders are models and how they are reached, by name.
	LLMProviders map[string]*Provider `yaml:"llm_providers"`
	// Prompts are texts that stages may put in place of their agents' own prompts, by name. {{.Agent}}, {{.Description}},
	// {{.Chain}}, {{.Stage}}, {{.AlertType}}, {{.Iteration}}, {{.Request}}, {{.Runbook}}, {{.RequestedBy}}, {{.Tenant}}, {{.Session}},
	// {{.Metadata.KEY}}, which is of the request, and {{.Outputs.KEY}}, what an earlier stage hands on under that output key, are
	// what they say when the agent begins; no others may be there.
	Prompts map[string]string `yaml:"prompts,template"`
}

// InGo is the file of findings about entries that a program defines.
const InGo = "Go"

// Clone is a copy that shares nothing with the entries.
func (e Entries) Clone() Entries { return strict.Clone(e, path{}, nil) }

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

//go:embed builtin/*.yaml
var builtIn embed.FS

// builtInFiles are the files that every configuration starts from.
func builtInFiles() []strict.File {
	entries, err := builtIn.ReadDir("builtin")
	if err != nil {
		return nil // an embedded directory that compiled is there
	}
	var files []strict.File
	for _, e := range entries {
		name := "builtin/" + e.Name()
		if data, err := builtIn.ReadFile(name); err == nil {
			files = append(files, strict.File{Name: name, Data: data, BuiltIn: true})
		}
	}
	return files
}

// adopt adds what is built in to what the user wrote: an entry of the user's
// replaces one of the same name whole; defaults are inherited one by one.
func (c *Config) adopt(base *Config) {
	c.Defaults, _ = strict.Inherit(base.Defaults, c.Defaults)
	c.Entries, _ = strict.Inherit(base.Entries, c.Entries)
	c.report.Adopt(base.report, "defaults")
}
