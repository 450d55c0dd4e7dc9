package inquest

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/strict"
)

// Builder defines an agent step by step. Its methods only collect settings; Build checks them and reports every
// problem.
type Builder struct {
	agent      Agent
	providers  map[string]*Provider
	provider   string // the first of them
	problems   []error
	checkpoint CheckpointType
	path       string
}

// NewBuilder starts the definition of an agent. The defaults are gpt-4o-mini at a temperature of 0.7, replies of at most
// 4096 tokens, 10 iterations, a conversation of at most 8000 tokens, all tools of the worker's Options, and the worker's store.
func NewBuilder() *Builder {
	return &Builder{agent: Agent{
		Temperature: new(float32(0.7)), MaxTokens: new(4096), MaxIterations: new(10),
		Compression: Compression{
			CompressContext: new(true), MaxContextTokens: new(8000), CompressionThreshold: new(0.8),
			KeepRecentMessages: new(4), Strategy: "window",
		},
	}}
}

// WithModel sets the model: "openai:gpt-4o", the name of an OpenAI model, the name of a provider, or "provider:model".
// Build reports an empty name as an error.
func (b *Builder) WithModel(model string) *Builder {
	if model == "" {
		b.problems = append(b.problems, errors.New(
			`WithModel: the name is empty: pass a model such as "openai:gpt-4o", or remove the call to use the default`))
	}
	b.agent.DefaultModel = model
	return b
}

// WithProvider defines a provider, like an entry of llm_providers in YAML. The agent uses the first provider that is
// defined, unless WithModel or WithConfig choose its model. WithFallbacks can name the others.
func (b *Builder) WithProvider(name string, entry Provider) *Builder {
	if b.providers == nil {
		b.providers, b.provider = map[string]*Provider{}, name
	}
	b.providers[name] = &entry
	return b
}

// WithFallbacks adds the names of providers that are tried, in order, when the agent's provider fails. Without any names,
// the agent has no fallbacks, even if the worker's configuration has some in defaults.
func (b *Builder) WithFallbacks(providers ...string) *Builder {
	all := append([]Fallback{}, b.agent.FallbackProviders...) // never nil, which would mean inherited
	for _, name := range providers {
		all = append(all, Fallback{Provider: name})
	}
	b.agent.FallbackProviders = all
	return b
}

// WithConfig takes over all settings that the entry sets, including those without a method. Fields that are
// not set keep their current values.
func (b *Builder) WithConfig(entry Agent) *Builder {
	b.agent, _ = strict.Inherit(b.agent, entry)
	return b
}

// WithType sets the agent's type by name; docs/reference/config.md lists the types.
func (b *Builder) WithType(name string) *Builder {
	b.agent.Type = name
	return b
}

// WithDescription sets the agent's description.
func (b *Builder) WithDescription(text string) *Builder {
	b.agent.Description = text
	return b
}

// WithSystemPrompt replaces the type's own system prompt. docs/reference/config.md lists the variables, under prompts.
func (b *Builder) WithSystemPrompt(text string) *Builder {
	b.agent.SystemPrompt = text
	return b
}

// WithInstructions sets custom instructions, which are added to the agent's prompt.
func (b *Builder) WithInstructions(text string) *Builder {
	b.agent.CustomInstructions = text
	return b
}

// WithTools adds tools from the worker's Options by name. An agent without any names gets all tools of the Options, as if its
// tool_ids were ["*"] in YAML. An agent of a type without tools, such as llm, gets none. Destructive tools still need approval.
func (b *Builder) WithTools(names ...string) *Builder {
	b.agent.ToolIDs = slices.Concat(b.agent.ToolIDs, names)
	return b
}

// WithMaxIterations limits the number of model calls in one run.
func (b *Builder) WithMaxIterations(n int) *Builder {
	b.agent.MaxIterations = &n
	return b
}

// WithTemperature sets the model's temperature, from 0 to 2.
func (b *Builder) WithTemperature(t float32) *Builder {
	b.agent.Temperature = &t
	return b
}

// WithMaxTokens limits the length of a reply, in tokens.
func (b *Builder) WithMaxTokens(n int) *Builder {
	b.agent.MaxTokens = &n
	return b
}

// WithContextCompression changes how a long conversation is shortened for the model. Fields that are not set keep their
// current values.
func (b *Builder) WithContextCompression(c Compression) *Builder {
	b.agent.Compression, _ = strict.Inherit(b.agent.Compression, c)
	return b
}

// WithSQLiteCheckpoint keeps checkpoints in the SQLite file at path.
func (b *Builder) WithSQLiteCheckpoint(path string) *Builder {
	return b.WithCheckpoint(CheckpointSQLite, path)
}

// WithMemoryCheckpoint keeps checkpoints only until the worker ends. Use it for tests and experiments.
func (b *Builder) WithMemoryCheckpoint() *Builder { return b.WithCheckpoint(CheckpointMemory, "") }

// WithCheckpoint sets where checkpoints are kept. The path is a SQLite file, or a database's postgres:// address.
func (b *Builder) WithCheckpoint(kind CheckpointType, path string) *Builder {
	b.checkpoint, b.path = kind, path
	return b
}

// usesTools reports whether agents of a type, named as in docs/reference/config.md, can call tools.
func usesTools(name string) bool {
	row, known := agent.LookupType(name)
	return known && row.Pattern.Tools()
}

// Build returns the definition, or one error that lists every problem. Later changes to the builder do not change the
// definition. Names of tools, servers and other entries are checked by the worker, because Build does not know its Options.
func (b *Builder) Build() (*Definition, error) {
	own := cloned(config.Entries{Agents: map[string]*Agent{"agent": &b.agent}, LLMProviders: b.providers})
	a := own.Agents["agent"]
	if a.ModelRole == "" {
		a.DefaultModel = cmp.Or(a.DefaultModel, b.provider, "gpt-4o-mini")
	}
	if len(a.ToolIDs) == 0 && usesTools(a.Type) {
		a.ToolIDs = []string{config.AllTools}
	}
	_, findings := configuration.Check(configuration.Source{
		Entries: own, SkipCredentials: true, Partial: true, Env: func(string) (string, bool) { return "", false },
	})
	problems := slices.Clone(b.problems)
	for _, f := range findings {
		if f.File == configuration.InGo && !f.Accepted() {
			problems = append(problems, problemOf(f))
		}
	}
	target, err := b.store()
	if err := errors.Join(append(problems, err)...); err != nil {
		return nil, err
	}
	return &Definition{own: own, store: target}, nil
}

// problemOf returns a finding as an error with the path of the setting, unless the message begins with its name.
func problemOf(f config.Finding) error {
	at := strings.TrimPrefix(strings.TrimPrefix(f.Path, "agents.agent"), ".")
	if key := at[strings.LastIndex(at, ".")+1:]; strings.HasPrefix(f.Message, key) {
		return errors.New(f.Message)
	}
	return errors.New(strings.TrimPrefix(at+": "+f.Message, ": "))
}

// Definition is an agent that a Builder has built. It is immutable.
type Definition struct {
	own   config.Entries
	store string
}

// Agent returns a copy of the agent, for Options.Agents.
func (d *Definition) Agent() *Agent { return cloned(d.own).Agents["agent"] }

// Providers returns copies of the providers of WithProvider, for Options.Providers.
func (d *Definition) Providers() map[string]*Provider { return cloned(d.own).LLMProviders }

// Store returns where the agent's checkpoints are kept, for Options.Store. An empty string leaves the choice to the
// worker.
func (d *Definition) Store() string { return d.store }
