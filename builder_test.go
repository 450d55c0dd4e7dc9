package inquest

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/configuration"
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
	settings, entry := Agent{Timeouts: Timeouts{Tool: 1}, ToolIDs: []string{"find"}}, Provider{Type: "program", Model: "m", Vision: new(true)}
	other, err := NewBuilder().WithConfig(settings).WithProvider("own", entry).Build()
	if err != nil {
		t.Fatal(err)
	}
	settings.ToolIDs[0], *entry.Vision, *other.Providers()["own"].Vision = "other", false, false
	if got := other.Agent(); got.ToolIDs[0] != "find" || !*other.Providers()["own"].Vision {
		t.Errorf("a definition was changed: %+v, %+v", got, other.Providers()["own"])
	}
}

type builderRow struct {
	name    string
	builder *Builder
	yaml    string // what the agent's entry has beside builderDefaults
	also    string // other sections
	store   string // if YAML cannot name it
}

// builderRows compare agents of the builder with the same agents in YAML. The name is a method, or a method and a case.
var builderRows = []builderRow{
	{name: "NewBuilder", builder: NewBuilder()},
	{name: "WithModel", builder: NewBuilder().WithModel("anthropic:claude-opus-4-5"), yaml: "default_model: anthropic:claude-opus-4-5"},
	{name: "WithModel: of a provider elsewhere", builder: NewBuilder().WithModel("gateway:large"), yaml: "default_model: gateway:large"},
	{
		name:    "WithProvider",
		builder: NewBuilder().WithProvider("own", Provider{Type: "openai", Model: "small", BaseURL: "http://h/v1", Vision: new(true)}),
		yaml:    "default_model: own", also: `llm_providers: {own: {type: openai, model: small, base_url: "http://h/v1", vision: true}}`,
	},
	{
		name: "WithProvider: two, and a model",
		builder: NewBuilder().WithFallbacks("own").WithModel("other:large").WithProvider("own", Provider{Type: "program", Model: "small"}).
			WithProvider("other", Provider{Type: "program", Model: "small"}),
		yaml: "default_model: other:large, fallback_providers: [{provider: own}]",
		also: "llm_providers: {own: {type: program, model: small}, other: {type: program, model: small}}",
	},
	{
		name: "WithFallbacks", builder: NewBuilder().WithFallbacks("gateway").WithFallbacks("anthropic-default", "ollama"),
		yaml: "fallback_providers: [{provider: gateway}, {provider: anthropic-default}, {provider: ollama}]",
	},
	{name: "WithFallbacks: none", builder: NewBuilder().WithFallbacks(), yaml: "fallback_providers: []"},
	{
		name: "WithConfig",
		builder: NewBuilder().WithMaxTokens(100).WithConfig(Agent{
			MCPServers: []string{"shop"}, MaxIterations: new(3), OnLimit: "error", Timeouts: Timeouts{Tool: Duration(time.Second)},
			FallbackProviders: []Fallback{{Provider: "gateway", Backend: "langchain"}}, Compression: Compression{Strategy: "truncate"},
			ToolConfig: ToolConfig{ToolPermissions: map[string]ToolPermission{"page": {RateLimit: new(1)}}},
		}).WithTemperature(0),
		yaml: "max_tokens: 100, mcp_servers: [shop], max_iterations: 3, on_limit: error, timeouts: {tool: 1s}, " +
			"fallback_providers: [{provider: gateway, backend: langchain}], temperature: 0, compression: {<<: *compression, strategy: truncate}, " +
			"tool_config: {tool_permissions: {page: {rate_limit: 1}}}",
	},
	{
		name: "WithConfig: a role instead of a model", builder: NewBuilder().WithConfig(Agent{ModelRole: "planner"}),
		yaml: `default_model: "", model_role: planner`,
	},
	{name: "WithType", builder: NewBuilder().WithType("react"), yaml: "type: react"},
	{name: "WithType: without tools", builder: NewBuilder().WithType("llm"), yaml: "type: llm, tool_ids: []"},
	{name: "WithDescription", builder: NewBuilder().WithDescription("It digs."), yaml: "description: It digs."},
	{name: "WithSystemPrompt", builder: NewBuilder().WithSystemPrompt("You are {{.Agent}}."), yaml: `system_prompt: "You are {{.Agent}}."`},
	{name: "WithInstructions", builder: NewBuilder().WithInstructions("Dig."), yaml: "custom_instructions: Dig."},
	{name: "WithTools", builder: NewBuilder().WithTools("ticket").WithTools("page"), yaml: "tool_ids: [ticket, page]"},
	{name: "WithTools: an empty list", builder: NewBuilder().WithTools(), yaml: `tool_ids: ["*"]`},
	{name: "WithMaxIterations", builder: NewBuilder().WithMaxIterations(5), yaml: "max_iterations: 5"},
	{name: "WithTemperature", builder: NewBuilder().WithTemperature(0), yaml: "temperature: 0"},
	{name: "WithMaxTokens", builder: NewBuilder().WithMaxTokens(100), yaml: "max_tokens: 100"},
	{
		name:    "WithContextCompression",
		builder: NewBuilder().WithContextCompression(Compression{KeepRecentMessages: new(0), CompressContext: new(false)}),
		yaml:    "compression: {<<: *compression, keep_recent_messages: 0, compress_context: false}",
	},
	{name: "WithSQLiteCheckpoint", builder: NewBuilder().WithSQLiteCheckpoint("x.db"), also: "system: {store: {sqlite: x.db}}"},
	{name: "WithMemoryCheckpoint", builder: NewBuilder().WithMemoryCheckpoint(), store: MemoryStore},
	{
		name: "WithCheckpoint", builder: NewBuilder().WithCheckpoint(CheckpointPostgres, "postgres://localhost/db"),
		also: `system: {store: {postgres: {dsn: "postgres://localhost/db"}}}`,
	},
}

