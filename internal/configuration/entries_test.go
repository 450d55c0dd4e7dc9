package configuration

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// written and defined are the same entries, in YAML and in Go.
const written = `
prompts: {careful: "You are {{.Agent}}. {{\"{{\"}}"}
llm_providers: {mini: {type: openai, model: small, base_url: "http://h/v1"}}
mcp_servers: {lab: {transport: {command: lab, env: {KEY: "{{.OPENAI_API_KEY}}"}}, risk: {get: read_only}}}
agents:
  A: {mcp_servers: [lab], tool_ids: [page], custom_instructions: "Say {{\"{{.x}}\"}}.", timeouts: {tool: 5s}}
  B: {default_model: "mini:large", tool_config: {tool_permissions: {page: {allowed_to_patterns: [ops-*]}}}}
agent_chains:
  c:
    alert_types: [a]
    llm_provider: mini
    fallback_providers: []
    bounds: {max_passes: 2, edge_limits: [{from: one, to: one, max_count: 1}]}
    stages:
      - {name: one, agents: [{name: A}, {name: B, max_iterations: 3}], synthesis: {agent: SynthesisAgent}, output_schema: {type: object}}
      - {name: two, agents: [{name: A, prompt_key: careful, pre_process: enrich, error_next: one,
         routing_rules: [{condition: n, value: [1, {a: null}], target: end}]}]}
`

func defined() config.Entries {
	return config.Entries{
		Prompts:      map[string]string{"careful": `You are {{.Agent}}. {{"{{"}}`},
		LLMProviders: map[string]*config.Provider{"mini": {Type: "openai", Model: "small", BaseURL: "http://h/v1"}},
		MCPServers: map[string]*config.Server{"lab": {
			Transport: config.Transport{Command: "lab", Env: map[string]string{"KEY": "{{.OPENAI_API_KEY}}"}},
			Risk:      map[string]agent.Risk{"get": agent.RiskReadOnly},
		}},
		Agents: map[string]*config.Agent{
			"A": {MCPServers: []string{"lab"}, ToolIDs: []string{"page"}, CustomInstructions: "Say {{.x}}.",
				Timeouts: config.Timeouts{Tool: plan.Duration(5 * time.Second)}},
			"B": {DefaultModel: "mini:large",
				ToolConfig: config.ToolConfig{ToolPermissions: map[string]config.ToolPermission{
					"page": {Allowed: map[string][]string{"to": {"ops-*"}}},
				}}},
		},
		AgentChains: map[string]*config.Chain{"c": {
			AlertTypes: []string{"a"}, LLMProvider: "mini", FallbackProviders: []config.Fallback{},
			Bounds: config.Bounds{MaxPasses: new(2), EdgeLimits: []config.EdgeLimit{{From: "one", To: "one", MaxCount: new(1)}}},
			Stages: []*config.Stage{{
				Name: "one", Agents: []*config.StageAgent{{Name: "A"}, {Name: "B", MaxIterations: new(3)}},
				Synthesis: config.Synthesis{Agent: "SynthesisAgent"},
				Flow:      config.Flow{OutputSchema: json.RawMessage(`{"type": "object"}`)},
			}, {
				Name: "two", Agents: []*config.StageAgent{{Name: "A", PromptKey: "careful", Flow: config.Flow{
					PreProcess: "enrich", ErrorNext: "one",
					RoutingRules: []config.RoutingRule{{Condition: "n", Value: json.RawMessage(`[1,{"a":null}]`), Target: "end"}},
				}}},
			}},
		}},
	}
}

// describe returns the results of a configuration as text: plans, and a transport.
func describe(t *testing.T, c *Config) string {
	t.Helper()
	p, err := c.Plan(agent.Request{AlertType: "a"})
	if err != nil {
		t.Fatal(err)
	}
	alone, err := c.AgentPlan("B")
	if err != nil {
		t.Fatal(err)
	}
	transport, err := c.Transport("lab")
	if err != nil {
		t.Fatal(err)
	}
	p.Bounds.Origins = nil // files and lines, which a program does not have
	return fmt.Sprintf("%s\n%+v\n%+v", planJSON(t, p), alone, transport.Env)
}

func TestEntriesAreTheSameAsYAML(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(written), 0o600); err != nil {
		t.Fatal(err)
	}
	fromYAML, err := Load(Source{Dir: dir, Env: lookupIn(baseEnv), Tools: []string{"page"}, Hooks: []string{"enrich"}})
	if err != nil {
		t.Fatal(err)
	}
	own := defined()
	fromGo, err := Load(Source{Entries: own, Env: lookupIn(baseEnv), Tools: []string{"page"}, Hooks: []string{"enrich"}})
	if err != nil {
		t.Fatal(err)
	}
	want := describe(t, fromYAML)
	if diff := cmp.Diff(want, describe(t, fromGo)); diff != "" {
		t.Error(diff)
	}
	// Later changes to the program's values have no effect.
	own.Agents["A"].ToolIDs[0], own.MCPServers["lab"].Transport.Env["KEY"] = "x", "x"
	own.AgentChains["c"].Stages[0].Agents[1].Name, *own.AgentChains["c"].Stages[0].Agents[1].MaxIterations = "x", 9
	own.AgentChains["c"].Stages[1].Agents[0].RoutingRules[0].Value[1] = '7'
	own.Agents["B"].ToolConfig.ToolPermissions["page"].Allowed["to"][0] = "x"
	if diff := cmp.Diff(want, describe(t, fromGo)); diff != "" {
		t.Error(diff)
	}
	_, shown, err := Show(fromGo, ShowOptions{Chain: "c"})
	if err != nil || len(shown) == 0 {
		t.Fatal(err)
	}
	for _, s := range shown {
		if s.Path == "agents.A.tool_ids" && s.From.String() != "Go" {
			t.Errorf("%s comes from %s", s.Path, s.From)
		}
	}
}

