package activities_test

import (
	"testing"
	"time"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// A completed investigation has a report. If there is none, the record and the workflow say that it has failed, unless
// people ended it at a question.
func TestNothingWasFoundOut(t *testing.T) {
	t.Parallel()
	for end, want := range map[agent.EndReason]agent.EndReason{
		agent.EndCompleted: agent.EndNoReport, agent.EndMaxLLMCalls: agent.EndMaxLLMCalls, agent.EndDenied: "", agent.EndInterruptExpired: "",
	} {
		t.Run(string(end), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			value, err := b.env.ExecuteActivity(b.act.Finish,
				activities.FinishIn{Investigation: "inv", Status: agent.StatusCompleted, EndReason: end})
			var out activities.FinishOut
			if err != nil || value.Get(&out) != nil || out.Failed != want {
				t.Errorf("got %+v, %v", out, err)
			}
			status := agent.StatusCompleted
			if want != "" {
				status = agent.StatusFailed
			}
			if r, err := b.store.Investigation(t.Context(), "inv"); err != nil || r.Status != status || (r.Error != "") != (want != "") {
				t.Errorf("recorded %+v, %v", r, err)
			}
		})
	}
}

// An executive summary has at most four lines, is in the record and the result, and is not the report.
func TestSummaryIsKept(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for execution, text := range map[string]string{"s/A": "the report", ":summary/Sum": "One.\n\n Two.\nThree.\nFour.\nFive.\n"} {
		_, err := b.store.Append(t.Context(), transcript.Step{
			Scope: transcript.Scope{Investigation: "inv", Execution: execution}, Writer: transcript.Writer{RunID: execution, ActivityID: "1"},
			Rows: []transcript.Row{{Key: transcript.Key{Iteration: 1}, Kind: transcript.KindReply, Body: transcript.Body{Text: text}}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	value, err := b.env.ExecuteActivity(b.act.Finish, activities.FinishIn{
		Investigation: "inv", Status: agent.StatusCompleted, EndReason: agent.EndCompleted, Summary: ":summary/Sum",
		Results: []activities.Source{{Stage: "s", Execution: "s/A"}},
	})
	var out activities.FinishOut
	const want = "One.\nTwo.\nThree.\nFour."
	if err != nil || value.Get(&out) != nil || out.Summary != want || out.Report != "the report" {
		t.Errorf("the result: %+v, %v", out, err)
	}
	if r, err := b.store.Investigation(t.Context(), "inv"); err != nil || r.Envelope.Summary != want || r.Report != "the report" {
		t.Errorf("the record: %+v, %v", r, err)
	}
}

// An investigation's open waits are recorded until it ends. Then the record, the result and the last reading
// before the end have the same numbers.
func TestStatusAndUsageToTheEnd(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if _, err := b.env.ExecuteActivity(b.act.SaveStatus, activities.SaveStatusIn{Investigation: "inv", Status: agent.StatusWaitingAnswer,
		Seq: 1}); err != nil {
		t.Fatal(err)
	}
	_, err := b.store.Append(t.Context(), transcript.Step{
		Scope: transcript.Scope{Investigation: "inv", Execution: "s/A"}, Writer: transcript.Writer{RunID: "a", ActivityID: "1"},
		Rows: []transcript.Row{{Key: transcript.Key{Iteration: 1}, Kind: transcript.KindReply, Body: transcript.Body{
			Text: "done", Calls: make([]transcript.Call, 2),
			Answer: transcript.Answer{Usage: &agent.Usage{ModelCalls: 1, InputTokens: 7, CostUSD: 0.5}},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	last, err := b.store.Investigation(t.Context(), "inv")
	want := agent.Usage{ModelCalls: 1, ToolCalls: 2, InputTokens: 7, CostUSD: 0.5}
	if err != nil || last.Status != agent.StatusWaitingAnswer || last.Usage != want {
		t.Fatalf("while it waits: %+v, %v", last, err)
	}
	in := activities.FinishIn{
		Investigation: "inv", Status: agent.StatusCompleted, EndReason: agent.EndCompleted, Usage: agent.Usage{ModelCalls: 9},
		Results: []activities.Source{{Stage: "s", Execution: "s/A"}},
	}
	value, err := b.env.ExecuteActivity(b.act.Finish, in)
	var out activities.FinishOut
	if err != nil || value.Get(&out) != nil || out.Usage != want {
		t.Errorf("the result: %+v, %v", out, err)
	}
	if r, err := b.store.Investigation(t.Context(), "inv"); err != nil || r.Status != agent.StatusCompleted || r.Usage != want {
		t.Errorf("the record: %+v, %v", r, err)
	}
}

// TestExecutionTimesAreTheWorkflows checks that an execution's start is not taken from the first entry of its
// transcript, which is written with the first reply.
func TestExecutionTimesAreTheWorkflows(t *testing.T) {
	t.Parallel()
	stage := time.Now().UTC().Truncate(time.Second).Add(-time.Hour)
	ended := stage.Add(30 * time.Minute)
	for name, tt := range map[string]struct {
		started, ended, wantStart, wantEnd time.Time
	}{
		"known":              {stage.Add(time.Minute), stage.Add(11 * time.Minute), stage.Add(time.Minute), stage.Add(11 * time.Minute)},
		"of an older worker": {wantStart: stage, wantEnd: ended},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			if _, err := b.generate(activities.GenerateIn{Iteration: 1}); err != nil {
				t.Fatal(err)
			}
			in := activities.SaveStageIn{Plan: b.ref.Plan, Stage: record.Stage{
				Investigation: "inv", Name: "s", Status: agent.StatusCompleted, StartedAt: stage, EndedAt: &ended,
			}, Executions: []activities.ExecutionSummary{{
				Ref: b.ref, Status: agent.StatusCompleted, Iterations: 1, Started: tt.started, Ended: tt.ended,
			}}}
			if _, err := b.env.ExecuteActivity(b.act.SaveStage, in); err != nil {
				t.Fatal(err)
			}
			all, err := b.store.Executions(t.Context(), "inv")
			if err != nil || len(all) != 1 || !all[0].StartedAt.Equal(tt.wantStart) || all[0].EndedAt == nil || !all[0].EndedAt.Equal(tt.wantEnd) {
				t.Errorf("recorded %+v, %v; want %s to %s", all, err, tt.wantStart, tt.wantEnd)
			}
		})
	}
}

// A report that violates its agent's contract is the text as written, with a note.
func TestReportOutsideItsContract(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.plan(func(a *plan.Agent) { a.Type = "llm" })
	b.reply = func(llm.Request) (llm.Response, error) {
		return llm.Response{Content: "The pool is too small.", Finish: llm.FinishStop}, nil
	}
	out, err := b.generate(activities.GenerateIn{Iteration: 1})
	if err != nil || out.Invalid == "" || !out.Stands {
		t.Fatalf("%+v, %v", out, err)
	}
	value, err := b.env.ExecuteActivity(b.act.Finish, activities.FinishIn{
		Investigation: "inv", Plan: b.ref.Plan, Status: agent.StatusCompleted, EndReason: agent.EndPartial,
		Results: []activities.Source{{Stage: "s", Execution: "s/A"}}, Outside: map[string]string{"s/A": out.Invalid},
	})
	var finished activities.FinishOut
	const want = "**The agent's output does not meet its contract: " +
		"no valid JSON object found in response. It is shown unchanged.**\n\n" +
		"The pool is too small."
	if err != nil || value.Get(&finished) != nil || finished.Report != want || finished.Failed != "" {
		t.Errorf("%+v, %v", finished, err)
	}
}
