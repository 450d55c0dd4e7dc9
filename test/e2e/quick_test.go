package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/tooltest"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/test/history"
	"github.com/inquest-dev/inquest/workflows"
)

// quick makes tools and labModel quick: the store has their times, the model's entry has quick_under, and the
// lab's entry marks the tools as read-only, because other calls are always activities.
func (w *world) quick(names ...string) {
	w.t.Helper()
	body, err := os.ReadFile(w.config)
	if err != nil {
		w.t.Fatal(err)
	}
	config, reading := string(body), []string{}
	for _, name := range names {
		if own, ok := strings.CutPrefix(name, "lab."); ok {
			reading = append(reading, own+": read_only")
		}
	}
	if slices.Contains(names, labModel) {
		config = strings.Replace(config, "model: lab-1,", "model: lab-1, quick_under: 1s,", 1)
	}
	if len(reading) > 0 {
		config = strings.Replace(config, "  lab: {", "  lab: {risk: {"+strings.Join(reading, ", ")+"}, ", 1)
	}
	w.configure(config)
	w.knownQuick(names...)
}

// knownQuick records enough calls of 5 ms for tools, or for labModel, that a few slow calls on a busy machine
// change nothing.
func (w *world) knownQuick(names ...string) {
	w.t.Helper()
	for _, name := range names {
		if _, err := w.open().AddToolTimes(context.Background(), name, tool.Times{2: 1000}, 1); err != nil {
			w.t.Fatal(err)
		}
	}
}

// labModel is the store's name for the lab's model, among the tools.
const labModel = "model lab-model lab-1"

// slowQuick is a lab in which a call to the model or to a tool that is expected to be quick does not end until
// pass is called.
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

// ofToolAndModel runs a test with a tool and with a model that are expected to be quick.
func ofToolAndModel(t *testing.T, test func(t *testing.T, what string)) {
	for _, what := range []string{"lab.counter", labModel} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			test(t, what)
		})
	}
}

