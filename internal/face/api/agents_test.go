package api

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/doctor"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/trust/audit"
	"github.com/inquest-dev/inquest/workflows"
)

const triage = `{"name":"Triage","type":"react","system_prompt":"You sort alerts.",
	"config":{"agent_source":"virtual","default_model":"scripted:x","tool_config":{"enabled_tools":["shell"]}}}`

// An agent made at run time belongs to one project. Every change is a version and is in the audit trail.
func TestVirtualAgents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const path, one = "/api/v1/agents", "/api/v1/agents/Triage"
	made := w.call("admin", "POST", path, triage)
	if made.status != http.StatusCreated || made.header.Get("ETag") != `"1"` {
		t.Fatalf("made: %d %v %s", made.status, made.header, made.body)
	}
	got := read[system.AgentWhole](w, "viewer", "GET", one, nil)
	if got.Source != "virtual" || got.Type != "react_agent" || got.Project != "payments" || got.By != "admin" ||
		got.Definition.SystemPrompt != "You sort alerts." {
		t.Errorf("got %+v", got)
	}
	changed := strings.Replace(triage, "sort", "rank", 1)
	for name, tt := range map[string]struct {
		token, method, path, body string
		header                    []string
		want                      int
	}{
		"taken":            {"admin", "POST", path, triage, nil, http.StatusConflict},
		"configuration's":  {"admin", "POST", path, strings.Replace(triage, "Triage", "Memo", 1), nil, http.StatusConflict},
		"change of that":   {"admin", "PUT", path + "/Memo", changed, nil, http.StatusConflict},
		"delete that":      {"admin", "DELETE", path + "/Memo", "", nil, http.StatusConflict},
		"late":             {"admin", "PUT", one, changed, []string{"If-Match", `"7"`}, http.StatusPreconditionFailed},
		"no version":       {"admin", "DELETE", one, "", []string{"If-Match", "x"}, http.StatusPreconditionFailed},
		"of nobody":        {"admin", "PUT", path + "/Nobody", changed, nil, http.StatusNotFound},
		"copy of nobody":   {"admin", "POST", path + "/Nobody/copy", `{"new_name":"A"}`, nil, http.StatusNotFound},
		"copy to itself":   {"admin", "POST", one + "/copy", `{"new_name":"Triage"}`, nil, http.StatusConflict},
		"another name":     {"admin", "PUT", one, strings.Replace(triage, "Triage", "T", 1), nil, http.StatusBadRequest},
		"run nobody":       {"operator", "POST", path + "/Nobody/run", `{"data":"x"}`, nil, http.StatusNotFound},
		"another project":  {"stranger", "GET", one, "", nil, http.StatusNotFound},
		"and its versions": {"stranger", "GET", one + "/versions", "", nil, http.StatusNotFound},
		"not an admin":     {"approver", "DELETE", one, "", nil, http.StatusForbidden},
	} {
		var in any
		if tt.body != "" {
			in = tt.body
		}
		if got := w.call(tt.token, tt.method, tt.path, in, tt.header...); got.status != tt.want {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	second := w.call("admin", "PUT", one, changed, "If-Match", `"1"`)
	if second.status != http.StatusOK || second.header.Get("ETag") != `"2"` || !strings.Contains(second.body, "You rank") {
		t.Errorf("changed: %d %s", second.status, second.body)
	}
	copied := read[system.AgentWhole](w, "admin", "POST", one+"/copy",
		`{"new_name":"Second","model":"scripted:y","tool_config":{"disabled_tools":["shell"]}}`)
	if copied.Description != "Copy of Triage" || copied.Definition.Config.DefaultModel != "scripted:y" ||
		len(copied.Definition.Config.ToolConfig) != 1 ||
		copied.Definition.SystemPrompt != "You rank alerts." {
		t.Errorf("copied %+v", copied)
	}
	var names []string
	for _, a := range read[system.Page[system.AgentInfo]](w, "viewer", "GET", path, nil).Items {
		names = append(names, a.Identity+" "+a.Source)
	}
	if !slices.Contains(names, "Triage@payments virtual") || !slices.Contains(names, "Memo config") || !slices.IsSorted(names) {
		t.Errorf("listed %v", names)
	}
	if got := w.call("admin", "DELETE", one, nil); got.status != http.StatusOK {
		t.Errorf("deleted: %d %s", got.status, got.body)
	}
	if got := w.call("viewer", "GET", one, nil); got.status != http.StatusNotFound {
		t.Errorf("it is still there: %d %s", got.status, got.body)
	}
	versions := read[system.Page[system.AgentWhole]](w, "viewer", "GET", one+"/versions", nil).Items
	if len(versions) != 3 || !versions[0].Deleted || versions[2].Definition.SystemPrompt != "You sort alerts." {
		t.Errorf("versions %+v", versions)
	}
	var acts []string
	for project, want := range map[string]int{"payments": 4, "search": 0} {
		n := 0
		err := w.store.Acts(t.Context(), store.ActFilter{Who: "admin", Project: project}, func(audit.Act) error { n++; return nil })
		if err != nil || n != want {
			t.Errorf("%d acts of %s, %v", n, project, err)
		}
	}
	err := w.store.Acts(t.Context(), store.ActFilter{Who: "admin"}, func(a audit.Act) error {
		if a.Channel == "" {
			t.Errorf("%s came by no channel", a.What)
		}
		acts = append(acts, string(a.What)+" "+a.Call)
		return nil
	})
	if want := []string{"agent-made Triage", "agent-changed Triage", "agent-made Second", "agent-deleted Triage"}; err != nil ||
		!slices.Equal(acts, want) {
		t.Errorf("acts %v, %v", acts, err)
	}
}

// All problems are reported at once, in the words of the spec.
func TestWrongAgents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for body, want := range map[string][]string{
		`{"name":"A","config":{"tool_config":{"enabled_tools":"x","tool_permissions":{"t":{"max_results":"5"}}}}}`: {
			"Virtual agents must specify a default_model", "tool_config.enabled_tools must be a list",
			"tool_config.tool_permissions.t.max_results must be an integer",
		},
		`{"name":"A","config":{"default_model":"nobody:x","tool_config":{"enabled_tools":["shel"],"disabled_tools":["k8s.get"]}}}`: {
			`default_model: unknown provider "nobody:x"`, `tool_config.enabled_tools: unknown tool "shel"; did you mean "shell"?`,
			`tool_config.disabled_tools: unknown tool "k8s.get"`,
		},
		`{"config":{"default_model":"scripted:x"}}`: {"name: a name must contain a letter or digit"},
		`"text"`: {"a definition must be a JSON object"},
	} {
		got := w.call("admin", "POST", "/api/v1/agents", body)
		var p struct{ Errors []struct{ Message string } }
		_ = json.Unmarshal([]byte(got.body), &p)
		for _, text := range want {
			said := slices.ContainsFunc(p.Errors, func(e struct{ Message string }) bool { return strings.HasPrefix(e.Message, text) })
			if !said || got.status != http.StatusBadRequest {
				t.Errorf("%s: %d, and nothing says %s: %s", body, got.status, text, got.body)
			}
		}
	}
}

