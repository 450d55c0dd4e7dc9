package e2e

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/tool/tooltest"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

var recordHistories = flag.Bool("record", false, "write the histories of TestLongShapes and others to workflows/testdata/histories/next")

// shapesConfig adds to the lab's chain the parts that only some shapes need.
const shapesConfig = labConfig + `
  limited:
    alert_types: [limited]
    max_iterations: 1
    stages: [{name: dig, agents: [{name: Alpha}]}]
  hurried:
    alert_types: [hurried]
    stages: [{name: dig, agents: [{name: Alpha, timeout: 2s}]}]
  fallback:
    alert_types: [fallback]
    fallback_providers: [{provider: openai-second, backend: langchain}]
    stages: [{name: dig, agents: [{name: Alpha}]}]
  replicas:
    alert_types: [replicas]
    stages: [{name: dig, agents: [{name: Beta}], replicas: 3, success_policy: all, synthesis: {agent: SynthesisAgent}}]
`

// TestLongShapes runs every shape that an investigation can take. With -record, the
// histories become the corpus that workflows/replay_test.go replays.
func TestLongShapes(t *testing.T) {
	takesLong(t)
	t.Parallel()
	tests := []struct {
		name    string
		chain   string
		quick   []string // calls that are expected to take milliseconds
		prepare func(*testing.T, *lab)
		steer   func(*world, *lab, string) // while it runs
		status  agent.Status
		reason  agent.EndReason
	}{
		{name: "plain", status: agent.StatusCompleted, reason: agent.EndCompleted},
		{name: "quick", status: agent.StatusCompleted, reason: agent.EndCompleted, quick: []string{labModel, "lab.echo", "lab.counter"}},
		{name: "quick and slow", status: agent.StatusCompleted, reason: agent.EndCompleted, quick: []string{labModel},
			prepare: func(_ *testing.T, l *lab) { l.heldAt = "Alpha 2" },
			steer: func(w *world, l *lab, id string) {
				l.hold.Wait(w.t)
				w.beats(id + "/dig/Alpha") // a regular activity runs it
				l.hold.Release()
			}},
		{name: "limited", chain: "limited", status: agent.StatusCompleted, reason: agent.EndCompleted,
			prepare: func(_ *testing.T, l *lab) {
				l.replace["Alpha 2"] = llmtest.Text("what I know so far")
			}},
		{name: "replicas", chain: "replicas", status: agent.StatusCompleted, reason: agent.EndCompleted,
			prepare: func(_ *testing.T, l *lab) { l.alias = "Beta-" }},
		{name: "fallback", chain: "fallback", status: agent.StatusCompleted, reason: agent.EndCompleted,
			prepare: func(_ *testing.T, l *lab) { l.refuse = "lab-1" }},
		{name: "failed", status: agent.StatusFailed, reason: agent.EndLLMFailed,
			prepare: func(_ *testing.T, l *lab) { l.replace["Gamma 1"] = llmtest.BadKey() }},
		{name: "one of two failed", status: agent.StatusCompleted, reason: agent.EndCompleted,
			prepare: func(_ *testing.T, l *lab) { l.replace["Beta 1"] = llmtest.BadKey() }},
		{name: "hurried", chain: "hurried", status: agent.StatusCompleted, reason: agent.EndCompleted, // it has a final answer
			prepare: func(t *testing.T, l *lab) {
				l.gates["set"] = tooltest.NewGate(t).Path
				l.replace["Alpha 2"] = llmtest.Text("what I know so far")
			}},
		{name: "too late", chain: "hurried", status: agent.StatusTimedOut, reason: agent.EndTimedOut,
			prepare: func(t *testing.T, l *lab) {
				l.gates["set"] = tooltest.NewGate(t).Path
				l.replace["Alpha 2"] = llmtest.BadKey()
			}},
		{name: "cancelled", status: agent.StatusCancelled, reason: agent.EndCancelled,
			prepare: func(_ *testing.T, l *lab) { l.heldAt = "Gamma 1" },
			steer: func(w *world, l *lab, _ string) {
				l.hold.Wait(w.t)
				if err := w.client().CancelWorkflow(context.Background(), "lab", ""); err != nil {
					w.t.Fatal(err)
				}
			}},
		{name: "concluded", status: agent.StatusCompleted, reason: agent.EndCompleted,
			prepare: func(_ *testing.T, l *lab) {
				l.heldAt = "Alpha 1"
				l.replace["Alpha 2"] = llmtest.Text("what I know so far")
			},
			steer: func(w *world, l *lab, _ string) {
				l.hold.Wait(w.t)
				w.signal("lab", workflows.SignalConclude, workflows.Conclude{By: "Ada"})
				l.hold.Release()
			}},
		{name: "steered", status: agent.StatusCompleted, reason: agent.EndCompleted,
			prepare: func(_ *testing.T, l *lab) { l.heldAt = "Alpha 1" },
			steer: func(w *world, l *lab, id string) {
				l.hold.Wait(w.t)
				w.signal("lab", workflows.SignalGuide, workflows.Guide{Text: "look at the disks", By: "Ada"})
				w.signal("lab", workflows.SignalGuide, workflows.Guide{Text: "be brief", Agent: "Gamma"})
				w.signal("lab", workflows.SignalGuide, workflows.Guide{Text: "nobody", Agent: "Nobody"})
				w.signal("lab", workflows.SignalPause, nil)
				eventually(w.t, "Alpha is paused", func() bool { return w.agentStatus(id+"/dig/Alpha").Status == agent.StatusPaused })
				l.hold.Release()
				w.until(id, func(e transcript.Entry) bool { return e.Execution == "dig/Alpha" && e.Kind == transcript.KindResult })
				w.signal("lab", workflows.SignalResume, nil)
			}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := newScript()
			if tt.prepare != nil {
				tt.prepare(t, l)
			}
			w := newWorld(t, l.script(), shapesConfig)
			w.env = append(w.env, "OPENAI_API_KEY="+key)
			w.addFallback()
			w.quick(tt.quick...)
			w.dev()
			chain := tt.chain
			if chain == "" {
				chain = "lab"
			}
			run := w.beginWith("lab", agent.Request{Chain: chain, Data: []byte(`"what happened?"`)})
			id := workflows.InvestigationID("lab", run.GetRunID())
			if tt.steer != nil {
				tt.steer(w, l, id)
			}
			_ = run.Get(context.Background(), nil)
			inv, err := w.open().Investigation(context.Background(), id)
			if err != nil || inv.Status != tt.status || inv.EndReason != tt.reason {
				t.Errorf("ended as %s, %s (%s), %v; want %s, %s", inv.Status, inv.EndReason, inv.Error, err, tt.status, tt.reason)
			}
			if *recordHistories {
				w.record(tt.name)
			}
		})
	}
}

