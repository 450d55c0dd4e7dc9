package configuration

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
)

const selectorWorld = `
llm_providers:
  by_tenant: {type: selector, model: tenant}
  gemini: {type: google, model: gemini-3-pro, api_key_env: KEY}
  other: {type: selector, model: tenant}
mcp_servers:
  k8s: {transport: {type: http, url: "https://k8s.example.com"}, summarization: {llm_provider: by_tenant}}
agents:
  Own: {default_model: "selector:tenant", mcp_servers: [k8s]}
  Searcher: {native_tools: {google_search: true}}
agent_chains:
  own: {stages: [{name: dig, agents: [{name: Own}]}]}
  twice: {llm_provider: by_tenant, fallback_providers: [{provider: gemini}, {provider: "other"}],
          stages: [{name: dig, replicas: 2, agents: [{name: Own}]}]}
  search: {llm_backend: native-gemini, llm_provider: gemini, stages: [{name: dig, agents: [{name: Searcher}]}]}
  native: {llm_backend: native-gemini, llm_provider: by_tenant, fallback_providers: [{provider: by_tenant}],
           stages: [{name: dig, agents: [{name: Own}]}]}
`

// TestSelectors checks that a selector's choice is in the plan wherever a provider may be: the agent's own, a fallback,
// the summarising one, and the one that a request names.
func TestSelectors(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.yaml")
	if err := os.WriteFile(file, []byte(selectorWorld), 0o600); err != nil {
		t.Fatal(err)
	}
	src := Source{Dir: file, Env: lookupIn(map[string]string{"KEY": "x", "OPENAI_API_KEY": "x"}), Selectors: []string{"tenant"}}
	cfg, err := Load(src)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		req   agent.Request
		model string
		err   error
		want  string // "backend provider model", or part of the error
	}{
		"the agent's":            {agent.Request{Chain: "own"}, "scripted:a", nil, "langchain scripted:a a"},
		"an entry":               {agent.Request{Chain: "own"}, "gemini", nil, "langchain gemini gemini-3-pro"},
		"the backend is kept":    {agent.Request{Chain: "native"}, "gemini", nil, "native-gemini gemini gemini-3-pro"},
		"the backend is not had": {agent.Request{Chain: "native"}, "scripted:a", nil, "langchain scripted:a a"},
		"the request's":          {agent.Request{Chain: "own", Provider: "by_tenant"}, "scripted:a", nil, "langchain scripted:a a"},
		"by the request":         {agent.Request{Chain: "own", Provider: "scripted:b"}, "scripted:a", nil, "langchain scripted:b b"},
		"an error":               {agent.Request{Chain: "own"}, "", errors.New("no tenant"), `agent Own: the selector "tenant": no tenant`},
		"nothing":                {agent.Request{Chain: "own"}, "", nil, `the selector "tenant": it returned no model`},
		"a model of OpenAI's":    {agent.Request{Chain: "own"}, "gpt-4o", nil, "langchain gpt-4o gpt-4o"},
		"too long":               {agent.Request{Chain: "own"}, "openai:" + strings.Repeat("a", 200), nil, "a model name that is longer"},
		"not printable": {agent.Request{Chain: "own"}, "openai:a\nb\u202e c", nil,
			"it returned a model name that is longer than 200 bytes or"},
		"no provider":     {agent.Request{Chain: "own"}, "nobody:x", nil, `the selector "tenant": unknown provider "nobody:x"`},
		"a selector":      {agent.Request{Chain: "own"}, "by_tenant", nil, `it returned "by_tenant", which is another selector`},
		"without the key": {agent.Request{Chain: "own"}, "anthropic:claude-x", nil, `provider "anthropic:claude-x" needs a key`},
		"the request's is no one": {agent.Request{Chain: "own", Provider: "selector:other"}, "scripted:a", nil,
			`unknown selector "other"; available in the workers' program: tenant`},
	} {
		p, err := cfg.Choosing(func(selector, agent string) (string, error) {
			if selector != "tenant" || agent != "Own" {
				t.Errorf("%s: %q is asked for %q", name, selector, agent)
			}
			return tt.model, tt.err
		}).Plan(tt.req)
		if err != nil {
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		a := p.Stages[0].Agents[0]
		got := strings.Join([]string{a.LLMBackend, a.Providers[0].Name, a.Providers[0].Model}, " ")
		if got != tt.want || strings.Contains(tt.want, "needs") {
			t.Errorf("%s: %s", name, got)
		}
		for _, s := range a.Servers {
			if by := s.Summarization.Provider; by != nil && by.Type == config.ProviderSelector {
				t.Errorf("%s: results are summarised by %+v", name, by)
			}
		}
	}
	for model, want := range map[string]string{"gemini": "gemini", "scripted:a": "scripted:a gemini"} {
		p, err := cfg.Choosing(func(string, string) (string, error) { return model, nil }).Plan(agent.Request{Chain: "twice"})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, provider := range p.Stages[0].Agents[1].Providers {
			names = append(names, provider.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("the fallbacks with %s: %s", model, got)
		}
	}
	asked := 0
	_, err = cfg.Choosing(func(string, string) (string, error) { asked++; return "a\nb", nil }).Plan(agent.Request{Chain: "twice"})
	if err == nil || asked != 1 || strings.Contains(err.Error(), "\n") {
		t.Errorf("asked %d times: %v", asked, err)
	}
	if _, err := cfg.Plan(agent.Request{Chain: "search", Provider: "by_tenant"}); err != nil {
		t.Errorf("a look ahead at a selector whose model may have native tools: %v", err)
	}
	src.Selectors = nil
	if _, err := Load(src); err == nil ||
		!strings.Contains(err.Error(), `unknown selector "tenant"; available in the workers' program: none`) {
		t.Errorf("a worker without it: %v", err)
	}
	src.SkipCredentials = true
	if _, err := Load(src); err != nil {
		t.Errorf("a client: %v", err)
	}
}

// TestVirtualSelector has a virtual agent name a selector. A program without that selector refuses the agent.
func TestVirtualSelector(t *testing.T) {
	t.Parallel()
	m := made(t, "Triage", `{"config":{"default_model":"selector:tenant"}}`)
	cfg := virtualConfig(t)
	if got := cfg.CheckVirtual(m, nil).Error(); !strings.Contains(got, `unknown selector "tenant"`) {
		t.Errorf("without the selector: %s", got)
	}
	with, err := cfg.With(m)
	if err != nil {
		t.Fatal(err)
	}
	req := agent.Request{Chain: "shop", Labels: agent.Labels{Project: "payments"}}
	if _, err := with.Plan(req); err == nil || !strings.Contains(err.Error(), `unknown selector "tenant"`) {
		t.Errorf("where there is none: %v", err)
	}
	with.src.Selectors = []string{"tenant"}
	if problems := with.CheckVirtual(m, nil); problems != nil {
		t.Error(problems)
	}
	p, err := with.Choosing(func(string, string) (string, error) { return "scripted:x", nil }).Plan(req)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("scripted:x", p.Stages[0].Agents[0].Providers[0].Name); diff != "" {
		t.Error(diff)
	}
}