// sendSignal measures how long a signal takes to reach an agent.
func (w *world) sendSignal(agent, name string, payload any) {
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

// soon limits the time for delivering a signal while a call that was expected to be quick is held. The call is not let go before the
// signal is delivered, so the limit only has to be shorter than the timeouts of calls.
const soon = time.Minute

// If a call that is expected to be quick takes long, its result is written once and its time is recorded.
func TestQuickCallThatIsSlow(t *testing.T) { ofToolAndModel(t, slowCall) }

func slowCall(t *testing.T, what string) {
	want, requests := baseline(t)
	w, id, pass := slowQuick(t, what)
	alpha := id + "/dig/Alpha"
	w.sendSignal(alpha, workflows.SignalPause, workflows.By{By: "Ada"})
	w.sendSignal(alpha, workflows.SignalResume, workflows.By{By: "Ada"})
	time.Sleep(12 * time.Second) // longer than the last of tool.TimeBounds
	pass()
	w.end("lab")
	if diff := cmp.Diff(want, w.log(id)); diff != "" || w.effects() != 1 || len(w.model.Requests()) != requests {
		t.Errorf("%d effects, %d requests; transcript (-undisturbed +slow):\n%s", w.effects(), len(w.model.Requests()), diff)
	}
	summary := map[string]string{"lab.counter": "lab.counter", labModel: "lab-1 · iteration 2"}[what]
	events := w.history(alpha)
	begun := slices.IndexFunc(events, func(e *historypb.HistoryEvent) bool {
		return strings.Contains(string(e.GetUserMetadata().GetSummary().GetData()), summary)
	})
	switch {
	case begun < 0:
		t.Error("no event of the history names the call")
	case !history.IsMarker(events[begun], summary) && expectedQuick(events, begun):
		t.Error("the call was not made within a workflow task")
	}
	times, err := w.open().ToolTimes(t.Context(), what)
	if err != nil || times[len(times)-1] == 0 {
		t.Errorf("a slow call has taught nothing: %v, %v", times, err)
	}
}

// expectedQuick reports whether an agent had to make the call that the nth event begins within the workflow task: its last activity
// said that the call is quick, and the task had not taken half a second yet. On a busy machine, either may be false.
func expectedQuick(events []*historypb.HistoryEvent, n int) bool {
	said := slices.ContainsFunc(events[:n], func(e *historypb.HistoryEvent) bool {
		payloads := e.GetActivityTaskCompletedEventAttributes().GetResult().GetPayloads()
		for _, detail := range e.GetMarkerRecordedEventAttributes().GetDetails() {
			payloads = append(payloads, detail.GetPayloads()...)
		}
		return slices.ContainsFunc(payloads, func(p *commonpb.Payload) bool { return strings.Contains(string(p.GetData()), `"quick":true`) })
	})
	completed := events[events[n].GetActivityTaskScheduledEventAttributes().GetWorkflowTaskCompletedEventId()-1]
	started := events[completed.GetWorkflowTaskCompletedEventAttributes().GetStartedEventId()-1]
	return said && completed.GetEventTime().AsTime().Sub(started.GetEventTime().AsTime()) < time.Second/2
}

func TestPeopleAreHeardInAQuickCallThatIsSlow(t *testing.T) { ofToolAndModel(t, heardInSlowCall) }

func heardInSlowCall(t *testing.T, what string) {
	w, id, pass := slowQuick(t, what)
	w.sendSignal(id+"/dig/Alpha", workflows.SignalGuide, workflows.Guide{Text: "look at the disks"})
	w.sendSignal(id+"/dig/Alpha", workflows.SignalConclude, workflows.Conclude{})
	pass()
	w.end("lab")
	received := func(e transcript.Entry) bool { return e.Mail > 0 && strings.Contains(e.Text, "look at the disks") }
	if !slices.ContainsFunc(w.entries(id), received) {
		t.Error("the guidance was not read")
	}
}

func TestQuickCallThatIsSlowIsCancelled(t *testing.T) { ofToolAndModel(t, slowCallCancelled) }

func slowCallCancelled(t *testing.T, what string) {
	w, id, _ := slowQuick(t, what)
	w.beats(id + "/dig/Alpha")
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

// Every call that may change something is an activity in Temporal's history, with the tool and the call in its summary,
// even if the tool is known to be quick. A call that only reads is a marker. A reply's calls that change only the agent's
// memory are one marker, with each tool and call in its summary.
func TestWritesAreActivities(t *testing.T) {
	t.Parallel()
	const writes = 5
	w := newWorld(t, func(req llmtest.Request) llmtest.Reply {
		if turn := turnOf(req); who(req) == "Alpha" && turn <= writes {
			return llmtest.Calls(
				llmtest.Call{Name: "lab__echo", Args: `{"text":"a"}`},
				llmtest.Call{Name: "lab__counter", Args: `{"file":"effects"}`},
				llmtest.Call{Name: "core_memory_append", Args: `{"label":"facts","content":"b"}`},
				llmtest.Call{Name: "core_memory_replace", Args: `{"label":"facts","old_content":"b","new_content":"c"}`},
			)
		}
		return llmtest.Text("done")
	}, strings.Replace(longConfig, "{description: digs,",
		"{description: digs, type: letta_v1_agent, memory_blocks: [{label: facts}], tool_config: {repeats: allow},", 1))
	w.knownQuick("lab.counter", "lab.echo")
	w.dev()
	run := w.beginWith("long", agent.Request{Chain: "long", Data: json.RawMessage(`"x"`)})
	w.end("long")
	var activities, markers, memory []string
	for _, e := range w.history(workflows.InvestigationID("long", run.GetRunID()) + "/dig/Alpha") {
		var summary string
		_ = json.Unmarshal(e.GetUserMetadata().GetSummary().GetData(), &summary)
		switch {
		case e.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() == "CallTool":
			activities = append(activities, summary)
		case history.IsMarker(e, "lab."):
			markers = append(markers, summary)
		case history.IsMarker(e, "memory"):
			memory = append(memory, summary)
		}
	}
	var want, remembered []string
	for n := range writes {
		want = append(want, fmt.Sprintf("lab.counter · call 2 of iteration %d", n+1))
		remembered = append(remembered,
			fmt.Sprintf("core_memory_append · call 3 of iteration %d, core_memory_replace · call 4 of iteration %[1]d", n+1))
	}
	if diff := cmp.Diff(remembered, memory); diff != "" {
		t.Errorf("local activities of calls that change the memory (-want +got):\n%s", diff)
	}
	writing := slices.DeleteFunc(slices.Clone(activities), func(s string) bool { return strings.HasPrefix(s, "lab.echo") })
	if diff := cmp.Diff(want, writing); diff != "" {
		t.Errorf("activities of calls that write (-want +got):\n%s", diff)
	}
	if len(activities)+len(markers) < 2*writes || strings.Contains(strings.Join(markers, " "), "lab.counter") {
		t.Errorf("activities %q, markers %q", activities, markers)
	}
	if n := w.effects(); n != writes {
		t.Errorf("%d effects, want %d", n, writes)
	}
}
