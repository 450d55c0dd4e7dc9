package e2e

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/tooltest"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

// The store is restored from a backup while an investigation runs, and Temporal is not. Nothing is done twice:
// the investigation stops before its next call and reports the reason.
func TestStoreIsSetBack(t *testing.T) {
	t.Parallel()
	gate := tooltest.NewGate(t)
	w, l := newLab(t, func(l *lab) {
		l.gates["set"] = gate.Path
		l.heldAt = "Alpha 3"
	})
	dev := w.dev()
	run := w.begin("lab")
	id := workflows.InvestigationID("lab", run.GetRunID())
	pass := gate.Wait(t)
	w.until(id, func(e transcript.Entry) bool { return e.Text == "beta knows five" }) // nothing else is written now
	backup := w.backUp()
	pass()
	l.hold.Wait(t) // the call to lab.counter has ended and been reported to Temporal
	asked := len(w.model.Requests())
	dev.kill()
	w.restore(backup)
	w.dev()

	var result workflows.InvestigationResult
	err := w.client().GetWorkflow(t.Context(), "lab", "").Get(t.Context(), &result)
	if err == nil || !strings.Contains(err.Error(), "the store is missing entry ") {
		t.Errorf("it ended with %v, %+v", err, result)
	}
	if n := w.effects(); n != 1 || len(w.model.Requests()) != asked {
		t.Errorf("%d effects of one call, %d model calls after %d", n, len(w.model.Requests()), asked)
	}
	shown, _, code := w.starter("", "status", id)
	if code != 0 || !strings.Contains(shown, string(agent.EndStoreBehind)) || !strings.Contains(shown, "starter store check "+id) {
		t.Errorf("status, exit code %d:\n%s", code, shown)
	}
	found, said, code := w.starter("", "store", "check", id)
	if code != 1 || !strings.Contains(found, id+": missing: ") || !strings.Contains(found, "entries that Temporal refers to") ||
		!strings.Contains(found, "starter rerun ID") || !strings.Contains(said, "lacks data for 1 of 1") {
		t.Errorf("store check, exit code %d:\n%s%s", code, found, said)
	}
}

// The store lost only the intent of an approved call in progress. Temporal knows about it from a heartbeat, so
// the call is not repeated.
func TestStoreIsSetBackBeforeAnIntent(t *testing.T) {
	t.Parallel()
	gate := tooltest.NewGate(t)
	w, _ := newLab(t, func(l *lab) {
		l.gates["counter"] = gate.Path
		l.replace["Alpha 3"] = llmtest.Text("alpha knows")
	})
	w.configure(strings.Replace(labConfig, "defaults:",
		"defaults:\n  tool_config: {tool_permissions: {lab.counter: {requires_approval: true}}}", 1))
	dev := w.dev()
	run := w.begin("lab")
	id := workflows.InvestigationID("lab", run.GetRunID())
	call := w.waitsFor("lab", "lab.counter").Waiting[0].CallID
	w.until(id, func(e transcript.Entry) bool { return e.Text == "beta knows five" })
	backup := w.backUp()
	w.must("decide", id, call, "--approve")
	pass := gate.Wait(t)
	w.heartbeatSays(id+"/dig/Alpha", activities.Doing{Intended: true})
	if found := w.must("store", "check"); !strings.Contains(found, id+": nothing is missing; entries in the store: ") {
		t.Errorf("store check says of a whole store:\n%s", found)
	}
	dev.kill()
	pass()
	w.restore(backup)
	w.dev()
	if result := w.end("lab"); result.Status != agent.StatusCompleted || w.effects() != 1 {
		t.Errorf("%d effects of one call; %+v", w.effects(), result)
	}
	var received transcript.Entry
	w.until(id, func(e transcript.Entry) bool {
		received = e
		return e.Kind == transcript.KindResult && e.Call.Name == "lab.counter"
	})
	if received.ErrorType != tool.ErrorOutcomeUnknown || !strings.Contains(received.Text, "the store has lost") {
		t.Errorf("the model was told %q", received.Text)
	}
}

