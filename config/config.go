package config

import (
	"slices"

	"github.com/inquest-dev/inquest/internal/strict"
)

// Config is a configuration: the user's entries, and the built-in entries that the user has not replaced. It is
// read-only once loaded.
type Config struct {
	// Defaults are the settings that chains and agents inherit.
	Defaults Defaults `yaml:"defaults"`
	Entries  `yaml:",inline"`
	// System holds settings of the processes themselves, which are read only when a process starts.
	System System `yaml:"system"`
	// Queue holds the settings that apply although Temporal is the queue.
	Queue Queue `yaml:"queue"`

	// FallbackLists are lists of fallback providers, by name.
	FallbackLists map[string][]Fallback `yaml:"fallback_lists"`

	_ struct{} `later:"label_maps"`
	_ struct{} `foreign:"mcpServers servers" instead:"it is of an MCP client's file: starter init DIR --from FILE writes mcp_servers from it"`
	_ struct{} `removed:"iteration_strategy" instead:"use type and llm_backend"`

	src     Source
	env     Env // including the .env file
	report  *strict.Report
	chainOf map[string]string // by alert type
	choose  Choose            // nil leaves selectors unresolved in plans
}

// Source says where a configuration comes from.
type Source struct {
	// Dir is a file, or a directory whose *.yaml files are all read. An empty string means only the built-in
	// configuration.
	Dir string
	// Entries are those that a program defines in Go.
	Entries Entries
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
func Check(src Source) (*Config, Findings) {
	r := strict.NewReport()
	return check(src, src.files(r), r)
}

func (s Source) files(r *strict.Report) []strict.File { return strict.ReadFiles(s.Dir, dotenvName, r) }

// check decodes the user's files, adds the built-in entries, and validates the result.
func check(src Source, files []strict.File, r *strict.Report) (*Config, Findings) {
	env := withDotenv(src.Env, files, r)
	c := read(files, env, r)
	c.define(src.Entries)
	c.adopt(read(builtInFiles(), env, strict.NewReport()))
	c.src = src
	c.src.SkipCredentials = src.SkipCredentials || c.ToolsAlone(src.TaskQueue)
	c.defineModels()
	c.takeFallbackLists()
	c.validate()
	r.Findings = r.Findings.Capped()
	return c, r.Findings
}

// read returns the configuration in the files, without the built-in entries.
func read(files []strict.File, env Env, r *strict.Report) *Config {
	c := &Config{env: env, report: r}
	strict.Decode(c, slices.DeleteFunc(slices.Clone(files), isDotenv), strict.Variables{Lookup: env, Kept: sessionID}, r)
	return c
}

// sessionID is known only when a tool is called, so its template is kept.
const sessionID = "SESSION_ID"

// expand replaces {{.NAME}} with the values of variables. It also returns the names of those that are not set.
func (c *Config) expand(text string) (expanded string, missing []string, err error) {
	return strict.Variables{Lookup: c.env, Kept: sessionID}.Expand(text)
}

// Warnings returns the findings that Load accepted.
func (c *Config) Warnings() Findings { return c.report.Findings }

// LookupEnv looks up a variable in the environment with which the configuration was loaded, including its .env file.
// Use it to read keys at the time of use.
func (c *Config) LookupEnv(name string) (string, bool) { return c.env(name) }

// Current returns the configuration itself, so that a fixed Config can replace a Live.
func (c *Config) Current() *Config { return c }
