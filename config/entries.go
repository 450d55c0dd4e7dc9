package config

import (
	"embed"
	"maps"
	"slices"

	"github.com/inquest-dev/inquest/internal/strict"
)

// Entries are the named parts of a configuration. A program may define them in Go, in addition to YAML files or instead
// of them: the definitions and checks are the same. Text is used literally, except that values that may be secret (a
// server's env, bearer_token and custom_headers) may use variables.
type Entries struct {
	// Agents are the definitions of agents, by name.
	Agents map[string]*Agent `yaml:"agents"`
	// AgentChains are the chains, by name.
	AgentChains map[string]*Chain `yaml:"agent_chains"`
	// MCPServers are the servers whose tools agents use, by name.
	MCPServers map[string]*Server `yaml:"mcp_servers"`
	// LLMProviders are models and how to reach them, by name.
	LLMProviders map[string]*Provider `yaml:"llm_providers"`
	// Prompts are texts that stages may use instead of their agents' own prompts, by name. They may contain only these
	// variables, with the values they have when the agent begins: {{.Agent}}, {{.Description}}, {{.Chain}}, {{.Stage}},
	// {{.AlertType}}, {{.Iteration}}, {{.Request}}, {{.Runbook}}, {{.RequestedBy}}, {{.Tenant}}, {{.Session}},
	// {{.Metadata.KEY}} (from the request), and {{.Outputs.KEY}} (the output of an earlier stage, by its output key).
	Prompts map[string]string `yaml:"prompts,template"`
}

// InGo is the file name in findings about entries that a program defines.
const InGo = "Go"

// Clone returns a deep copy of the entries.
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

// builtInFiles returns the files that every configuration starts from.
func builtInFiles() []strict.File {
	entries, err := builtIn.ReadDir("builtin")
	if err != nil {
		return nil // cannot happen: the directory is embedded
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

// adopt adds the built-in configuration to the user's. A user's entry replaces the whole built-in entry of the same
// name; defaults are inherited key by key.
func (c *Config) adopt(base *Config) {
	c.Defaults, _ = strict.Inherit(base.Defaults, c.Defaults)
	c.Entries, _ = strict.Inherit(base.Entries, c.Entries)
	c.report.Adopt(base.report, "defaults")
}
