package e2e

import (
	"context"
	"strings"
	"testing"

	historypb "go.temporal.io/api/history/v1"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/workflows"
)

// Reusing a workflow ID starts a separate investigation from the beginning.
func TestWorkflowIDUsedAgainStartsClean(t *testing.T) {
	t.Parallel()
	want, requests := baseline(t)
	w, _ := newLab(t, nil)
	w.dev()
	first := w.begin("lab")
	w.end("lab")
	second := w.begin("lab")
	w.end("lab")
	ids := []string{workflows.InvestigationID("lab", first.GetRunID()), workflows.InvestigationID("lab", second.GetRunID())}
	if ids[0] == ids[1] {
		t.Fatal("both investigations have the id", ids[0])
	}
	// The counter's result includes its number of calls, which is the state of the world, not ours.
	for n, id := range ids {
		got := w.log(id)
		if n == 1 {
			got = strings.NewReplacer(`"text":"2"`, `"text":"1"`, `result of lab.counter:\n  2`, `result of lab.counter:\n  1`).Replace(got)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-undisturbed +got):\n%s", id, diff)
		}
	}
	if n := len(w.model.Requests()); n != 2*requests {
		t.Errorf("%d model calls, want %d", n, 2*requests)
	}
}

// A reset repeats only what follows the reset point. The transcript keeps what the history keeps, and the rest
// is superseded.
func TestReset(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		workflow string // below the investigation; empty means the investigation itself
		after    func(*historypb.HistoryEvent) bool
		repeated []string // model calls that are repeated
	}{
		{
			name: "investigation, to before its second stage",
			after: func(e *historypb.HistoryEvent) bool {
				return e.GetChildWorkflowExecutionCompletedEventAttributes() != nil
			},
			repeated: []string{"Gamma 1", "Gamma 2"},
		},
		{
			name:     "investigation, to before its first stage",
			after:    func(e *historypb.HistoryEvent) bool { return e.GetWorkflowTaskStartedEventAttributes() != nil },
			repeated: []string{"Alpha 1", "Alpha 2", "Alpha 3", "Beta 1", "Beta 2", "SynthesisAgent 1", "Gamma 1", "Gamma 2"},
		},
		{
			name: "one agent, to before its second iteration", workflow: "/dig/Alpha",
			after: func(e *historypb.HistoryEvent) bool { // a tool's result
				return strings.Contains(e.GetActivityTaskCompletedEventAttributes().GetResult().String(), `\"status\"`)
			},
			repeated: []string{"Alpha 2", "Alpha 3"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want, requests := baseline(t)
			w, _ := newLab(t, nil)
			w.dev()
			run := w.begin("lab")
			w.end("lab")
			id := workflows.InvestigationID("lab", run.GetRunID())
			if n := len(w.model.Requests()); n != requests {
				t.Fatalf("%d model calls before the reset, want %d", n, requests)
			}
			workflowID := "lab"
			if tt.workflow != "" {
				workflowID = id + tt.workflow
			}
			newRun := w.reset(workflowID, tt.after)
			var result struct{ Status agent.Status } // a field of all results
			if err := w.client().GetWorkflow(context.Background(), workflowID, newRun).Get(context.Background(), &result); err != nil {
				t.Fatal(err)
			}
			if result.Status != agent.StatusCompleted {
				t.Errorf("result %+v", result)
			}
			got := strings.NewReplacer(`"text":"2"`, `"text":"1"`, `result of lab.counter:\n  2`, `result of lab.counter:\n  1`).Replace(w.log(id))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("transcript (-undisturbed +after the reset):\n%s", diff)
			}
			if diff := cmp.Diff(count(tt.repeated), count(asked(w.model.Requests()[requests:]))); diff != "" {
				t.Errorf("model calls made again (-want +got):\n%s", diff)
			}
		})
	}
}

func asked(requests []llmtest.Request) (out []string) {
	for _, req := range requests {
		out = append(out, who(req)+" "+string(rune('0'+turnOf(req))))
	}
	return out
}

func count(names []string) map[string]int {
	out := map[string]int{}
	for _, name := range names {
		out[name]++
	}
	return out
}

// reset resets a run to the first workflow task after an event.
func (w *world) reset(id string, after func(*historypb.HistoryEvent) bool) (newRun string) {
	w.t.Helper()
	history := w.history(id)
	runID := history[0].GetWorkflowExecutionStartedEventAttributes().GetOriginalExecutionRunId()
	var point int64
	found := false
	for _, e := range history {
		found = found || after(e)
		if found && e.GetWorkflowTaskCompletedEventAttributes() != nil {
			point = e.GetEventId()
			break
		}
	}
	response, err := w.client().ResetWorkflowExecution(context.Background(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: "default", Reason: "test", RequestId: "reset-" + runID, WorkflowTaskFinishEventId: point,
		WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: runID},
	})
	if err != nil {
		w.t.Fatalf("reset %s to event %d: %v", id, point, err)
	}
	return response.GetRunId()
}
