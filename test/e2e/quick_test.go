package e2e

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/tooltest"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/test/history"
	"github.com/inquest-dev/inquest/workflows"
)

// quick has the store know that so many calls of tools, or of labModel, took 5 ms that a few slow ones, on
// a busy machine, change nothing. The model's entry says that it may be quick.
func (w *world) quick(names ...string) {
	w.t.Helper()
	if slices.Contains(names, labModel) {
		body, err := os.ReadFile(w.config)
		if err != nil {
			w.t.Fatal(err)
		}
		asked := strings.Replace(string(body), "model: lab-1,", "model: lab-1, quick_under: 1s,", 1)
		if err := os.WriteFile(w.config, []byte(asked), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	for _, name := range names {
		if _, err := w.open().AddToolTimes(context.Background(), name, tool.Times{2: 1000}, 1); err != nil {
			w.t.Fatal(err)
		}
	}
}

// labModel is what the store calls the model of the lab, among tools.
const labModel = "model lab-model lab-1"

// slowQuick is a lab in which a call that is quick, by all that is known, of the model or of a tool,
// does not end until pass is called.
func slowQuick(t *testing.T, what string) (w *world, investigation string, pass func()) {
	t.Helper()
	gate := tooltest.NewGate(t)
	w, l := newLab(t, func(l *lab) {
		if what == labModel {
			l.heldAt = "Alpha 2"
		} else {
			l.gates["counter"] = gate.Path
		}
	})
	w.quick(what)
	w.dev()
	investigation = workflows.InvestigationID("lab", w.begin("lab").GetRunID())
	if what == labModel {
		l.hold.Wait(t)
		return w, investigation, l.hold.Release
	}
	pass = gate.Wait(t)
	return w, investigation, pass
}

// ofToolAndModel runs a test with a tool and with a model that are thought to be quick.
func ofToolAndModel(t *testing.T, test func(t *testing.T, what string)) {
	for _, what := range []string{"lab.counter", labModel} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			test(t, what)
		})
	}
}

// hears measures how long it takes until an agent has taken in what it is told.
func (w *world) hears(agent, name string, payload any) {
	w.t.Helper()
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	update, err := w.client().UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: agent, UpdateName: name, Args: []any{payload}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = update.Get(ctx, nil)
	}
	if took := time.Since(began); err != nil || took > soon {
		w.t.Errorf("%s took %s: %v", name, took, err)
	} else {
		w.t.Logf("%s took %s", name, took)
	}
}

// soon is how soon what people say arrives, whatever a call does that was thought quick.
const soon = 5 * time.Second

// A call that is quick by all that is known, and then takes long: its result is written
// once, and its time is known.
func TestQuickCallThatIsSlow(t *testing.T) { ofToolAndModel(t, slowCall) }

func slowCall(t *testing.T, what string) {
	want, requests := baseline(t)
	w, id, pass := slowQuick(t, what)
	alpha := id + "/dig/Alpha"
	w.hears(alpha, workflows.SignalPause, workflows.By{By: "Ada"})
	w.hears(alpha, workflows.SignalResume, workflows.By{By: "Ada"})
	time.Sleep(12 * time.Second) // some workflow tasks
	pass()
	w.end("lab")
	if diff := cmp.Diff(want, w.log(id)); diff != "" || w.effects() != 1 || len(w.model.Requests()) != requests {
		t.Errorf("%d effects, %d requests; transcript (-undisturbed +slow):\n%s", w.effects(), len(w.model.Requests()), diff)
	}
	summary := map[string]string{"lab.counter": "lab.counter", labModel: "lab-1 · iteration 2"}[what]
	if !slices.ContainsFunc(w.history(alpha), func(e *historypb.HistoryEvent) bool { return history.IsMarker(e, summary) }) {
		t.Error("the call was not made within a workflow task, or is not named there")
	}
	times, err := w.open().ToolTimes(t.Context(), what)
	if err != nil || times[len(times)-1] == 0 {
		t.Errorf("a slow call has taught nothing: %v, %v", times, err)
	}
}

func TestPeopleAreHeardInAQuickCallThatIsSlow(t *testing.T) { ofToolAndModel(t, heardInSlowCall) }

func heardInSlowCall(t *testing.T, what string) {
	w, id, pass := slowQuick(t, what)
	w.hears(id+"/dig/Alpha", workflows.SignalGuide, workflows.Guide{Text: "look at the disks"})
	w.hears(id+"/dig/Alpha", workflows.SignalConclude, workflows.Conclude{})
	pass()
	w.end("lab")
	heard := func(e transcript.Entry) bool { return e.Mail > 0 && strings.Contains(e.Text, "look at the disks") }
	if !slices.ContainsFunc(w.entries(id), heard) {
		t.Error("the guidance was not read")
	}
}

func TestQuickCallThatIsSlowIsCancelled(t *testing.T) { ofToolAndModel(t, slowCallCancelled) }

func slowCallCancelled(t *testing.T, what string) {
	w, _, _ := slowQuick(t, what)
	time.Sleep(time.Second)
	began := time.Now()
	if err := w.client().CancelWorkflow(t.Context(), "lab", ""); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := w.client().GetWorkflow(ctx, "lab", "").Get(ctx, nil); !temporal.IsCanceledError(err) {
		t.Errorf("it ended with %v", err)
	}
	if took := time.Since(began); took > soon {
		t.Errorf("it took %s", took)
	}
}
