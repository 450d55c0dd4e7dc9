package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

// newUnhurriedLab is a lab with a slow model.
func newUnhurriedLab(t *testing.T) *world {
	t.Helper()
	script := newScript().script()
	return newWorld(t, func(req llmtest.Request) llmtest.Reply { return script(req).Chunked(2, 40*time.Millisecond) }, labConfig)
}

// A reset of any running workflow, to any point, is harmless: the investigation completes, its transcript has
// no gaps, no non-repeatable call is made twice for one reply, and nothing is left running.
func TestLongResetWhileRunning(t *testing.T) {
	takesLong(t)
	t.Parallel()
	resetWhileRunning(t, 5, 11)
}

// The same at more points, and at different ones each time.
func TestSoakResetWhileRunning(t *testing.T) {
	soaks(t)
	t.Parallel()
	resetWhileRunning(t, 20, anySeed())
}

func resetWhileRunning(t *testing.T, points int, seed uint64) {
	t.Logf("seed %d", seed)
	w := newUnhurriedLab(t)
	w.dev()
	t.Run("points", func(t *testing.T) {
		for n := range points {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				t.Parallel()
				r := resetting{w.of(t), rand.New(rand.NewPCG(seed, uint64(n))), fmt.Sprintf("lab-%d", n)}
				r.run()
			})
		}
	})
	if open := w.openWorkflows(); len(open) > 0 {
		t.Errorf("left running: %q", open)
	}
	calls := map[string]int{}
	body, err := os.ReadFile(filepath.Join(w.data, "effects"))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range strings.Fields(string(body)) {
		if calls[key]++; calls[key] > 1 {
			t.Errorf("a call that must not be made twice was made %d times: %s", calls[key], key)
		}
	}
}

// A fork repeats nothing of what it shares, not even if it is reset to any point and its process is killed.
func TestForkThatIsReset(t *testing.T) {
	t.Parallel()
	w := newUnhurriedLab(t)
	process := w.dev()
	of := workflows.InvestigationID("lab", w.begin("lab").GetRunID())
	w.end("lab")
	before, err := w.open().After(t.Context(), of, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	run := w.beginWith("fork", agent.Request{Fork: &agent.Fork{Of: of, At: "Alpha/3", Guide: "look closer"}})
	id := workflows.InvestigationID("fork", run.GetRunID())
	own := func(e transcript.Entry) bool { return e.Shared == 0 && e.Kind == transcript.KindReply }
	w.until(id, own)
	r := resetting{w, rand.New(rand.NewPCG(3, 7)), "fork"}
	for n := 0; n < 3 && !r.reset(id, []string{"", "/dig", "/dig/Alpha"}[n]); n++ {
	}
	process.kill()
	w.dev()
	if result := w.end("fork"); result.Status != agent.StatusCompleted || result.Report != "the report of gamma" {
		t.Errorf("result: %+v", result)
	}
	if made, err := os.ReadFile(filepath.Join(w.data, "effects")); err != nil || len(strings.Fields(string(made))) != 1 {
		t.Errorf("the call that must not be made twice: %q, %v", made, err)
	}
	after, err := w.open().After(t.Context(), of, 0, 0)
	if diff := cmp.Diff(before, after); err != nil || diff != "" {
		t.Errorf("the other investigation: %v%s", err, diff)
	}
	shared := map[string]int{}
	entries, err := w.open().After(t.Context(), id, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		switch old := e.Execution == "dig/Beta" || e.Execution == "dig/Alpha" && e.Iteration < 3; {
		case e.Shared > 0 && e.Superseded, old != (e.Shared > 0):
			t.Errorf("entry %d: %+v", e.Seq, e)
		case e.Shared > 0 && e.Kind == transcript.KindReply:
			shared[e.Execution]++
		}
	}
	if diff := cmp.Diff(map[string]int{"dig/Alpha": 2, "dig/Beta": 2}, shared); diff != "" {
		t.Errorf("shared replies: %s", diff)
	}
	w.whole(id)
}

// of returns the same installation for a subtest.
func (w *world) of(t *testing.T) *world {
	other := *w
	other.t = t
	return &other
}

// resetting is an investigation that is reset once while it runs.
type resetting struct {
	*world
	random *rand.Rand
	name   string
}

func (r resetting) run() {
	id := workflows.InvestigationID(r.name, r.begin(r.name).GetRunID())
	entries := 1 + r.random.IntN(24) // of 31
	r.until(id, func(transcript.Entry) bool { entries--; return entries == 0 })
	below := []string{"", "", "/dig", "/dig/Alpha", "/dig/Beta", "/dig/SynthesisAgent", "/tell"}
	for !r.reset(id, below[r.random.IntN(len(below))]) {
	}
	if result := r.end(r.name); result.Status != agent.StatusCompleted || result.Report != "the report of gamma" {
		r.t.Errorf("result: %+v", result)
	}
	r.whole(id)
}

// reset resets the investigation, or a workflow below it if that is running.
func (r resetting) reset(id, below string) (done bool) {
	r.t.Helper()
	ctx, workflowID := context.Background(), id+below
	if below == "" {
		workflowID = r.name
	}
	described, err := r.client().DescribeWorkflowExecution(ctx, workflowID, "")
	if err != nil || described.GetWorkflowExecutionInfo().GetCloseTime() != nil {
		return false
	}
	var points []int64
	for _, e := range r.history(workflowID) {
		if e.GetWorkflowTaskCompletedEventAttributes() != nil {
			points = append(points, e.GetEventId())
		}
	}
	if len(points) == 0 {
		return false
	}
	point := points[r.random.IntN(len(points))]
	_, err = r.client().ResetWorkflowExecution(ctx, &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: "default", Reason: "test", RequestId: "reset-" + workflowID, WorkflowTaskFinishEventId: point,
		WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: workflowID,
			RunId: described.GetWorkflowExecutionInfo().GetExecution().GetRunId()},
	})
	if err != nil {
		r.t.Logf("%s to event %d: %v", workflowID, point, err) // the run may have ended
		return false
	}
	r.t.Logf("reset %s to event %d of %d points", workflowID, point, len(points))
	return true
}

