package config

import (
	"slices"

	"github.com/inquest-dev/inquest/internal/strict"
)

// Config is a configuration: the user's entries, and the built-in ones that
// the user has not replaced. It is read-only once loaded.
type Config struct {
	// Defaults are what chains and agents inherit.
	Defaults Defaults `yaml:"defaults"`
	Entries  `yaml:",inline"`
	// System is what the processes themselves need; read at their start alone.
	System System `yaml:"system"`
	// Queue is what is left of a queue of our own: Temporal is the queue.
	Queue Queue `yaml:"queue"`

	// FallbackLists are providers to fall back to, by the name of the list.
	FallbackLists map[string][]Fallback `yaml:"fallback_lists"`

	_ struct{} `later:"label_maps"`
	_ struct{} `foreign:"mcpServers servers" instead:"it is of an MCP client's file: starter init DIR --from FILE writes mcp_servers from it"`
	_ struct{} `removed:"iteration_strategy" instead:"use type and llm_backend"`

	src     Source
	env     Env // with the .env file's
	report  *strict.Report
	chainOf map[string]string // by alert type
	choose  Choose            // nil = plans name selectors as they are
}

// Source says where a configuration comes from.
type Source struct {
	// Dir is a directory, every *.yaml of which is read, or one file; "" = built-in only.
	Dir string
	// Entries are those that a program defines in Go.
	Entries Entries
	// Tools are the names of the tools that a program has registered: what tool_ids may name.
	Tools []string
	// Hooks and Mocks are the names of those that a program has registered.
	Hooks, Mocks []string
	// PromptFuncs are the names of the functions that write prompts, beside Prompts.
	PromptFuncs []string
	// Models are the providers that a program reaches by clients of its own; "*" = all.
	Models []string
	// Selectors are the names of the functions that choose models.
	Selectors []string
	// Env is the environment. A .env file in Dir adds to it and never overrides it.
	Env func(string) (string, bool)
	// SkipCredentials: do not ask for the providers' keys, nor for what workers'
	// programs register in Go. Clients need none.
	SkipCredentials bool
	// Validating refuses what workers only warn of, so that files of earlier versions keep working.
	Validating bool
	// TaskQueue is the queue of the worker that the configuration is for. It is
	// asked for the keys and variables of what it runs, and for no others. "" = all.
	TaskQueue string
}

// Load reads a configuration. If anything in it is refused, the error is
// Findings, with everything that was found.
func Load(src Source) (*Config, error) {
	c, findings := Check(src)
	if findings.Failed() {
		return nil, findings
	}
	return c, nil
}

// Check reads a configuration and says everything there is to say about it,
// warnings too. The configuration is never nil, but what was refused in it is missing.
func Check(src Source) (*Config, Findings) {
	r := strict.NewReport()
	return check(src, src.files(r), r)
}

func (s Source) files(r *strict.Report) []strict.File { return strict.ReadFiles(s.Dir, dotenvName, r) }

// check decodes the user's files, adds what is built in, and validates the whole.
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

// read is what files say, without what is built in.
func read(files []strict.File, env Env, r *strict.Report) *Config {
	c := &Config{env: env, report: r}
	strict.Decode(c, slices.DeleteFunc(slices.Clone(files), isDotenv), strict.Variables{Lookup: env, Kept: sessionID}, r)
	return c
}

// sessionID is known only when a tool is called, so its template is left.
const sessionID = "SESSION_ID"

// expand puts variables in the place of {{.NAME}}, and names those that are not set.
func (c *Config) expand(text string) (expanded string, missing []string, err error) {
	return strict.Variables{Lookup: c.env, Kept: sessionID}.Expand(text)
}

// Warnings is what Load accepted but would rather have seen otherwise.
func (c *Config) Warnings() Findings { return c.report.Findings }

// LookupEnv looks a variable up in the environment that the configuration was
// loaded with, its .env file included: for keys, at the moment of their use.
func (c *Config) LookupEnv(name string) (string, bool) { return c.env(name) }

// Current is the configuration itself: one that does not change stands where a Live may.
func (c *Config) Current() *Config { return c }