// addFallback adds a second provider, at the same address, to the configuration.
func (w *world) addFallback() {
	w.t.Helper()
	body, err := os.ReadFile(w.config)
	if err != nil {
		w.t.Fatal(err)
	}
	second := "llm_providers:\n  openai-second: {type: openai, model: lab-2, base_url: \"{{.E2E_MODEL}}\", api_key_env: E2E_KEY}\n"
	if err := os.WriteFile(w.config, []byte(strings.Replace(string(body), "llm_providers:\n", second, 1)), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// An execution that outgrows its history continues in a new run, with no visible difference.
func TestLongContinueAsNew(t *testing.T) {
	takesLong(t)
	t.Parallel()
	const turns = 400 // of twelve events each: Temporal suggests a new run at 4,096
	w := newWorld(t, func(req llmtest.Request) llmtest.Reply {
		if turn := turnOf(req); turn <= turns {
			return llmtest.Calls(llmtest.Call{Name: "lab__echo", Args: `{"text":"again"}`})
		}
		return llmtest.Text("done")
	}, strings.Replace(longConfig, "max_iterations: 200",
		"max_iterations: 700, tool_config: {quick_under: 0}, compression: {compress_context: false}", 1))
	w.dev()
	run := w.beginWith("long", agent.Request{Chain: "long", Data: []byte(`"x"`)})
	id := workflows.InvestigationID("long", run.GetRunID())
	_ = run.Get(context.Background(), nil) // a busy machine takes minutes
	result := w.end("long")
	if result.Report != "done" || result.Usage.ModelCalls != turns+1 || result.Usage.ToolCalls != turns {
		t.Errorf("result: %+v", result)
	}
	runs := 0
	for _, execution := range w.list() {
		if execution == id+"/dig/Alpha" {
			runs++
		}
	}
	if runs != 2 {
		t.Errorf("the agent had %d runs, want 2", runs)
	}
	entries, err := w.open().Entries(context.Background(), transcript.Scope{Investigation: id, Execution: "dig/Alpha"})
	if want := 2 + (turns + 1) + 2*turns; err != nil || len(entries) != want {
		t.Errorf("the transcript has %d entries, want %d (%v)", len(entries), want, err)
	}
	if *recordHistories {
		w.record("continued")
	}
}

// list returns the workflow IDs of all runs.
func (w *world) list() (ids []string) {
	w.t.Helper()
	var executions []string
	eventually(w.t, "all workflows are closed", func() bool {
		executions = executions[:0]
		listed, err := w.client().ListWorkflow(context.Background(), &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: "default", Query: "WorkflowType != '" + workflows.TypeFleet + "'",
		})
		if err != nil {
			w.t.Fatal(err)
		}
		for _, e := range listed.GetExecutions() {
			if e.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
				return false
			}
			executions = append(executions, e.GetExecution().GetWorkflowId())
		}
		return true
	})
	return executions
}

// machine matches the text that identifies the machine on which a history was recorded. A replay ignores it.
var machine = regexp.MustCompile(`("identity": ?"|"name": ?")[^"]*(@|:[0-9a-f]{8}-)[^"]*"`)

// record writes the histories of all workflows, one file each.
func (w *world) record(shape string) {
	w.t.Helper()
	w.recordOf(shape, w.list())
}

func (w *world) recordOf(shape string, ids []string) {
	w.t.Helper()
	dir := "../../workflows/testdata/histories/next" // renamed when a release is made
	if err := os.MkdirAll(dir, 0o755); err != nil {
		w.t.Fatal(err)
	}
	for _, id := range ids {
		if strings.HasPrefix(id, "inquest-reconcile-") { // the schedule started it, and its name would be that of the shape alone
			continue
		}
		history := &historypb.History{Events: w.history(id)}
		body, err := protojson.Marshal(history)
		if err != nil {
			w.t.Fatal(err)
		}
		top, name, _ := strings.Cut(id, "/")
		if strings.HasSuffix(top, workflows.ScoringID("")) { // it runs beside its investigation
			name = strings.TrimSuffix("scoring "+name, " ")
		}
		name = strings.NewReplacer(" ", "-", "/", "-", "#", "-").Replace(shape + "_" + name)
		path := filepath.Join(dir, strings.TrimSuffix(name, "_")+".json")
		if err := os.WriteFile(path, machine.ReplaceAll(body, []byte(`${1}recorded"`)), 0o644); err != nil {
			w.t.Fatal(err)
		}
	}
	w.t.Logf("recorded %s at %s", shape, time.Now().UTC().Format(time.DateOnly))
}
