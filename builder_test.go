package inquest

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

func TestBuilder(t *testing.T) {
	t.Parallel()
	b := NewBuilder()
	plain, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	want := &Agent{
		DefaultModel: "gpt-4o-mini", Temperature: new(float32(0.7)), MaxTokens: new(4096), MaxIterations: new(10),
		ToolIDs: []string{"*"},
		Compression: Compression{
			CompressContext: new(true), MaxContextTokens: new(8000), CompressionThreshold: new(0.8),
			KeepRecentMessages: new(4), Strategy: "window",
		},
	}
	unexported := cmpopts.IgnoreUnexported(Agent{}, Compression{}, ToolConfig{})
	if diff := cmp.Diff(want, plain.Agent(), unexported); diff != "" || plain.Store() != "" {
		t.Error(diff, plain.Store())
	}

	b.WithModel("ollama:llama3.1:8b").WithType("react").WithDescription("digs").WithInstructions("Be {{.brief}}.").
		WithTools("find").WithTools("ticket").
		WithMaxIterations(5).WithTemperature(0).WithMaxTokens(100).WithContextCompression(Compression{KeepRecentMessages: new(0),
		Strategy: "truncate"}).
		WithSQLiteCheckpoint("x.db")
	full, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	b.WithTools("page") // does not change the built definition
	*b.agent.MaxIterations = 7
	want = &Agent{
		DefaultModel: "ollama:llama3.1:8b", Type: "react", Description: "digs", CustomInstructions: "Be {{.brief}}.",
		ToolIDs:     []string{"find", "ticket"},
		Temperature: new(float32(0)), MaxTokens: new(100), MaxIterations: new(5),
		Compression: Compression{
			CompressContext: new(true), MaxContextTokens: new(8000), CompressionThreshold: new(0.8),
			KeepRecentMessages: new(0), Strategy: "truncate",
		},
	}
	if diff := cmp.Diff(want, full.Agent(), unexported); diff != "" || full.Store() != "x.db" {
		t.Error(diff, full.Store())
	}
	*full.Agent().MaxIterations, full.Agent().ToolIDs[0] = 99, "other"
	if diff := cmp.Diff(want, full.Agent(), unexported); diff != "" {
		t.Errorf("a definition was changed: %s", diff)
	}
	const own = "You are {{.Agent}}."
	if other, err := NewBuilder().WithSystemPrompt(own).Build(); err != nil || other.Agent().SystemPrompt != own {
		t.Errorf("%+v, %v", other, err)
	}
}

// TestBuilderLikeYAML compares the plan of a built agent with the plan of the same agent in YAML.
func TestBuilderLikeYAML(t *testing.T) {
	t.Parallel()
	const defaults = "default_model: gpt-4o-mini, temperature: 0.7, max_tokens: 4096, max_iterations: 10, " +
		"compression: {compress_context: true, max_context_tokens: 8000, compression_threshold: 0.8, keep_recent_messages: 4, strategy: window}"
	for name, test := range map[string]struct {
		builder *Builder
		yaml    string
		tools   []string
	}{
		"no tools named": {NewBuilder(), defaults + `, tool_ids: ["*"]`, []string{"page", "ticket"}},
		"empty list":     {NewBuilder().WithTools(), defaults + `, tool_ids: ["*"]`, []string{"page", "ticket"}},
		"two tools":      {NewBuilder().WithTools("ticket", "page"), defaults + ", tool_ids: [ticket, page]", []string{"ticket", "page"}},
		"a react agent":  {NewBuilder().WithType("react"), defaults + `, type: react, tool_ids: ["*"]`, []string{"page", "ticket"}},
		"without tools":  {NewBuilder().WithType("llm"), defaults + ", type: llm", nil},
		"with own prompt": {
			NewBuilder().WithSystemPrompt("Dig."), defaults + `, system_prompt: Dig., tool_ids: ["*"]`, []string{"page", "ticket"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			built, err := test.builder.Build()
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "agents.yaml")
			if err := os.WriteFile(file, []byte("agents: {A: {"+test.yaml+"}}"), 0o600); err != nil {
				t.Fatal(err)
			}
			planOf := func(src config.Source) plan.Agent {
				src.Tools, src.Env = []string{"ticket", "page"}, func(string) (string, bool) { return "key", true }
				cfg, err := config.Load(src)
				if err != nil {
					t.Fatal(err)
				}
				p, err := cfg.Plan(agent.Request{Chain: config.OfAgent + "A"})
				if err != nil {
					t.Fatal(err)
				}
				return p.Stages[0].Agents[0]
			}
			got := planOf(config.Source{Entries: config.Entries{Agents: map[string]*Agent{"A": built.Agent()}}})
			if diff := cmp.Diff(planOf(config.Source{Dir: file}), got); diff != "" {
				t.Errorf("-YAML +builder\n%s", diff)
			}
			if !slices.Equal(got.ToolIDs, test.tools) {
				t.Errorf("the agent's tools are %v, not %v", got.ToolIDs, test.tools)
			}
		})
	}
}

