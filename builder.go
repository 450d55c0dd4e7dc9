package inquest

import (
	"cmp"
	"errors"
	"slices"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
)

// Builder defines an agent step by step. Its methods only collect settings; Build checks them and reports every
// problem.
type Builder struct {
	agent      Agent
	problems   []error
	checkpoint CheckpointType
	path       string
}

// NewBuilder starts the definition of an agent. The defaults are gpt-4o-mini at a temperature of 0.7, replies of at most
// 4096 tokens, 10 iterations, a conversation of at most 8000 tokens, all tools of the worker's Options, and the worker's store.
func NewBuilder() *Builder {
	return &Builder{agent: Agent{
		DefaultModel: "gpt-4o-mini", Temperature: new(float32(0.7)), MaxTokens: new(4096), MaxIterations: new(10),
		Compression: Compression{
			CompressContext: new(true), MaxContextTokens: new(8000), CompressionThreshold: new(0.8),
			KeepRecentMessages: new(4), Strategy: "window",
		},
	}}
}

// WithModel sets the model: "openai:gpt-4o", the name of an OpenAI model, or the name of a provider. Build reports an
// empty name as an error.
func (b *Builder) WithModel(model string) *Builder {
	if model == "" {
		b.problems = append(b.problems, errors.New("WithModel: a model is required"))
	}
	b.agent.DefaultModel = model
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

// WithTools adds tools of the worker's Options, by name. An agent without any names gets all tools of the Options, as if its
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
	own := &b.agent.Compression
	own.CompressContext = cmp.Or(c.CompressContext, own.CompressContext)
	own.MaxContextTokens = cmp.Or(c.MaxContextTokens, own.MaxContextTokens)
	own.CompressionThreshold = cmp.Or(c.CompressionThreshold, own.CompressionThreshold)
	own.KeepRecentMessages = cmp.Or(c.KeepRecentMessages, own.KeepRecentMessages)
	own.Strategy = cmp.Or(c.Strategy, own.Strategy)
	return b
}

// WithSQLiteCheckpoint keeps checkpoints in the SQLite file at path.
func (b *Builder) WithSQLiteCheckpoint(path string) *Builder {
	return b.WithCheckpoint(CheckpointSQLite, path)
}

// WithMemoryCheckpoint keeps checkpoints only until the worker ends. Use it for tests and experiments.
func (b *Builder) WithMemoryCheckpoint() *Builder { return b.WithCheckpoint(CheckpointMemory, "") }

// WithCheckpoint sets where checkpoints are kept. The path is that of a SQLite file, or the postgres:// address of a
// database.
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
// definition. Build does not check that the tools exist, because only the worker knows them.
func (b *Builder) Build() (*Definition, error) {
	own := config.Entries{Agents: map[string]*Agent{"agent": &b.agent}}.Clone()
	if a := own.Agents["agent"]; len(a.ToolIDs) == 0 && usesTools(a.Type) {
		a.ToolIDs = []string{config.AllTools}
	}
	_, findings := config.Check(config.Source{
		Entries: own, Tools: b.agent.ToolIDs, SkipCredentials: true,
		Env: func(string) (string, bool) { return "", false },
	})
	problems := slices.Clone(b.problems)
	for _, f := range findings {
		if f.File == config.InGo && !f.Accepted() {
			problems = append(problems, errors.New(f.Message))
		}
	}
	target, err := b.store()
	if err := errors.Join(append(problems, err)...); err != nil {
		return nil, err
	}
	return &Definition{agent: own, store: target}, nil
}

// Definition is an agent that a Builder has built. It is immutable.
type Definition struct {
	agent config.Entries
	store string
}

// Agent returns a copy of the agent, for Options.Agents.
func (d *Definition) Agent() *Agent { return d.agent.Clone().Agents["agent"] }

// Store returns where the agent's checkpoints are kept, for Options.Store. An empty string leaves the choice to the
// worker.
func (d *Definition) Store() string { return d.store }
