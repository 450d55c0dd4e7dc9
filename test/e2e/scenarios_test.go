package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/tool/tooltest"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

// scenarioConfig has an agent with sub-agents, whose tool server receives the session, and a judge.
const scenarioConfig = `
llm_providers:
  lab-model: {type: openai, model: lab-1, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
mcp_servers:
  lab: {transport: {type: stdio, command: "{{.E2E_TOOLS}}"}}
  web:
    transport: {type: http, url: "{{.E2E_WEB}}", custom_headers: {X-Session-ID: "{{.SESSION_ID}}"}}
defaults:
  llm_provider: lab-model
agents:
  Digger: {description: digs, mcp_servers: [web]}
  Broken: {description: never answers, mcp_servers: [lab]}
  Lead: {sub_agents: [Digger, Broken]}
agent_chains:
  lab: {alert_types: [lab], scoring: {enabled: true}, stages: [{name: look, agents: [{name: Lead}]}]}
`

func scenarioScript(req llmtest.Request) llmtest.Reply {
	switch name := who(req); {
	case name == "Broken":
		return llmtest.Status(400, "the model lab-1 cannot do this")
	case name == "Digger" && turnOf(req) == 1:
		return llmtest.Calls(llmtest.Call{Name: "web__echo", Args: `{"text":"dug"}`})
	case name == "Lead" && turnOf(req) == 1:
		return llmtest.Calls(llmtest.Call{Name: "dispatch_agent", Args: `{"name":"Digger","task":"dig"}`},
			llmtest.Call{Name: "dispatch_agent", Args: `{"name":"Broken","task":"dig"}`})
	case name == "ScoringAgent":
		return llmtest.Text("Good enough.\n80")
	}
	return llmtest.Text("done")
}

// Every view agrees about sub-agents: their IDs, and the cause of a failure. A judge receives all tools.
func TestSubAgentScenario(t *testing.T) {
	t.Parallel()
	w := newWorld(t, scenarioScript, scenarioConfig)
	web := tooltest.ServeWeb(t, tooltest.WebOptions{})
	w.env = append(w.env, "E2E_WEB="+web.URL)
	w.dev()
	id := workflows.InvestigationID("lab", w.begin("lab").GetRunID())
	if result := w.end("lab"); result.Status != agent.StatusCompleted {
		t.Fatalf("result: %+v", result)
	}
	const digger, broken = "look/Lead/Digger-1", "look/Lead/Broken-2"

	var shown struct {
		Executions []record.Execution `json:"executions"`
	}
	if err := json.Unmarshal([]byte(w.must("show", "lab", "--json")), &shown); err != nil {
		t.Fatal(err)
	}
	find := func(name string) record.Execution {
		n := slices.IndexFunc(shown.Executions, func(e record.Execution) bool { return e.Name == name })
		if n < 0 {
			t.Fatalf("show has no execution %s: %+v", name, shown.Executions)
		}
		return shown.Executions[n]
	}
	calls := web.Seen("tools/call")
	if len(calls) != 1 || calls[0].Header.Get("X-Session-ID") != find(digger).ID {
		t.Errorf("calls %+v; the execution has the id %q", calls, find(digger).ID)
	}
	if status := w.must("status", "lab", "--json"); !strings.Contains(status, `"workflow_id": "`+find(digger).ID+`"`) {
		t.Errorf("the status has no agent with the workflow id %s:\n%s", find(digger).ID, status)
	}
	const why = "the model lab-1 cannot do this"
	if got := find(broken); got.Status != agent.StatusFailed || !strings.Contains(got.Error, why) {
		t.Errorf("the failed execution: %+v", got)
	}
	for _, face := range []string{"show", "status"} {
		if text := w.must(face, "lab"); !strings.Contains(text, why) {
			t.Errorf("%s does not say why a sub-agent has failed:\n%s", face, text)
		}
	}
	var received []string
	for _, e := range w.entries(id) {
		if e.Execution == "look/Lead" && e.Kind == transcript.KindUser {
			received = append(received, e.Text)
		}
	}
	all := strings.Join(received, "\n")
	for _, want := range []string{"[Sub-agent completed] Digger (exec " + digger + "):", "[Sub-agent failed] Broken (exec " + broken + "): "} {
		if !strings.Contains(all, want) {
			t.Errorf("Lead is not told %q:\n%s", want, all)
		}
	}

	const unused = "- lab.add (Broken)"
	eventually(t, "the judge is told of tools that nobody called", func() bool {
		return slices.ContainsFunc(w.model.Requests(), func(req llmtest.Request) bool {
			return who(req) == "ScoringAgent" && slices.ContainsFunc(req.Messages, func(m llmtest.Message) bool {
				return m.Content != nil && strings.Contains(*m.Content, unused)
			})
		})
	})
}

// A session timeout of seconds ends an investigation whose model hangs. The time to conclude is never longer than the timeout.
func TestSessionTimeoutScenario(t *testing.T) {
	t.Parallel()
	hold := llmtest.NewHold()
	w := newWorld(t, func(llmtest.Request) llmtest.Reply { return llmtest.Text("too late").Hold(hold, 0) },
		strings.Replace(scenarioConfig, "defaults:\n", "queue: {session_timeout: 3s}\ndefaults:\n", 1))
	t.Cleanup(hold.Release)
	w.env = append(w.env, "E2E_WEB=http://127.0.0.1:1")
	w.dev()
	if err := w.begin("lab").Get(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "did not finish within 3s") {
		t.Errorf("the investigation ended with %v", err)
	}
	if status := w.must("status", "lab", "--json"); !strings.Contains(status, `"status": "timed_out"`) {
		t.Errorf("the status is\n%s", status)
	}
}
