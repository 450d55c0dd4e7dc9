package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
)

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

	ok(t, s.StartExecution(ctx, execution, "r1"))
	ok(t, s.SaveStage(ctx, stage, []record.Execution{execution, early}, nil))
	ok(t, s.SaveStage(ctx, first, nil, nil))
	same(t, "stages", must(s.Stages(ctx, "inv"))(t), []record.Stage{first, stage})
	same(t, "executions", must(s.Executions(ctx, "inv"))(t), []record.Execution{early, execution})
	execution.Provider, execution.Model = "backup", "gemini-pro"
	ok(t, s.SetModel(ctx, execution))
	same(t, "executions, one with another model", must(s.Executions(ctx, "inv"))(t), []record.Execution{early, execution})

	end := at(7).UTC()
	closed, ended := execution, stage
	ended.Envelope = record.StageEnvelope{Version: 1, Run: 2, Key: "k", Agents: []record.AgentSummary{{Name: "analyst"}},
		Output: record.Output{Value: []byte(`{"a":1}`)}}
	closed.Status, closed.StopReason, closed.Forced, closed.Iterations = agent.StatusFailed, agent.StopFailed, true, 3
	closed.Usage, closed.Error, closed.EndedAt = agent.Usage{ModelCalls: 3}, "e", &end
	closed.ActionsExecuted = new(true)
	ended.Status, ended.Outcome, ended.Result, ended.Error, ended.EndedAt = agent.StatusFailed, agent.OutcomeError, "r", "e", &end
	ok(t, s.SaveStage(ctx, ended, []record.Execution{closed}, nil))
	same(t, "stages at the end", must(s.Stages(ctx, "inv"))(t), []record.Stage{first, ended})
	execution.Model = "late"
	ok(t, s.SetModel(ctx, execution))
	same(t, "executions at the end", must(s.Executions(ctx, "inv"))(t), []record.Execution{early, closed})
	execution.Model = closed.Model

	ok(t, s.StartExecution(ctx, execution, "r1"))
	same(t, "executions after a restart", must(s.Executions(ctx, "inv"))(t), []record.Execution{early, execution})
}

// The start of an execution is the first one written, so executions keep their order when they end. An execution that never began
// has the start that its end reports.
func testStartStays(t *testing.T, open opener) {
	s, ctx, end := open(), t.Context(), at(9).UTC()
	named := func(name string, minute int) record.Execution {
		execution := executionOf("inv")
		execution.Name, execution.StartedAt = "triage/"+name, at(minute).UTC()
		return execution
	}
	ended := func(name string, minute int) record.Execution {
		execution := named(name, minute)
		execution.Status, execution.EndedAt = agent.StatusCompleted, &end
		return execution
	}
	b, a := named("b", 4), named("a", 5)
	ok(t, s.StartExecution(ctx, b, "r1"))
	ok(t, s.StartExecution(ctx, a, "r2"))
	same(t, "running", must(s.Executions(ctx, "inv"))(t), []record.Execution{b, a})
	ok(t, s.SaveStage(ctx, stageOf("inv"), []record.Execution{ended("a", 1), ended("b", 2), ended("c", 3)}, nil))
	same(t, "ended", must(s.Executions(ctx, "inv"))(t), []record.Execution{ended("c", 3), ended("b", 4), ended("a", 5)})
}

// A worker that stalled before its execution continued, and reports the start after the end, changes nothing. A run that has
// written nothing yet starts the execution again.
func testLateStart(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	execution, end := executionOf("inv"), at(7).UTC()
	scope := transcript.Scope{Investigation: "inv", Execution: execution.Name}
	rows := []transcript.Row{{Key: transcript.Key{Iteration: 1}, Kind: transcript.KindReply}}
	must(s.Append(ctx, transcript.Step{Scope: scope, Writer: transcript.Writer{RunID: "r1", ActivityID: "1"}, Rows: rows}))(t)
	closed := execution
	closed.Status, closed.EndedAt = agent.StatusCompleted, &end
	ok(t, s.SaveStage(ctx, stageOf("inv"), []record.Execution{closed}, nil))
	for _, tt := range []struct {
		run  string
		want agent.Status
	}{{"r1", agent.StatusCompleted}, {"r2", agent.StatusRunning}} {
		ok(t, s.StartExecution(ctx, execution, tt.run))
		if got := must(s.Executions(ctx, "inv"))(t); got[0].Status != tt.want {
			t.Errorf("after a start by %s: %s", tt.run, got[0].Status)
		}
	}
}