func TestEntriesRefused(t *testing.T) {
	t.Parallel()
	_, findings := Check(Source{Env: lookupIn(baseEnv), Entries: config.Entries{
		LLMProviders: map[string]*config.Provider{"p:q": {Type: "openai"}, "n": nil},
		MCPServers:   map[string]*config.Server{"s": {Transport: config.Transport{Type: "ftp"}}},
		Agents:       map[string]*config.Agent{"A": nil, "B": {Type: "nobody", LLMBackend: "x"}, "": {}},
		AgentChains: map[string]*config.Chain{"c": {Stages: []*config.Stage{nil, {Name: "s", Agents: []*config.StageAgent{nil}}, {
			Name: "t", Agents: []*config.StageAgent{{Name: "GeneralWorker", Flow: config.Flow{ErrorNext: "u"}}},
			Flow: config.Flow{
				RoutingRules: []config.RoutingRule{{Condition: "x", Target: "end", Value: json.RawMessage(`{`)}, {Condition: "x", Target: "end"}},
				OutputSchema: json.RawMessage(` []`)},
		}}}},
	}})
	var got []string
	for _, f := range findings {
		if f.File == InGo {
			got = append(got, f.String())
		}
	}
	want := []string{
		`Go: agent_chains.c.stages[0]: must not be nil`,
		`Go: agent_chains.c.stages[1].agents[0]: must not be nil`,
		`Go: agent_chains.c.stages[2].agents[0].error_next: unknown target "u"; available: the stages, and end, clarification, confirmation`,
		`Go: agent_chains.c.stages[2].output_schema: a JSON schema must be a mapping`,
		`Go: agent_chains.c.stages[2].routing_rules[0].value: must be JSON`,
		`Go: agent_chains.c.stages[2].routing_rules[1].value: value is required; it can be null`,
		`Go: agents.A: must not be nil`,
		`Go: agents.B.llm_backend: must be one of langchain, native-gemini, got "x"`,
		`Go: agents.B.type: must be one of default, action, synthesis, scoring, reflector, llm, tool_plan, service, exec_summary, ` +
			`memgpt_agent, letta_v1_agent, react_agent, got "nobody"`,
		`Go: agents[""]: a name must contain a letter or digit`,
		`Go: llm_providers.n: must not be nil`,
		`Go: llm_providers["p:q"]: a provider's name must have at most 64 characters of A-Z a-z 0-9 _ . -, got "p:q"`,
		`Go: llm_providers["p:q"].model: a model is required`,
		`Go: mcp_servers.s.transport.type: must be one of stdio, http, sse, got "ftp"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestClientsDoNotKnowTheWorkersCode checks that clients, which run no functions, accept names that only workers know.
// TestPartial checks that a part of a configuration may name entries of the rest, and that its own mistakes are refused.
func TestPartial(t *testing.T) {
	t.Parallel()
	src := Source{Env: lookupIn(baseEnv), Partial: true, Entries: config.Entries{Agents: map[string]*config.Agent{
		"A": {
			DefaultModel: "gateway:large", MCPServers: []string{"shop"}, FallbackProviders: []config.Fallback{{Provider: "spare"}},
			SubAgents: []config.SubAgent{{Name: "Helper"}},
		},
		"B": {ModelRole: "planner", FallbackList: "cheap"},
	}}}
	c, err := Load(src)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range c.Warnings() {
		if f.File == InGo {
			got = append(got, f.Path)
		}
	}
	want := []string{
		"agents.A.fallback_providers[0].provider", "agents.A.mcp_servers[0]", "agents.A.sub_agents[0]",
		"agents.B.fallback_list", "agents.B.model_role",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the warnings (-want +got):\n%s", diff)
	}
	src.Entries.Agents["A"] = &config.Agent{DefaultModel: "openai:", FallbackProviders: []config.Fallback{{}}}
	_, err = Load(src)
	for _, want := range []string{"agents.A.default_model: ", "agents.A.fallback_providers[0].provider: a provider is required"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	src.Partial = false
	src.Entries.Agents = map[string]*config.Agent{"A": {DefaultModel: "gateway:large"}}
	if _, err := Load(src); err == nil {
		t.Error("a whole configuration may name a provider that it does not have")
	}
}

func TestClientsDoNotKnowTheWorkersCode(t *testing.T) {
	t.Parallel()
	src := Source{Env: lookupIn(baseEnv), Entries: config.Entries{
		Agents: map[string]*config.Agent{"A": {ToolIDs: []string{"page"}}},
		AgentChains: map[string]*config.Chain{"c": {LLMProvider: "scripted", Stages: []*config.Stage{
			{Name: "s", Agents: []*config.StageAgent{{Name: "A", Mock: "m", PromptKey: "careful"}}, Flow: config.Flow{PreProcess: "enrich"}},
		}}},
	}}
	if _, err := Load(src); err == nil {
		t.Error("a worker without the tool accepts it")
	}
	src.SkipCredentials = true
	c, err := Load(src)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range c.Warnings() {
		if f.File == InGo {
			got = append(got, f.String())
		}
	}
	want := []string{
		`Go: warning: agent_chains.c.stages[0].agents[0].prompt_key: unknown prompt "careful"; available: none`,
		`Go: warning: agent_chains.c.stages[0].pre_process: "enrich" cannot be checked here, because ` +
			`hooks are registered in the workers' program`,
		`Go: warning: agents.A.tool_ids[0]: unknown tool "page"; available in this program: none`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