// whole checks that the transcripts have no gaps and that all records are complete.
func (w *world) whole(id string) {
	w.t.Helper()
	ctx, s := context.Background(), w.open()
	executions, err := s.Executions(ctx, id)
	if err != nil || len(executions) != 4 {
		w.t.Fatalf("executions: %+v, %v", executions, err)
	}
	for _, e := range executions {
		if e.Status != agent.StatusCompleted {
			w.t.Errorf("%s is recorded as %s", e.Name, e.Status)
		}
		entries, err := s.Entries(ctx, transcript.Scope{Investigation: id, Execution: e.Name})
		if err != nil {
			w.t.Fatal(err)
		}
		if problem := hole(entries); problem != "" {
			w.t.Errorf("%s: %s", e.Name, problem)
		}
	}
	inv, err := s.Investigation(ctx, id)
	if err != nil || inv.Status != agent.StatusCompleted || inv.Report != "the report of gamma" || inv.EndedAt == nil {
		w.t.Errorf("recorded: %+v, %v", inv, err)
	}
}

// hole names the first gap in a transcript, or a duplicate. Each iteration needs a reply and a result for each
// of its calls, and the transcript ends with an answer.
func hole(entries []transcript.Entry) string {
	iteration, waiting := 0, map[transcript.Key]bool{}
	for _, e := range entries {
		switch e.Kind {
		case transcript.KindReply:
			if iteration++; e.Iteration != iteration || len(waiting) > 0 {
				return fmt.Sprintf("reply %d comes as the %d., and %d results are missing", e.Iteration, iteration, len(waiting))
			}
			for n := range e.Calls {
				waiting[transcript.ResultKey(e.Iteration, n)] = true
			}
		case transcript.KindResult:
			if !waiting[e.Key] {
				return fmt.Sprintf("nobody waits for the result %+v", e.Key)
			}
			delete(waiting, e.Key)
		}
	}
	if iteration == 0 || len(waiting) > 0 || entries[len(entries)-1].Kind != transcript.KindReply {
		return fmt.Sprintf("it ends after %d replies with %d results missing", iteration, len(waiting))
	}
	return ""
}