// builderDefaults are the builder's defaults in YAML. workersConfig is the rest of the worker's configuration.
const (
	builderDefaults = `
agents:
  Base: &base
    {default_model: gpt-4o-mini, temperature: 0.7, max_tokens: 4096, max_iterations: 10, tool_ids: ["*"], compression: &compression
      {compress_context: true, max_context_tokens: 8000, compression_threshold: 0.8, keep_recent_messages: 4, strategy: window}}
  A: {<<: *base, `
	workersConfig = `
defaults: {fallback_providers: [{provider: google-default}], model_roles: {planner: "openai:gpt-5.2"}}
llm_providers: {gateway: {type: program, model: m}}
mcp_servers: {shop: {transport: {command: shop}, task_queue: shops}}
`
)

// agentPlans are the plans that a worker makes for the agent A, one for each way to run it, and the store's settings.
type agentPlans struct {
	Investigation, Conversation plan.Plan
	Alone                       plan.Agent
	Store                       string
}

func plansOf(t *testing.T, entries config.Entries, store string, files ...string) (out agentPlans) {
	t.Helper()
	dir := t.TempDir()
	for i, text := range append(files, workersConfig) {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i, ".yaml")), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := configuration.Load(configuration.Source{
		Dir: dir, Entries: entries, Tools: []string{"ticket", "page"}, Models: []string{"gateway", "own", "other"},
		Env: func(string) (string, bool) { return "key", true },
	})
	if err != nil {
		t.Fatal(err)
	}
	var errs [4]error
	out.Investigation, errs[0] = cfg.Plan(agent.Request{Chain: configuration.OfAgent + "A"})
	out.Conversation, errs[1] = cfg.Conversation(agent.ConversationRequest{Agent: "A"})
	out.Alone, errs[2] = cfg.AgentPlan("A")
	target, err := cfg.Store()
	errs[3] = err
	if out.Store = store; store == "" {
		out.Store = target.SQLite + target.Postgres
	}
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	out.Investigation.Bounds.Origins = nil // they name the files
	return out
}

// TestBuilderLikeYAML compares the plans of built agents with those of the same agents in YAML.
func TestBuilderLikeYAML(t *testing.T) {
	t.Parallel()
	plain := plansOf(t, config.Entries{}, "", builderDefaults+"}")
	for _, row := range builderRows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			built, err := row.builder.Build()
			if err != nil {
				t.Fatal(err)
			}
			want := plansOf(t, config.Entries{}, row.store, builderDefaults+row.yaml+"}", row.also)
			entries := config.Entries{Agents: map[string]*Agent{"A": built.Agent()}, LLMProviders: built.Providers()}
			got := plansOf(t, entries, built.Store())
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-YAML +builder\n%s", diff)
			}
			if method := !strings.Contains(row.name, ":") && row.name != "NewBuilder"; method && cmp.Equal(plain, got) {
				t.Error("the method changes nothing")
			}
		})
	}
}

