package activities_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
)

// temporalRuns is a fake of Temporal's workflows that also records cancellations.
type temporalRuns struct {
	endings   map[string]record.Investigation // by workflow id
	open      map[string]string               // run ids of the listed workflows, by workflow id
	failing   string                          // the workflow for which it returns an error
	hanging   string                          // the workflow for which it answers only after all others
	others    sync.WaitGroup
	mu        sync.Mutex
	cancelled []string
}

func (r *temporalRuns) Open(context.Context) (map[string]string, error) {
	if r.open == nil {
		return nil, errors.New("visibility is away")
	}
	return r.open, nil
}

func (r *temporalRuns) Ending(ctx context.Context, workflowID, _ string) (record.Investigation, error) {
	switch workflowID {
	case r.failing:
		r.others.Done()
		return record.Investigation{}, errors.New("deadline exceeded")
	case r.hanging:
		r.others.Wait()
	default:
		r.others.Done()
	}
	end, known := r.endings[workflowID]
	if !known {
		return end, record.ErrNotFound
	}
	return end, nil
}

func (r *temporalRuns) CancelChildren(_ context.Context, _, _, prefix string, keep []string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cancelled = append(r.cancelled, fmt.Sprint(prefix, keep))
	return nil
}

func TestReconcile(t *testing.T) {
	t.Parallel()
	ago := func(d time.Duration) *time.Time { at := time.Now().Add(-d); return &at }
	by := "terminated by ada@laptop: stuck"
	tests := map[string]struct {
		end  *record.Investigation // nil: Temporal does not know it
		age  time.Duration
		want agent.Status
		why  string
	}{
		"is listed":      {nil, time.Hour, agent.StatusRunning, ""},
		"used again":     {nil, time.Hour, agent.StatusTerminated, "Temporal no longer has its workflow"},
		"takes its time": {&record.Investigation{Status: agent.StatusFailed, EndedAt: ago(time.Minute)}, time.Hour, agent.StatusFailed, ""},
		"runs":           {&record.Investigation{}, time.Hour, agent.StatusRunning, ""},
		"terminated": {&record.Investigation{Status: agent.StatusTerminated, Error: by, EndedAt: ago(time.Minute)}, time.Hour,
			agent.StatusTerminated, by},
		"just terminated": {&record.Investigation{Status: agent.StatusTerminated, Error: by, EndedAt: ago(0)}, time.Hour,
			agent.StatusRunning, ""},
		"vanished":        {nil, time.Hour, agent.StatusTerminated, "Temporal no longer has its workflow"},
		"just begun":      {nil, 0, agent.StatusRunning, ""},
		"cannot be asked": {&record.Investigation{Status: agent.StatusTerminated, EndedAt: ago(time.Minute)}, time.Hour, agent.StatusRunning, ""},
	}
	b := newBench(t)
	runs := &temporalRuns{
		endings: map[string]record.Investigation{"inv": {}}, failing: "cannot be asked", hanging: "takes its time",
		open: map[string]string{"is listed": "1", "used again": "2", "": ""},
	}
	runs.others.Add(len(tests) - 1) // includes the bench's own; excludes the listed one and the one that hangs
	b.act.Runs = runs
	for name, tt := range tests {
		if tt.end != nil {
			runs.endings[name] = *tt.end
		}
		r := record.Investigation{ID: name + ":1", WorkflowID: name, RunID: "1", Status: agent.StatusRunning,
			StartedAt: time.Now().Add(-tt.age), Writer: "1"}
		if err := b.store.StartInvestigation(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	runs.endings[""] = record.Investigation{}                         // the bench's own
	if _, err := b.env.ExecuteActivity(b.act.Reconcile); err != nil { // one that cannot be checked is retried next time
		t.Error(err)
	}
	for name, tt := range tests {
		r, err := b.store.Investigation(t.Context(), name+":1")
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != tt.want || r.Error != tt.why || (r.EndedAt != nil) != r.Status.Closed() {
			t.Errorf("%s: %s %q, ended at %v", name, r.Status, r.Error, r.EndedAt)
		}
	}
	slices.Sort(runs.cancelled)
	if diff := cmp.Diff([]string{"takes its time:1[]", "terminated:1[]", "used again:1[]", "vanished:1[]"}, runs.cancelled); diff != "" {
		t.Errorf("children cancelled (-want +got):\n%s", diff)
	}
}

// The workers of a namespace do not know the workflows of another namespace that has adopted the store.
func TestReconcileOfAnAdoptedStore(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.act.Runs = &temporalRuns{}
	r := record.Investigation{ID: "w:1", WorkflowID: "w", RunID: "1", Status: agent.StatusRunning,
		StartedAt: time.Now().Add(-time.Hour), Writer: "1"}
	if err := b.store.StartInvestigation(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	b.act.Belongs = func(context.Context) error { return errors.New("it is another namespace's") }
	if _, err := b.env.ExecuteActivity(b.act.Reconcile); err == nil || !strings.Contains(err.Error(), "another namespace's") {
		t.Errorf("reconcile: %v", err)
	}
	if r, err := b.store.Investigation(t.Context(), "w:1"); err != nil || r.Status != agent.StatusRunning {
		t.Errorf("the investigation is %s, %v", r.Status, err)
	}
}

// A run's plan and data are those that its first attempt resolved. A run after a reset plans and masks again, and ends
// the stages of the run before.
func TestResolveIsAJournal(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	runs := &temporalRuns{}
	planner := &reloaded{}
	b.act.Runs, b.act.Requests, b.act.Planner = runs, inbox(`{"chain":"lab","data":"the key is 1234"}`), planner
	resolve := func() (out activities.ResolveOut) {
		t.Helper()
		value, err := b.env.ExecuteActivity(b.act.Resolve, activities.ResolveIn{Investigation: "w:1", RunID: "run"})
		if err == nil {
			err = value.Get(&out)
		}
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	first := resolve()
	planner.runbook = "another"
	if diff := cmp.Diff(first, resolve()); diff != "" {
		t.Errorf("the second attempt (-first +second):\n%s", diff)
	}
	if planner.asked != 1 || len(runs.cancelled) > 0 {
		t.Errorf("planned %d times, cancelled %q", planner.asked, runs.cancelled)
	}

	// The record belongs to another run: this run comes from a reset.
	before, err := b.store.Investigation(t.Context(), "w:1")
	if err != nil {
		t.Fatal(err)
	}
	before.ID, before.Writer = "w:2", "the run before"
	if err := b.store.StartInvestigation(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	value, err := b.env.ExecuteActivity(b.act.Resolve, activities.ResolveIn{Investigation: "w:2", RunID: "run"})
	if err != nil {
		t.Fatal(err)
	}
	var second activities.ResolveOut
	if err := value.Get(&second); err != nil {
		t.Fatal(err)
	}
	r, err := b.store.Investigation(t.Context(), "w:2")
	if err != nil || second.Plan == first.Plan || r.PlanHash != second.Plan || r.DataHash != second.Data || r.Writer != sameRun {
		t.Errorf("after a reset: %+v, recorded %+v, %v", second, r, err)
	}
	if diff := cmp.Diff([]string{r.ID + "[]"}, runs.cancelled); diff != "" {
		t.Errorf("children cancelled (-want +got):\n%s", diff)
	}
}

// reloaded is a configuration that may change between two plans.
type reloaded struct {
	inbox
	runbook string
	asked   int
}

func (p *reloaded) Plan(context.Context, agent.Request, string) (plan.Plan, error) {
	p.asked++
	return plan.Plan{Chain: "lab", Runbook: p.runbook}, nil
}
