package e2e

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

// approvalConfig is the lab's configuration with calls that need approval: some because of the agent's
// definition, one because of the tool's risk.
var approvalConfig = strings.NewReplacer(
	`Alpha: {description: digs, mcp_servers: [lab]}`,
	`Alpha: {description: digs, mcp_servers: [lab], tool_config: {tool_permissions: {lab.set: {requires_approval: true}, lab.counter: `+
		`{requires_approval: true}}}}`,
	`command: "{{.E2E_TOOLS}}"}}`, `command: "{{.E2E_TOOLS}}"}, risk: {add: high}}`,
).Replace(labConfig)

// decideCommand matches the command that a watcher is shown.
var decideCommand = regexp.MustCompile(`lab\.(\w+) .*Decide: starter (decide \S+ \S+ --digest \S+ --approve)`)

// TestApprovals decides calls in every way, with a kill of all processes in between.
func TestApprovals(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newScript().script(), approvalConfig)
	dev := w.dev()
	run := w.begin("lab")
	id := workflows.InvestigationID("lab", run.GetRunID())
	watch := w.start("Decide: starter decide", "starter", "watch", "lab")
	w.waitsFor("lab", "lab.add", "lab.set")

	// Alpha's first call is approved with the command that the watcher shows, which leads to the second call.
	w.must(w.received(watch, "set")...)
	before := w.waitsFor("lab", "lab.add", "lab.counter")
	for _, call := range before.Waiting {
		if call.WorkflowID != id+"/"+call.Execution || call.Expires.Before(time.Now()) || call.Arguments == "" {
			t.Errorf("waiting: %+v", call)
		}
	}
	if before.WaitingFor != "a person to approve or deny 2 tool calls" {
		t.Errorf("waiting for %s", before.WaitingFor)
	}

	dev.kill()
	w.dev()
	after := w.waitsFor("lab", "lab.add", "lab.counter")
	if !slices.EqualFunc(before.Waiting, after.Waiting, func(a, b workflows.Approval) bool {
		return a.CallID == b.CallID && a.Expires.Equal(b.Expires)
	}) {
		t.Errorf("before the kill: %+v\nafter it: %+v", before.Waiting, after.Waiting)
	}
	if entries := w.callsOf(id, "lab.counter", "lab.add"); len(entries) != 0 {
		t.Errorf("before anybody decided: %+v", entries)
	}

	out := w.must("approvals")
	for _, call := range after.Waiting {
		if !strings.Contains(out, call.Execution+"/"+call.CallID) || !strings.Contains(out, call.Tool) {
			t.Errorf("approvals does not list %+v:\n%s", call, out)
		}
	}
	w.received(watch, "counter") // the watcher survived the kill
	w.denyAsOthersDo(waiting(after, "lab.add"))
	counter := waiting(after, "lab.counter")
	w.mustFail(1, `lab.counter`, "decide", "lab", "no-such-call", "--approve")
	var decided activities.Decision
	if err := json.Unmarshal([]byte(w.must("decide", "lab", counter.Execution+"/"+counter.CallID, "--approve", "--by", "Ada", "--json")),
		&decided); err != nil {
		t.Fatal(err)
	}
	if !decided.Approved || decided.By != "Ada" || decided.At.IsZero() {
		t.Errorf("decided: %+v", decided)
	}
	if result := w.end("lab"); result.Status != agent.StatusCompleted {
		t.Errorf("result: %+v", result)
	}
	w.checkDecided(id)
	if code := watch.wait(); code != 0 || len(decideCommand.FindAllString(watch.log.String(), -1)) != 3 {
		t.Errorf("the watcher, with exit code %d, was told of other than three calls:\n%s", code, watch.log)
	}
	w.mustFail(1, "has ended", "decide", "lab", counter.CallID, "--approve")
}

