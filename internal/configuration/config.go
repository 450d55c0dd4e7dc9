// Package configuration reads, checks and resolves the configuration. Files and a program's own definitions become one
// Config, which reports all its problems at once and makes the plans of investigations.
package configuration

import (
	"bytes"
	"embed"
	"maps"
	"slices"
	"sync"

	"github.com/joho/godotenv"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/knowledge/skill"
	"github.com/inquest-dev/inquest/internal/strict"
	"github.com/inquest-dev/inquest/internal/virtual"
)

// Config is a loaded configuration: the user's entries, and the built-in entries that the user has not replaced. It is
// read-only.
type Config struct{ content }

// content is a decoded configuration, with the records that were made while it was read. Its methods merge the settings that a
// chain, a stage, an agent or a server inherits.
type content struct {
	config.Config
	src     Source
	env     Env // including the .env file
	report  *strict.Report
	skills  map[string]skill.Skill
	chainOf map[string]string // by alert type
	choose  Choose            // nil leaves selectors unresolved in plans
	// models are the models of agents by default: default_model, or the role's model. See defineModels.
	models map[string]string
	// descriptors are the names of the providers that defineModels has added.
	descriptors map[string]bool
	// made are the agents that were made at run time, by name.
	made map[string]virtual.Agent
	// runbookFiles are the files that runbooks name, by path.
	runbookFiles map[string]runbookFile
	// usedBy keeps what uses returned for each chain in a plan.
	usedBy *sync.Map
}

// Source says where a configuration comes from.
type Source struct {
	// Dir is a file, or a directory whose *.yaml files are all read. An empty string means only the built-in
	// configuration.
	Dir string
	// Entries are those that a program defines in Go.
	Entries config.Entries
	// Tools are the names of the tools that a program has registered, which tool_ids may name.
	Tools []string
	// Hooks and Mocks are the names of the functions that a program has registered.
	Hooks, Mocks []string
	// PromptFuncs are the names of the functions that write prompts, in addition to Prompts.
	PromptFuncs []string
	// Models are the providers that a program reaches by its own clients; "*" means all.
	Models []string
	// Selectors are the names of the functions that choose models.
	Selectors []string
	// Env is the environment. A .env file in Dir adds to it and never overrides it.
	Env func(string) (string, bool)
	// SkipCredentials does not require the providers' keys, nor the functions that workers' programs register in Go.
	// Clients need neither.
	SkipCredentials bool
	// Partial accepts the names of entries that are not in the source, with a warning. It is for an entry that is checked
	// before the rest of its configuration is known.
	Partial bool
	// Validating refuses problems that workers only warn of so that files of earlier versions keep working.
	Validating bool
	// TaskQueue is the queue of the worker that loads the configuration. Only the keys and variables of what that
	// worker runs are required. An empty string means everything.
	TaskQueue string
}

// Load reads a configuration. If anything in it is refused, the error is Findings and lists everything that was found.
func Load(src Source) (*Config, error) {
	c, findings := Check(src)
	if findings.Failed() {
		return nil, findings
	}
	return c, nil
}

// Check reads a configuration and returns all findings, warnings included. The configuration is never nil, but lacks
// the parts that were refused.
func Check(src Source) (*Config, config.Findings) {
	r := strict.NewReport()
	return check(src, src.files(r), r)
}

func (s Source) files(r *strict.Report) []strict.File { return strict.ReadFiles(s.Dir, dotenvName, r) }

// check decodes the user's files, adds the built-in entries, and validates the result.
func check(src Source, files []strict.File, r *strict.Report) (*Config, config.Findings) {
	env := withDotenv(src.Env, files, r)
	c := read(files, env, r)
	c.skills = readSkills(src.Dir, r)
	load := loader{c}
	load.define(src.Entries)
	load.adopt(read(builtInFiles(), env, strict.NewReport()))
	c.src = src
	c.src.SkipCredentials = src.SkipCredentials || c.ToolsAlone(src.TaskQueue)
	load.defineModels()
	load.takeFallbackLists()
	load.readRunbooks()
	c.validate()
	r.Findings = strict.Capped(r.Findings)
	return c, r.Findings
}

// loader completes a configuration before it is validated.
type loader struct{ *Config }

// read returns the configuration in the files, without the built-in entries.
func read(files []strict.File, env Env, r *strict.Report) *Config {
	c := &Config{content{
		env: env, report: r, models: map[string]string{}, descriptors: map[string]bool{}, made: map[string]virtual.Agent{},
		usedBy: &sync.Map{},
	}}
	strict.Decode(&c.content.Config, slices.DeleteFunc(slices.Clone(files), isDotenv), strict.Variables{Lookup: env, Kept: sessionID}, r)
	return c
}

// sessionID is known only when a tool is called, so its template is kept.
const sessionID = "SESSION_ID"

// expand replaces {{.NAME}} with the values of variables. It also returns the names of those that are not set.
func (c *content) expand(text string) (expanded string, missing []string, err error) {
	return strict.Variables{Lookup: c.env, Kept: sessionID}.Expand(text)
}

// Warnings returns the findings that Load accepted.
func (c *Config) Warnings() config.Findings { return c.report.Findings }

// LookupEnv looks up a variable in the environment with which the configuration was loaded, including its .env file.
// Use it to read keys at the time of use.
func (c *Config) LookupEnv(name string) (string, bool) { return c.env(name) }

// Current returns the configuration itself, so that a fixed Config can replace a Live.
func (c *Config) Current() *Config { return c }

// InGo is the file name in findings about entries that a program defines.
const InGo = "Go"

// define adds a program's entries to those of the files.
func (c loader) define(e config.Entries) {
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
			r.Errorf(p, "is also defined in Go")
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
func (c loader) adopt(base *Config) {
	c.Defaults, _ = strict.Inherit(base.Defaults, c.Defaults)
	c.Entries, _ = strict.Inherit(base.Entries, c.Entries)
	c.report.Adopt(base.report, "defaults")
}

const dotenvName = ".env"

func isDotenv(f strict.File) bool { return f.Name == dotenvName }

// withDotenv adds the variables of a .env file, if there is one, to the environment. Variables of the environment take
// precedence. A nil environment counts as empty.
func withDotenv(env Env, files []strict.File, r *strict.Report) Env {
	if env == nil {
		env = func(string) (string, bool) { return "", false }
	}
	added := map[string]string{}
	for _, f := range files {
		if isDotenv(f) && f.Usable(r) {
			var err error
			if added, err = godotenv.Parse(bytes.NewReader(f.Data)); err != nil { // its message quotes the file, which holds keys
				r.Unreadable(f.Name, 0, "not a list of NAME=value lines")
			}
		}
	}
	return func(name string) (string, bool) {
		if value, ok := env(name); ok {
			return value, true
		}
		value, ok := added[name]
		return value, ok
	}
}

// Dotenv returns the text of a .env file with these variables.
func Dotenv(variables map[string]string) (string, error) {
	text, err := godotenv.Marshal(variables)
	return text + "\n", err
}

// The origins of values, and the environment.
type (
	From  = strict.From
	Shown = strict.Shown
	Env   = strict.Env

	path   = strict.Path
	origin = strict.Origin
)

// entryPath returns the path of a named entry of a section.
func entryPath(section, name string) path { return path{}.Key(section).Key(name) }