// A stage's run that was reset may report its end late: the later end stays.
func testLateStage(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	ending := func(minute int, status agent.Status) (record.Stage, record.Execution) {
		stage, execution, end := stageOf("inv"), executionOf("inv"), at(minute).UTC()
		stage.Status, stage.EndedAt, execution.Status, execution.EndedAt = status, &end, status, &end
		return stage, execution
	}
	stage, execution := ending(7, agent.StatusCompleted)
	late, lateExecution := ending(6, agent.StatusCancelled)
	ok(t, s.SaveStage(ctx, stage, []record.Execution{execution}, nil))
	ok(t, s.SaveStage(ctx, late, []record.Execution{lateExecution}, nil))
	same(t, "stage", must(s.Stages(ctx, "inv"))(t), []record.Stage{stage})
	same(t, "execution", must(s.Executions(ctx, "inv"))(t), []record.Execution{execution})
}

// A call that one run has begun counts as begun for all runs that continue from the same reply.
func testBegun(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	scope := transcript.Scope{Investigation: "inv", Execution: "triage/analyst"}
	write := func(run string, kind transcript.Kind, key transcript.Key) int64 {
		step := transcript.Step{Scope: scope, Writer: transcript.Writer{RunID: run, ActivityID: "1"},
			Rows: []transcript.Row{{Key: key, Kind: kind}}}
		return must(s.Append(ctx, step))(t)[0].Seq
	}
	call := transcript.CallKey(1, 0)
	reply := write("r1", transcript.KindReply, transcript.Key{Iteration: 1})
	begun := func(name string, want bool) {
		t.Helper()
		if got := must(s.Begun(ctx, scope, call, reply))(t); got != want {
			t.Errorf("%s: begun = %t", name, got)
		}
	}
	begun("asked for", false)
	write("r1", transcript.KindCall, call)
	begun("begun", true)
	must(s.LookupCall(ctx, scope, 1, 0, transcript.Writer{RunID: "r2", ActivityID: "1"}))(t) // supersedes the intent
	begun("begun by the run before", true)
	reply = write("r3", transcript.KindReply, transcript.Key{Iteration: 1})
	begun("asked for anew", false)
}

// testScores: one run at a time judges an investigation, as often as requested.
func testScores(t *testing.T, open opener) {
	s, start := open(), time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	begin := func(run string) record.Score {
		return must(s.BeginScore(t.Context(), record.Score{
			Investigation: "inv", Run: run, Status: agent.StatusRunning, StartedAt: start, Judgement: record.Judgement{By: run},
		}))(t)
	}
	first := begin("a")
	if diff := cmp.Diff(first, begin("a")); diff != "" || first.N != 1 {
		t.Errorf("an attempt that is made again (-want +got):\n%s", diff)
	}
	second, third := begin("b"), begin("c")
	if second.N != 2 || third.N != 3 {
		t.Errorf("numbers %d and %d", second.N, third.N)
	}
	end, by := start.Add(time.Minute), record.Execution{
		Investigation: "inv", Name: ":score#3/Judge", Stage: ":score#3", Agent: "Judge", Type: "scoring",
		Status: agent.StatusCompleted, StartedAt: start,
	}
	by.EndedAt = &end
	_, err := s.Append(t.Context(), transcript.Step{
		Scope: transcript.Scope{Investigation: "inv", Execution: by.Name}, Writer: transcript.Writer{RunID: "c", ActivityID: "1"},
		Rows: []transcript.Row{{Key: transcript.Key{Iteration: 1}, Kind: transcript.KindReply, Body: transcript.Body{
			Answer: transcript.Answer{Usage: &agent.Usage{ModelCalls: 1, InputTokens: 7}},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	third.Status, third.Score, third.EndedAt = agent.StatusCompleted, new(87), &end
	third.Judgement = record.Judgement{
		Tags: []string{"wrong_conclusion"}, Assessment: "a\x00b", MissingTools: "none", PromptHash: "h", Execution: by.Name,
	}
	repeated, late := record.Score{Investigation: "inv", N: 3, EndedAt: &end}, record.Score{Investigation: "inv", N: 1, EndedAt: &end}
	for _, r := range []record.Score{third, repeated, late} {
		if err := s.SaveScore(t.Context(), r, by); err != nil {
			t.Fatal(err)
		}
	}
	first.Status, first.EndedAt = agent.StatusTerminated, &start
	second.Status, second.EndedAt = agent.StatusTerminated, &start
	if diff := cmp.Diff([]record.Score{first, second, third}, must(s.Scores(t.Context(), "inv"))(t)); diff != "" {
		t.Errorf("scores (-want +got):\n%s", diff)
	}
	begin("d") // a running one has no score yet
	if diff := cmp.Diff(map[string]int{"inv": 87}, must(s.LastScores(t.Context(), []string{"inv", "other"}))(t)); diff != "" {
		t.Errorf("last scores (-want +got):\n%s", diff)
	}
	judge := must(s.Executions(t.Context(), "inv"))(t)[0]
	if judge.Status != agent.StatusCompleted || judge.Usage.InputTokens != 7 {
		t.Errorf("who judged: %+v", judge)
	}
}