func TestBuilderRefuses(t *testing.T) {
	t.Parallel()
	compressed := func(c Compression) *Builder { return NewBuilder().WithContextCompression(c) }
	for want, b := range map[string]*Builder{
		"max_iterations must be at least 1":                                             NewBuilder().WithMaxIterations(0),
		"temperature must be between 0 and 2":                                           NewBuilder().WithTemperature(float32(math.NaN())),
		"max_tokens must be at least 1":                                                 NewBuilder().WithMaxTokens(-1),
		"max_context_tokens must be at least 1":                                         compressed(Compression{MaxContextTokens: new(0)}),
		"compression_threshold must be between 0 and 1":                                 compressed(Compression{CompressionThreshold: new(0.0)}),
		"keep_recent_messages must be non-negative":                                     compressed(Compression{KeepRecentMessages: new(-1)}),
		`must be one of window, truncate, summarize, got "none"`:                        compressed(Compression{Strategy: "none"}),
		"checkpoint_type must be 'memory', 'sqlite' or 'postgres'":                      NewBuilder().WithCheckpoint("redis", "x"),
		"checkpoint_path is required when checkpoint_type='sqlite'":                     NewBuilder().WithSQLiteCheckpoint(""),
		"WithModel: a model is required":                                                NewBuilder().WithModel(""),
		`"*" stands for all tools of the program: remove the other names, or remove it`: NewBuilder().WithTools("find", "*"),
		`the tool "find" is named twice`:                                                NewBuilder().WithTools("find", "find"),
		"checkpoint_path must be a postgres:// address when checkpoint_type='postgres'": NewBuilder().WithCheckpoint(CheckpointPostgres,
			"host=h password=p"),
		"max_iterations must be at least 1\nmax_tokens must be at least 1\ntemperature must be between 0 and 2\ncheckpoint_path is required " +
			"when checkpoint_type='sqlite'": NewBuilder().
			WithMaxIterations(0).WithTemperature(-1).WithMaxTokens(0).WithSQLiteCheckpoint(""),
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			if d, err := b.Build(); d != nil || err == nil || err.Error() != want {
				t.Errorf("got %v, %v", d, err)
			}
		})
	}
}

func TestBuilderStores(t *testing.T) {
	t.Parallel()
	for want, b := range map[string]*Builder{
		MemoryStore:       NewBuilder().WithMemoryCheckpoint(),
		"x.db":            NewBuilder().WithCheckpoint(CheckpointSQLite, "x.db"),
		"postgres://h/db": NewBuilder().WithCheckpoint(CheckpointPostgres, "postgres://h/db"),
	} {
		if d, err := b.Build(); err != nil || d.Store() != want {
			t.Errorf("got %v, %v", d, err)
		}
	}
}