// TestDecisionBeforeACancel: decisions about calls that are not made because the investigation is cancelled are in the
// audit trail.
func TestDecisionBeforeACancel(t *testing.T) {
	t.Parallel()
	set := llmtest.Call{Name: "lab__set", Args: "{}"}
	w := newWorld(t, func(req llmtest.Request) llmtest.Reply {
		if turnOf(req) == 1 {
			return llmtest.Calls(set, set)
		}
		return llmtest.Text("done")
	}, approvalConfig)
	w.dev()
	w.begin("lab")
	status := w.waitsFor("lab", "lab.set", "lab.set")
	denied := waiting(status, "lab.set")
	w.must("decide", "lab", denied.Execution+"/"+denied.CallID, "--deny", "--reason", "not during the sale", "--by", "Ada")
	w.must("cancel", "lab")
	eventually(t, "it is cancelled", func() bool { return strings.Contains(w.must("status", "lab"), "cancelled") })
	trail := w.must("audit", "lab")
	for _, want := range []string{"denied", "not during the sale", "the agent was cancelled before the call was decided on"} {
		if !strings.Contains(trail, want) {
			t.Errorf("no %q in the audit trail:\n%s", want, trail)
		}
	}
	if *recordHistories {
		w.record("decided-then-cancelled")
	}
}

// checkDecided checks the outcome of the calls.
func (w *world) checkDecided(id string) {
	w.t.Helper()
	if n := w.effects(); n != 1 {
		w.t.Errorf("the approved call was made %d times", n)
	}
	for _, e := range w.callsOf(id, "lab.set", "lab.counter", "lab.add") {
		switch {
		case e.Call.Name != "lab.add":
			if e.Kind == transcript.KindResult && e.Status != "success" {
				w.t.Errorf("an approved call: %+v", e)
			}
		case e.Kind == transcript.KindCall:
			w.t.Errorf("the denied call was begun: %+v", e)
		case e.ErrorType != activities.ResultDenied || !strings.Contains(e.Text, "denied by Bob (") || !strings.Contains(e.Text, "(not today)"):
			w.t.Errorf("the model was told %s: %s", e.ErrorType, e.Text)
		}
	}
}

// waitsFor waits until exactly these tools' calls need a decision.
func (w *world) waitsFor(id string, tools ...string) (status workflows.Status) {
	w.t.Helper()
	c := w.client()
	eventually(w.t, strings.Join(tools, " and ")+" wait for a person", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		value, err := c.QueryWorkflow(ctx, id, "", workflows.QueryStatus)
		status = workflows.Status{}
		if err != nil || value.Get(&status) != nil {
			return false // the worker is not back yet
		}
		var names []string
		for _, call := range status.Waiting {
			names = append(names, call.Tool)
		}
		slices.Sort(names)
		return slices.Equal(names, tools)
	})
	return status
}

func waiting(s workflows.Status, tool string) workflows.Approval {
	for _, call := range s.Waiting {
		if call.Tool == tool {
			return call
		}
	}
	return workflows.Approval{}
}

// received waits until a watcher shows a call, and returns the arguments of the command that approves it.
func (w *world) received(watch *process, tool string) (args []string) {
	w.t.Helper()
	eventually(w.t, "the command for "+tool, func() bool {
		for _, m := range decideCommand.FindAllStringSubmatch(watch.log.String(), -1) {
			if m[1] == tool {
				args = strings.Fields(m[2])
			}
		}
		return args != nil
	})
	return args
}

// denyAsOthersDo sends the update as the Temporal CLI or UI does: plain JSON.
func (w *world) denyAsOthersDo(call workflows.Approval) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	handle, err := w.client().UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: call.WorkflowID, UpdateName: "decide", WaitForStage: client.WorkflowUpdateStageCompleted,
		Args: []any{map[string]any{"call_id": call.CallID, "approved": false, "by": "Bob", "reason": "not today"}},
	})
	if err == nil {
		err = handle.Get(ctx, nil)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// callsOf returns the intents and results of some tools' calls.
func (w *world) callsOf(investigation string, tools ...string) (out []transcript.Entry) {
	w.t.Helper()
	entries, err := w.open().After(context.Background(), investigation, 0, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range entries {
		if (e.Kind == transcript.KindCall || e.Kind == transcript.KindResult) && slices.Contains(tools, e.Call.Name) {
			out = append(out, e)
		}
	}
	return out
}