// openWorkflows returns the workflows that are still running after everything has had time to end.
func (w *world) openWorkflows() (open []string) {
	w.t.Helper()
	deadline := time.Now().Add(15 * time.Second) // Temporal's list is delayed
	for {
		open = nil
		page, err := w.client().ListWorkflow(context.Background(), &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: "default", Query: "ExecutionStatus = 'Running' AND WorkflowType NOT IN ('" + workflows.TypeReconcile + "', '" +
				workflows.TypeFleet + "')",
		})
		if err != nil {
			w.t.Fatal(err)
		}
		for _, info := range page.GetExecutions() {
			open = append(open, info.GetExecution().GetWorkflowId())
		}
		if len(open) == 0 || time.Now().After(deadline) {
			return open
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// A child that was started before the reset point still belongs to the investigation: it can be paused, and it
// ends when the investigation is cancelled.
func TestChildKeptByAReset(t *testing.T) {
	t.Parallel()
	w, l := newLab(t, func(l *lab) { l.heldAt = "Alpha 2" })
	w.dev()
	id := workflows.InvestigationID("lab", w.begin("lab").GetRunID())
	l.hold.Wait(t)
	var tasks []int64
	for _, e := range w.history("lab") {
		if e.GetWorkflowTaskCompletedEventAttributes() != nil {
			tasks = append(tasks, e.GetEventId())
		}
	}
	_, err := w.client().ResetWorkflowExecution(t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: "default", Reason: "test", RequestId: "kept", WorkflowTaskFinishEventId: tasks[len(tasks)-1],
		WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: "lab"},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.signal("lab", workflows.SignalPause, nil)
	eventually(t, "Alpha is paused", func() bool { return w.agentStatus(id+"/dig/Alpha").Status == agent.StatusPaused })
	if err := w.client().CancelWorkflow(t.Context(), "lab", ""); err != nil {
		t.Fatal(err)
	}
	err = w.client().GetWorkflow(t.Context(), "lab", "").Get(t.Context(), nil)
	if _, cancelled := errors.AsType[*temporal.CanceledError](err); !cancelled {
		t.Errorf("ended with %v", err)
	}
	if open := w.openWorkflows(); len(open) > 0 {
		t.Errorf("left running: %q", open)
	}
}

// A terminated workflow cannot update the store, so a schedule does it.
func TestTerminated(t *testing.T) {
	t.Parallel()
	w, l := newLab(t, func(l *lab) { l.heldAt = "Alpha 1" })
	w.dev("--reconcile", "1s")
	id := workflows.InvestigationID("lab", w.begin("lab").GetRunID())
	l.hold.Wait(t)
	if err := w.client().TerminateWorkflow(t.Context(), "lab", "", "stuck"); err != nil {
		t.Fatal(err)
	}
	if out := w.must("status", "lab"); !strings.Contains(out, "terminated") {
		t.Errorf("status at once:\n%s", out)
	}
	var listed []record.Investigation
	eventually(t, "the list says so", func() bool {
		if err := json.Unmarshal([]byte(w.must("list", "--json", "--status", "terminated")), &listed); err != nil {
			t.Fatal(err)
		}
		return len(listed) == 1 && listed[0].Error != "" // until the schedule has run, the list has it from Temporal
	})
	r := listed[0]
	if r.ID != id || r.EndReason != agent.EndTerminated || !strings.HasPrefix(r.Error, "terminated") ||
		!strings.HasSuffix(r.Error, ": stuck") || r.EndedAt == nil {
		t.Errorf("recorded %+v", r)
	}
	eventually(t, "the store says so of its agents", func() bool {
		executions, err := w.open().Executions(t.Context(), id)
		return err == nil && !slices.ContainsFunc(executions, func(e record.Execution) bool { return !e.Status.Closed() })
	})
	if open := w.openWorkflows(); len(open) > 0 {
		t.Errorf("left running: %q", open)
	}
}

// Temporal's own ways to start the same workflow again would repeat the same investigation, so they are refused.
func TestCronAndRetriesAreRefused(t *testing.T) {
	t.Parallel()
	w, _ := newLab(t, nil)
	w.dev()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for name, options := range map[string]client.StartWorkflowOptions{
		"cron":    {CronSchedule: "@every 1s"},
		"retries": {RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 3}},
	} {
		for _, kind := range []string{workflows.TypeInvestigation, workflows.TypeConversation} {
			options.ID, options.TaskQueue = name+kind, workflows.TaskQueue
			run, err := w.client().ExecuteWorkflow(ctx, options, kind, map[string]string{})
			if err != nil {
				t.Fatal(err)
			}
			history := w.client().GetWorkflowHistory(ctx, options.ID, run.GetRunID(), true, enumspb.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT)
			last, err := history.Next()
			if err != nil {
				t.Fatal(err)
			}
			failure := last.GetWorkflowExecutionFailedEventAttributes().GetFailure()
			if name == "cron" { // Temporal starts the next run anyway
				//lint:ignore SA1019 nothing else in a history has the failure of a cron's run
				failure = last.GetWorkflowExecutionContinuedAsNewEventAttributes().GetFailure()
			}
			if !strings.Contains(failure.GetMessage(), "Temporal Schedule") {
				t.Errorf("%s of %s: ended with %v", name, kind, last)
			}
		}
	}
}