// Both databases are restored to a backup from before an approved call was made. With --hold, everything starts paused, the call is
// not made again although it is approved again, and resume-all lets the agents go on, who are told of the restore.
func TestBothDatabasesAreRestored(t *testing.T) {
	t.Parallel()
	w, _ := newLab(t, func(l *lab) {
		l.replace["Talker 1"], l.replace["Talker 2"] = llmtest.Text("hello"), llmtest.Text("still here")
	})
	w.configure(strings.NewReplacer("defaults:", "defaults:\n  tool_config: {tool_permissions: {lab.counter: {requires_approval: true}}}",
		"agents:\n", "agents:\n  Talker: {description: talks}\n").Replace(labConfig))
	dev := w.dev()
	w.send("Talker", "talk", "hello")
	run := w.begin("lab")
	id := workflows.InvestigationID("lab", run.GetRunID())
	call := w.waitsFor("lab", "lab.counter").Waiting[0].CallID
	w.until(id, func(e transcript.Entry) bool { return e.Text == "beta knows five" })
	dev.terminate()
	backup := t.TempDir()
	if err := os.CopyFS(backup, os.DirFS(w.data)); err != nil {
		t.Fatal(err)
	}
	dev = w.dev()
	w.must("decide", id, call, "--approve")
	if result := w.end("lab"); result.Status != agent.StatusCompleted || w.effects() != 1 {
		t.Fatalf("%d effects; %+v", w.effects(), result)
	}
	dev.terminate()
	if err := os.RemoveAll(w.data); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(w.data, os.DirFS(backup)); err != nil {
		t.Fatal(err)
	}

	w.dev("--hold")
	list := &workflowservice.ListWorkflowExecutionsRequest{Query: "WorkflowType = 'IteratingAgent'"}
	agents, err := w.client().ListWorkflow(t.Context(), list)
	if err != nil || len(agents.GetExecutions()) == 0 || agents.GetExecutions()[0].GetParentExecution().GetWorkflowId() == "" {
		t.Errorf("agents whose parents tell --hold what to pause: %v, %v", agents, err)
	}
	w.waitsFor("lab", "lab.counter")
	asked := len(w.model.Requests())
	w.must("decide", id, call, "--approve")
	var told transcript.Entry
	w.until(id, func(e transcript.Entry) bool {
		told = e
		return e.Kind == transcript.KindResult && e.Call.Name == "lab.counter"
	})
	if told.ErrorType != tool.ErrorOutcomeUnknown || !strings.Contains(told.Text, "restored from a backup") {
		t.Errorf("the model is told %q", told.Text)
	}
	eventually(t, "the investigation is paused", func() bool {
		shown, _, _ := w.starter("", "status", id)
		return strings.Contains(shown, "paused")
	})
	if n := len(w.model.Requests()); n != asked {
		t.Errorf("%d model calls while everything is held", n-asked)
	}
	said := w.must("resume-all")
	if !strings.Contains(said, id+": resume accepted") || !strings.Contains(said, "resume accepted, for chat/Talker") {
		t.Errorf("resume-all says %q", said)
	}
	w.send("Talker", "talk", "and now?")
	if result := w.end("lab"); result.Status != agent.StatusCompleted || w.effects() != 0 {
		t.Errorf("%d effects after the restore; %+v", w.effects(), result)
	}
	isTold := func(m llmtest.Message) bool {
		return m.Content != nil && strings.Contains(*m.Content, "were restored from a backup")
	}
	if next := w.model.Requests()[asked]; !slices.ContainsFunc(next.Messages, isTold) {
		t.Errorf("the agent is not told: %+v", next.Messages)
	}
	w.must("chat", "--thread", "talk", "--close")
	if _, said, _ := w.starter("", "resume-all"); !strings.Contains(said, "Nothing is paused.") {
		t.Errorf("resume-all says %q", said)
	}
}

// backUp copies the store while nothing writes to it.
func (w *world) backUp() map[string][]byte {
	w.t.Helper()
	files := map[string][]byte{}
	for _, name := range []string{w.store, w.store + "-wal"} {
		body, err := os.ReadFile(name)
		if err != nil {
			w.t.Fatal(err)
		}
		files[name] = body
	}
	return files
}

// restore replaces the store, which no process has open, by a backup.
func (w *world) restore(files map[string][]byte) {
	w.t.Helper()
	for _, name := range []string{w.store, w.store + "-wal", w.store + "-shm"} { // new files, because the test has the old ones open
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			w.t.Fatal(err)
		}
	}
	for name, body := range files {
		if err := os.WriteFile(name, body, 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
}

// heartbeatSays waits until the last heartbeat of a workflow's only activity reports the given state.
func (w *world) heartbeatSays(workflow string, want activities.Doing) {
	w.t.Helper()
	c := w.client()
	eventually(w.t, "a heartbeat", func() bool {
		described, err := c.DescribeWorkflowExecution(w.t.Context(), workflow, "")
		if err != nil || len(described.GetPendingActivities()) != 1 {
			return false
		}
		said := described.GetPendingActivities()[0].GetHeartbeatDetails()
		return activities.ReadDoing(func(to any) error { return converter.GetDefaultDataConverter().FromPayloads(said, to) }) == want
	})
}
