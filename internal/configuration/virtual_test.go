package configuration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/virtual"
)

const virtualWorld = `
defaults:
  tool_config:
    disabled_tools: [k8s.delete]
    tool_permissions:
      k8s.scale: {max_results: 5, requires_approval: true, allowed_ns_patterns: ["dev-*"]}
agents:
  Own: {mcp_servers: [k8s]}
  Triage: {agent_source: virtual, description: sorts alerts}
mcp_servers:
  k8s: {transport: {type: http, url: "https://k8s.example.com"}}
agent_chains:
  shop: {stages: [{name: dig, agents: [{name: Triage}]}]}
  other: {stages: [{name: dig, agents: [{name: Own}]}]}
`

func virtualConfig(t *testing.T) *Config {
	t.Helper()
	cfg, err := load(t, virtualWorld, nil)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func made(t *testing.T, name, definition string) virtual.Agent {
	t.Helper()
	d, err := virtual.Parse([]byte(definition))
	if err != nil {
		t.Fatal(err)
	}
	return virtual.Agent{Project: "payments", Name: name, Version: 3, By: "ann", Definition: d}
}

// TestVirtualPlan checks that a plan has the agent as created, limited by the deployment's defaults.
func TestVirtualPlan(t *testing.T) {
	t.Parallel()
	cfg := virtualConfig(t)
	req := agent.Request{Chain: "shop", Labels: agent.Labels{Project: "payments"}}
	_, err := cfg.Plan(req)
	if err == nil || !strings.Contains(err.Error(), `agent "Triage" is created at run time, but project "payments" has no`) {
		t.Errorf("without the agent: %v", err)
	}
	if got := cfg.VirtualOf("shop"); !cmp.Equal(got, []string{"Triage"}) || cfg.VirtualOf("other") != nil {
		t.Errorf("the chain needs %v", got)
	}
	m := made(t, "Triage", `{"system_prompt":"You sort.","config":{"default_model":"scripted:x","tool_config":{
		"enabled_tools":["k8s.get","k8s.scale","read_result"],"disabled_tools":["k8s.exec"],
		"tool_permissions":{"k8s.scale":{"max_results":50,"requires_approval":false,"rate_limit_per_minute":2}}}}}`)
	with, err := cfg.With(m)
	if err != nil {
		t.Fatal(err)
	}
	p, err := with.Plan(req)
	if err != nil {
		t.Fatal(err)
	}
	got := p.Stages[0].Agents[0]
	if got.Name != "Triage" || got.Definition != "Triage@payments" || got.Version != 3 || got.Prompt != "You sort." ||
		got.Description != "sorts alerts" || got.Providers[0].Name != "scripted:x" || len(got.Servers) != 1 {
		t.Errorf("got %+v", got)
	}
	if !cmp.Equal(got.Tools.Disabled, []string{"k8s.delete", "k8s.exec"}) || !got.Tools.ConfirmDestructive {
		t.Errorf("tools %+v", got.Tools)
	}
	want := plan.Permission{MaxResults: 5, RatePerMinute: 2, RequiresApproval: true, Allowed: map[string][]string{"ns": {"dev-*"}}}
	if diff := cmp.Diff(want, got.Tools.Permissions["k8s.scale"]); diff != "" {
		t.Error(diff)
	}
	if _, err := cfg.Plan(req); err == nil {
		t.Error("the configuration itself has the agent now")
	}
	m.Deleted, m.At = true, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	if with, err = cfg.With(m); err != nil {
		t.Fatal(err)
	}
	if _, err = with.Plan(req); err == nil || !strings.Contains(err.Error(), `agent "Triage" was deleted by ann on 2026-03-01`) {
		t.Errorf("deleted: %v", err)
	}
}

// TestVirtualPatterns checks that an agent may only narrow the patterns of a parameter in defaults, and may set any for
// other parameters.
func TestVirtualPatterns(t *testing.T) {
	t.Parallel()
	with, err := virtualConfig(t).With(made(t, "New", `{"config":{"default_model":"scripted:x","tool_config":{"tool_permissions":{
		"k8s.scale":{"allowed_ns_patterns":["dev-7","dev-a*"],"allowed_pod_patterns":["web-*"]}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	p, err := with.AgentPlan("New")
	want := map[string][]string{"ns": {"dev-7", "dev-a*"}, "pod": {"web-*"}}
	if diff := cmp.Diff(want, p.Tools.Permissions["k8s.scale"].Allowed); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// TestAgentByItself checks that any agent works without a chain.
func TestAgentByItself(t *testing.T) {
	t.Parallel()
	cfg, err := virtualConfig(t).With(made(t, "New", `{"type":"react","config":{"default_model":"scripted:x"}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"New", "Own"} {
		p, err := cfg.Plan(agent.Request{Chain: OfAgent + name})
		if err != nil || p.Chain != OfAgent+name || len(p.Stages) != 1 || p.Stages[0].Agents[0].Name != name {
			t.Errorf("%s: %v %+v", name, err, p)
		}
	}
	if _, err := cfg.Plan(agent.Request{Chain: OfAgent + "Nobody"}); err == nil {
		t.Error("nobody works")
	}
	if _, err := cfg.Scoring(OfAgent+"New", "payments"); err != nil {
		t.Errorf("nobody judges it: %v", err)
	}
}

// TestCheckVirtual checks that all problems are reported at once, and that definitions cannot read the environment.
func TestCheckVirtual(t *testing.T) {
	t.Setenv("SECRET", "hunter2")
	cfg := virtualConfig(t)
	problems := cfg.CheckVirtual(made(t, "Triage", `{"type":"react","description":"{{.SECRET}}","system_prompt":"{{.SECRET}}","config":{
		"default_model":"nobody:x","mcp_servers":["gone"],"tool_config":{"enabled_tools":["k8s.gte","shel","gone.x","get"],
		"tool_permissions":{"k8s.get":{"max_results":0}}}}}`), []string{"k8s.get"})
	got := strings.Join(problems, "\n")
	for _, want := range []string{
		`unknown provider "nobody:x"`, `unknown MCP server "gone"`, `tool_config.enabled_tools: unknown tool "k8s.gte"; did you mean "k8s.get"?`,
		`unknown tool "get"; prefix a server's tool with the server's name: k8s.get`,
		`unknown tool "shel"`, `unknown tool "gone.x"`, `max_results`, `system_prompt: `,
		`the configuration declares this agent with type "default", not "react_agent"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("nothing says %s", want)
		}
	}
	if strings.Contains(got, "hunter2") || t.Failed() {
		t.Errorf("it says\n%s", got)
	}
	for name, m := range map[string]virtual.Agent{
		"patterns": made(t, "A", `{"config":{"default_model":"scripted:x","tool_config":{"tool_permissions":{
			"k8s.scale":{"allowed_ns_patterns":["dev-7","d*"]}}}}}`),
		"no patterns": made(t, "A", `{"config":{"default_model":"scripted:x","tool_config":{"tool_permissions":{
			"k8s.scale":{"allowed_ns_patterns":[]}}}}}`),
		"service": made(t, "A", `{"type":"service","config":{"default_model":"scripted:x"}}`),
		"name":    made(t, "a/b", `{"config":{"default_model":"scripted:x"}}`),
	} {
		if _, err := cfg.With(m); len(cfg.CheckVirtual(m, nil)) == 0 || err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	lifted := made(t, "A", `{"config":{"default_model":"scripted:x","tool_config":{"tool_permissions":{
		"k8s.delete":{"requires_approval":false}}}}}`)
	if got := strings.Join(cfg.CheckVirtual(lifted, nil), "\n"); !strings.Contains(got, "cannot waive approval") {
		t.Errorf("an approval is lifted: %s", got)
	}
	if _, err := cfg.With(lifted); err != nil { // stored before this was checked
		t.Error(err)
	}
	if problems := cfg.CheckVirtual(made(t, "A", `{"config":{"default_model":"scripted:x"}}`), nil); problems != nil {
		t.Error(problems)
	}
}

// TestVirtualKey refuses an agent whose provider has no key, beside everything else that is wrong with it.
func TestVirtualKey(t *testing.T) {
	t.Parallel()
	world := "llm_providers: {fast: {type: google, model: gemini-2.5-flash, api_key_env: FAST_KEY}}\n" + virtualWorld
	cfg, err := load(t, world, nil)
	if err != nil {
		t.Fatal(err)
	}
	for model, want := range map[string]string{
		"fast":                `config.default_model: provider "fast" needs a key: variable FAST_KEY is not set`,
		"fast:gemini-2.5-pro": `config.default_model: provider "fast:gemini-2.5-pro" needs a key: variable FAST_KEY is not set`,
		"xai:grok-4":          `config.default_model: provider "xai:grok-4" needs a key: variable XAI_API_KEY is not set`,
		"openai:gpt-4o":       "",
	} {
		m := made(t, "New", fmt.Sprintf(`{"config":{"default_model":%q,"mcp_servers":["gone"]}}`, model))
		got := cfg.CheckVirtual(m, nil)
		if slices.Contains(got, want) != (want != "") || len(got) != 1+min(1, len(want)) {
			t.Errorf("%s: %q", model, got)
		}
	}
}

// TestVirtualWithin checks that agents made in a project only get tools that the configuration's agents use there.
func TestVirtualWithin(t *testing.T) {
	t.Parallel()
	src := []byte(`
agents: {Own: {mcp_servers: [k8s]}, Theirs: {mcp_servers: [vault], tool_ids: [page]}, Alone: {mcp_servers: [wiki], tool_ids: [ticket]}}
mcp_servers:
  k8s: {transport: {type: http, url: "https://k8s.example.com"}}
  loki: {transport: {type: http, url: "https://loki.example.com"}}
  vault: {transport: {type: http, url: "https://vault.example.com"}}
  wiki: {transport: {type: http, url: "https://wiki.example.com"}}
agent_chains:
  shop: {projects: [payments], stages: [{name: dig, agents: [{name: Own}, {name: Own, mcp_servers: [loki]}]}]}
  infra: {projects: [platform], stages: [{name: dig, agents: [{name: Theirs}]}]}
`)
	file := filepath.Join(t.TempDir(), "a.yaml")
	if err := os.WriteFile(file, src, 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := Load(Source{Dir: file, Env: lookupIn(baseEnv), Tools: []string{"page", "ticket"}})
	if err != nil {
		t.Fatal(err)
	}
	const definition = `{"config":{"default_model":"scripted:x","mcp_servers":["%s"],"tool_config":{"enabled_tools":["%s"]}}}`
	for name, tt := range map[string]struct{ server, tool, want string }{
		"an agent's server": {"k8s", "k8s.get", ""},
		"a chain's server":  {"loki", "shell", ""},
		"another project's": {"vault", "shell",
			`mcp_servers: the server "vault" is not allowed, because no configured agent or chain uses it in project "payments"`},
		"by a tool":              {"k8s", "vault.read", `the server "vault" is not allowed`},
		"by a tool's other name": {"k8s", "vault__read", `the server "vault" is not allowed`},
		"another project's in Go": {"k8s", "page",
			`tool_config.enabled_tools: the tool "page" is not allowed, because no configured agent uses it in project "payments"`},
		"in Go": {"k8s", "ticket", ""},
	} {
		m := made(t, "New", fmt.Sprintf(definition, tt.server, tt.tool))
		problems := cfg.CheckVirtual(m, []string{"page", "ticket", "k8s.get"})
		if (len(problems) == 0) != (tt.want == "") || !strings.Contains(problems.Error(), tt.want) {
			t.Errorf("%s: %v", name, problems)
		}
		if _, err := cfg.With(m); (err != nil) != strings.Contains(tt.want, "server") {
			t.Errorf("%s: a plan is made: %v", name, err)
		}
		if m.Project = "platform"; strings.Contains(tt.want, "vault") && strings.Contains(cfg.CheckVirtual(m, nil).Error(), "vault") {
			t.Errorf("%s: the other project has it not either", name)
		}
	}
}

// TestVirtualEnabled checks that tools not enabled by defaults are reported, and that both spellings mean the same
// tool.
func TestVirtualEnabled(t *testing.T) {
	t.Parallel()
	cfg, err := load(t,
		strings.Replace(virtualWorld, "disabled_tools", "enabled_tools: [k8s.get, k8s__scale, read_result]\n    disabled_tools", 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	m := made(t, "New", `{"config":{"default_model":"scripted:x","tool_config":{"enabled_tools":["k8s__get","k8s.scale"]}}}`)
	with, err := cfg.With(m)
	if problems := cfg.CheckVirtual(m, []string{"k8s.get", "k8s.scale"}); problems != nil || err != nil {
		t.Fatal(problems, err)
	}
	p, err := with.AgentPlan("New")
	if err != nil || !cmp.Equal(p.Tools.Enabled, []string{"k8s__get", "k8s.scale"}) {
		t.Errorf("enabled %v, %v", p.Tools.Enabled, err)
	}
	other := made(t, "New", `{"config":{"default_model":"scripted:x","tool_config":{"enabled_tools":["k8s.get","k8s.exec"]}}}`)
	want := virtual.Problems{`tool_config.enabled_tools: tool "k8s.exec" is not in defaults.tool_config.enabled_tools`}
	if diff := cmp.Diff(want, cfg.CheckVirtual(other, []string{"k8s.get", "k8s.exec"})); diff != "" {
		t.Error(diff)
	}
}