// Running an agent by itself starts an investigation.
func TestRunAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.call("admin", "POST", "/api/v1/agents", triage)
	for _, name := range []string{"Triage", "Memo"} {
		run := read[system.Started](w, "operator", "POST", "/api/v1/agents/"+name+"/run", `{"data":{"title":"slow"}}`)
		got := read[system.AgentRun](w, "viewer", "GET", "/api/v1/runs/"+run.ID, nil)
		if got.Status != agent.StatusRunning || got.ID != run.ID {
			t.Errorf("got %+v", got)
		}
		if got := w.call("stranger", "GET", "/api/v1/runs/"+run.ID, nil); got.status != http.StatusNotFound {
			t.Errorf("for another project: %d", got.status)
		}
		req := w.temporal.inputs[len(w.temporal.inputs)-1].(agent.Request)
		if req.Chain != "agent/"+name || req.Project != "payments" || req.By != "operator" {
			t.Errorf("started %+v", req)
		}
	}
	id := w.investigation("ended", "payments")
	if got := w.call("viewer", "GET", "/api/v1/runs/"+id, nil); got.status != http.StatusNotFound {
		t.Errorf("an investigation of a chain: %d %s", got.status, got.body)
	}
}

// blind is the envelope of a report that rests on no tool, because an agent never had its server.
var blind = record.Envelope{
	NotChecked: []record.NotChecked{{Server: "k8s", Agents: []string{"Memo"}, Why: "it cannot be started"}}, NoToolResult: true,
}

// A run has an end reason and the caveats of its result.
func TestRunSaysWhatWasNotChecked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, end := workflows.InvestigationID("alone", "00000000-0000-0000-0000-0123456789ab"), time.Now()
	r := record.Investigation{
		ID: id, WorkflowID: "alone", RunID: "r", Chain: "agent/Memo", Status: agent.StatusCompleted, EndReason: agent.EndPartial, PlanHash: "p",
		StartedAt: end, EndedAt: &end, Report: "the pool", Envelope: blind, Labels: agent.Labels{Project: "payments"},
	}
	if err := w.store.FinishInvestigation(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	got := read[system.AgentRun](w, "viewer", "GET", "/api/v1/runs/"+id, nil)
	if got.EndReason != agent.EndPartial || len(got.Caveats) != 2 || !slices.Equal(got.Caveats, blind.Caveats()) {
		t.Errorf("got %+v", got)
	}
}

