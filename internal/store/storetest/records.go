package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
)

func investigation(id, workflow string, minute int) record.Investigation {
	return record.Investigation{
		ID: id, WorkflowID: workflow, RunID: "first", Chain: "k8s", AlertType: "PodCrash",
		PlanHash: "p", DataHash: "d", Status: agent.StatusRunning, StartedAt: at(minute).UTC(),
	}
}

// finished is how an investigation looks when it has ended.
func finished(r record.Investigation, status agent.Status) record.Investigation {
	end := r.StartedAt.Add(time.Minute)
	r.Status, r.EndReason, r.Error, r.Report, r.EndedAt = status, agent.EndToolFailed, "e", "# Report", &end
	r.Usage = agent.Usage{InputTokens: 5}
	return r
}

func testInvestigationRecords(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	r := investigation("inv/run", "inv", 1)
	zoned := r
	zoned.StartedAt = at(1).Add(99 * time.Nanosecond)

	if _, err := s.Investigation(ctx, r.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a record that is not there: %v", err)
	}
	ok(t, s.StartInvestigation(ctx, zoned))
	same(t, "started", must(s.Investigation(ctx, r.ID))(t), r)

	again := r
	again.Chain, again.PlanHash, again.StartedAt = "other", "other", at(9)
	ok(t, s.StartInvestigation(ctx, again))
	same(t, "started twice", must(s.Investigation(ctx, r.ID))(t), r)

	known := record.Envelope{Version: 1, By: "Ada", Pass: 2, Answers: []record.Note{{Question: "Which <one>?", Answer: "that"}}}
	ok(t, s.SaveEnvelope(ctx, r.ID, known))
	r.Envelope = known
	same(t, "an envelope", must(s.Investigation(ctx, r.ID))(t), r)

	ended := finished(r, agent.StatusFailed)
	ended.Envelope.Pass = 3
	for range 2 {
		late := ended
		late.Chain = "not the end's business"
		ok(t, s.FinishInvestigation(ctx, late))
		same(t, "finished", must(s.Investigation(ctx, r.ID))(t), ended)
	}
	ok(t, s.SaveEnvelope(ctx, r.ID, known))
	same(t, "an envelope that comes too late", must(s.Investigation(ctx, r.ID))(t), ended)
	unknown := finished(investigation("never/started", "never", 2), agent.StatusFailed)
	ok(t, s.FinishInvestigation(ctx, unknown))
	same(t, "finished without a start", must(s.Investigation(ctx, unknown.ID))(t), unknown)
}

func testInvestigationRestarts(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	for _, status := range []agent.Status{
		agent.StatusCompleted, agent.StatusFailed, agent.StatusTimedOut, agent.StatusCancelled,
	} {
		r := investigation("inv/"+string(status), "inv", 1)
		ok(t, s.StartInvestigation(ctx, r))
		ok(t, s.FinishInvestigation(ctx, finished(r, status)))
		ok(t, s.StartInvestigation(ctx, r))
		same(t, "restarted after "+string(status), must(s.Investigation(ctx, r.ID))(t), r)
	}
}

func testFindAndList(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	old, recent := investigation("w/1", "w", 1), investigation("w/2", "w", 3)
	other := investigation("x", "x-flow", 2)
	other.Chain = "db"
	named := investigation("id-like-x", "w/1", 9) // a workflow that is called like an investigation
	for _, r := range []record.Investigation{recent, old, other, named} {
		ok(t, s.StartInvestigation(ctx, r))
	}
	old = finished(old, agent.StatusCompleted)
	ok(t, s.FinishInvestigation(ctx, old))

	same(t, "by workflow", must(s.FindInvestigation(ctx, "w"))(t), recent)
	same(t, "by id", must(s.FindInvestigation(ctx, "w/1"))(t), old)
	if _, err := s.FindInvestigation(ctx, "y"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("find what is not there: %v", err)
	}
	tests := map[string]struct {
		filter store.Filter
		want   []record.Investigation
	}{
		"all":       {store.Filter{}, []record.Investigation{named, recent, other, old}},
		"two":       {store.Filter{Limit: 2}, []record.Investigation{named, recent}},
		"completed": {store.Filter{Status: agent.StatusCompleted}, []record.Investigation{old}},
		"chain":     {store.Filter{Chain: "db", Limit: 5}, []record.Investigation{other}},
		"both":      {store.Filter{Chain: "db", Status: agent.StatusCompleted}, nil},
	}
	for name, test := range tests {
		same(t, name, must(s.Investigations(ctx, test.filter))(t), test.want)
	}
}

func stageOf(investigation string) record.Stage {
	return record.Stage{Investigation: investigation, Name: "triage", Index: 1, Status: agent.StatusRunning, StartedAt: at(1).UTC()}
}

func executionOf(investigation string) record.Execution {
	return record.Execution{
		Investigation: investigation, Name: "triage/analyst", Stage: "triage", Agent: "analyst", Type: "default",
		LLMBackend: "native", Provider: "openai", Model: "gpt", Status: agent.StatusRunning, StartedAt: at(2).UTC(),
	}
}

func testStageRecords(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	stage, execution := stageOf("inv"), executionOf("inv")
	first, early := stage, execution
	first.Name, first.Index = "zero", 0
	early.Name, early.StartedAt = "triage/early", at(1).UTC()

	ok(t, s.StartExecution(ctx, execution))
	ok(t, s.SaveStage(ctx, stage, []record.Execution{execution, early}))
	ok(t, s.SaveStage(ctx, first, nil))
	same(t, "stages", must(s.Stages(ctx, "inv"))(t), []record.Stage{first, stage})
	same(t, "executions", must(s.Executions(ctx, "inv"))(t), []record.Execution{early, execution})

	end := at(7).UTC()
	closed, ended := execution, stage
	ended.Envelope = record.StageEnvelope{Version: 1, Run: 2, Key: "k", Agents: []record.AgentSummary{{Name: "analyst"}}, Output: record.Output{Value: []byte(`{"a":1}`)}}
	closed.Status, closed.StopReason, closed.Forced, closed.Iterations = agent.StatusFailed, agent.StopFailed, true, 3
	closed.Usage, closed.Error, closed.EndedAt = agent.Usage{ModelCalls: 3}, "e", &end
	closed.ActionsExecuted = new(true)
	ended.Status, ended.Outcome, ended.Result, ended.Error, ended.EndedAt = agent.StatusFailed, agent.OutcomeError, "r", "e", &end
	ok(t, s.SaveStage(ctx, ended, []record.Execution{closed}))
	same(t, "stages at the end", must(s.Stages(ctx, "inv"))(t), []record.Stage{first, ended})
	same(t, "executions at the end", must(s.Executions(ctx, "inv"))(t), []record.Execution{early, closed})

	ok(t, s.StartExecution(ctx, execution))
	same(t, "executions after a restart", must(s.Executions(ctx, "inv"))(t), []record.Execution{early, execution})
}