// TestBuilderRows checks that every method of the builder is compared with YAML.
func TestBuilderRows(t *testing.T) {
	t.Parallel()
	for method := range reflect.TypeFor[*Builder]().Methods() {
		compared := slices.ContainsFunc(builderRows, func(row builderRow) bool { return row.name == method.Name })
		if strings.HasPrefix(method.Name, "With") && !compared {
			t.Errorf("no row of builderRows is for %s", method.Name)
		}
	}
}

func TestBuilderRefuses(t *testing.T) {
	t.Parallel()
	const noModel = `WithModel: the name is empty: pass a model such as "openai:gpt-4o", or remove the call to use the default`
	compressed := func(c Compression) *Builder { return NewBuilder().WithContextCompression(c) }
	for _, test := range []struct {
		want    string
		builder *Builder
	}{
		{noModel, NewBuilder().WithModel("")},
		{"max_iterations must be at least 1", NewBuilder().WithMaxIterations(0)},
		{"temperature must be between 0 and 2", NewBuilder().WithTemperature(float32(math.NaN()))},
		{"max_tokens must be at least 1", NewBuilder().WithMaxTokens(-1)},
		{"max_context_tokens must be at least 1", compressed(Compression{MaxContextTokens: new(0)})},
		{"compression_threshold must be between 0 and 1", compressed(Compression{CompressionThreshold: new(0.0)})},
		{"keep_recent_messages must be non-negative", compressed(Compression{KeepRecentMessages: new(-1)})},
		{`compression.strategy: must be one of window, truncate, summarize, got "none"`, compressed(Compression{Strategy: "none"})},
		{"checkpoint_type must be 'memory', 'sqlite' or 'postgres'", NewBuilder().WithCheckpoint("redis", "x")},
		{"checkpoint_path is required when checkpoint_type='sqlite'", NewBuilder().WithSQLiteCheckpoint("")},
		{
			"checkpoint_path must be a postgres:// address when checkpoint_type='postgres'",
			NewBuilder().WithCheckpoint(CheckpointPostgres, "host=h password=p"),
		},
		{
			`tool_ids[1]: "*" stands for all tools of the program: list it alone, or remove it`,
			NewBuilder().WithTools("find", "*"),
		},
		{`tool_ids[1]: tool "find" is listed twice`, NewBuilder().WithTools("find", "find")},
		{"fallback_providers[1].provider: a provider is required", NewBuilder().WithFallbacks("ollama", "")},
		{
			"model_role: set either default_model or model_role, not both",
			NewBuilder().WithModel("gpt-4o").WithConfig(Agent{ModelRole: "planner"}),
		},
		{
			"this agent is created at run time: set only its type and description here",
			NewBuilder().WithConfig(Agent{AgentSource: "virtual"}),
		},
		{
			"llm_providers.own.model: a model is required\nllm_providers.own.type: a type is required",
			NewBuilder().WithProvider("own", Provider{}),
		},
		{
			`llm_providers[""]: a provider's name must have at most 64 characters of A-Z a-z 0-9 _ . -, got ""`,
			NewBuilder().WithProvider("", Provider{Type: "program", Model: "m"}),
		},
		{
			noModel + "\nfallback_providers[0].provider: a provider is required\nmax_iterations must be at least 1\n" +
				"max_tokens must be at least 1\ntemperature must be between 0 and 2\nllm_providers.own.model: a model is required\n" +
				"checkpoint_path is required when checkpoint_type='sqlite'",
			NewBuilder().WithModel("").WithMaxIterations(0).WithTemperature(-1).WithMaxTokens(0).WithFallbacks("").
				WithProvider("own", Provider{Type: "openai"}).WithSQLiteCheckpoint(""),
		},
	} {
		t.Run(test.want, func(t *testing.T) {
			t.Parallel()
			if d, err := test.builder.Build(); d != nil || err == nil || err.Error() != test.want {
				t.Errorf("got %v, %v", d, err)
			}
		})
	}
}