// Previews know the agents made at run time, as do the workers that plan.
func TestVirtualAhead(t *testing.T) {
	t.Parallel()
	w := open(t, whoMay()+"agents: {Triage: {agent_source: virtual, type: react}, Own: {default_model: 'selector:s'}}\n"+
		"agent_chains: {shop: {projects: [payments], stages: [{name: dig, agents: [{name: Triage}]}]},\n"+
		"  own: {projects: [payments], stages: [{name: dig, agents: [{name: Own}]}]}}\n")
	check := func(chain string) system.Checked {
		return read[system.Checked](w, "operator", "POST", "/api/v1/investigations/check", `{"chain":"`+chain+`","data":"x"}`)
	}
	if got := check("own"); len(got.Stages) != 1 || !slices.Equal(got.Stages[0].Agents, []string{"Own · selector s"}) {
		t.Errorf("an agent whose model a function names: %+v", got)
	}
	chains := []string{"shop", "agent/Triage"}
	for _, chain := range chains {
		if got := check(chain); len(got.Problems) != 1 || !strings.Contains(got.Problems[0], `project "payments" has no agent with that name`) {
			t.Errorf("%s without the agent: %+v", chain, got)
		}
	}
	if got := check("agent/Nobody"); len(got.Problems) != 1 || !strings.Contains(got.Problems[0], `unknown agent "Nobody"`) {
		t.Errorf("an agent that nobody knows: %+v", got)
	}
	if got := w.call("viewer", "GET", "/api/v1/tools?agent=Triage", nil); got.status == http.StatusOK {
		t.Errorf("nobody has tools: %s", got.body)
	}
	w.call("admin", "POST", "/api/v1/agents", triage)
	for _, chain := range chains {
		got := check(chain)
		if len(got.Problems) > 0 || got.Chain != chain || len(got.Stages) != 1 || !slices.Equal(got.Stages[0].Agents, []string{"Triage · x"}) {
			t.Errorf("%s with the agent: %+v", chain, got)
		}
	}
	for _, path := range []string{"chains/shop", "tools?agent=Triage", "tools?agent=Triage&project=payments"} {
		if got := w.call("viewer", "GET", "/api/v1/"+path, nil); got.status != http.StatusOK {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	if got := w.call("stranger", "GET", "/api/v1/tools?agent=Triage", nil); got.status == http.StatusOK {
		t.Errorf("another project's agent has tools: %s", got.body)
	}
}

// A definition, and a copy, may name tools that the policy offers to no agent, and tools of the workers' program.
func TestVirtualTools(t *testing.T) {
	t.Parallel()
	w := open(t, whoMay()+"defaults: {tool_config: {disabled_tools: [page]}}\nagents: {Own: {tool_ids: [page]}}\n"+
		"agent_chains: {shop: {stages: [{name: dig, agents: [{name: Own}]}]}}\n")
	cfg := w.api.opts.Config()
	w.api.opts.Tools = func(context.Context, *configuration.Config) (Tools, error) {
		specs := []tool.Spec{{Name: "page"}, {Name: "sell"}}
		return doctor.NewToolbox(doctor.ToolboxOptions{Config: cfg, Elsewhere: specs, Logger: slog.New(slog.DiscardHandler)}), nil
	}
	const named = `{"name":"New","config":{"default_model":"scripted:x","tool_config":{"disabled_tools":["page"],"enabled_tools":["%s"]}}}`
	for name, want := range map[string]int{"sell": http.StatusBadRequest, "pag": http.StatusBadRequest, "page": http.StatusCreated} {
		if got := w.call("admin", "POST", "/api/v1/agents", fmt.Sprintf(named, name)); got.status != want {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	if got := w.call("admin", "POST", "/api/v1/agents/New/copy", `{"new_name":"Second"}`); got.status != http.StatusCreated {
		t.Errorf("copied: %d %s", got.status, got.body)
	}
}

// A missing model does not hide other problems, and keys in the wrong place are reported under the right name.
func TestAllThatIsWrongWithAnAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	got := w.call("admin", "POST", "/api/v1/agents", `{"name":"New","type":"service","mcp_servers":["x"],"config":{"mcp_servers":["gone"],
		"tool_config":{"enabled_tools":["shel"],"tool_permissions":[]}}}`)
	if got.status != http.StatusBadRequest {
		t.Fatalf("%d %s", got.status, got.body)
	}
	for _, want := range []string{
		"mcp_servers is not known; it belongs at config.mcp_servers", "must specify a default_model", `unknown MCP server \"gone\"`,
		`unknown tool \"shel\"`, "tool_permissions must be a dictionary", `agents of type \"service\" use no model`,
	} {
		if strings.Count(got.body, want) != 1 {
			t.Errorf("%d times %s in %s", strings.Count(got.body, want), want, got.body)
		}
	}
}
