package activities_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
)

func judging() plan.Stage {
	return plan.Stage{Name: plan.ScoringName, SuccessPolicy: plan.SuccessAny, Agents: []plan.Agent{
		{Name: "Judge", Definition: "Judge", Type: "scoring", MaxIterations: 1,
			Providers: []plan.Provider{{Name: "p", Type: "scripted", Model: "m"}}},
	}}
}

// finished creates an investigation that has ended: one agent has called a tool.
func (b *bench) finished() {
	b.reply = func(llm.Request) (llm.Response, error) {
		return llm.Response{Content: "It is the pool.", Finish: llm.FinishStop}, nil
	}
	if _, err := b.generate(activities.GenerateIn{Iteration: 1}); err != nil {
		b.t.Fatal(err)
	}
	now := time.Now()
	stage := record.Stage{Investigation: "inv", Name: "s", Status: agent.StatusCompleted, Result: b.ref.Execution,
		StartedAt: now, EndedAt: &now}
	_, err := b.env.ExecuteActivity(b.act.SaveStage, activities.SaveStageIn{
		Plan: b.ref.Plan, Stage: stage, Executions: []activities.ExecutionSummary{{Ref: b.ref, Status: agent.StatusCompleted}},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	r, err := b.store.Investigation(b.t.Context(), "inv")
	r.PlanHash, r.Status, r.EndedAt, r.Envelope.Outputs = b.ref.Plan, agent.StatusCompleted, &now, []string{"s"}
	if err == nil {
		err = b.store.StartInvestigation(b.t.Context(), r)
	}
	if err == nil {
		err = b.store.FinishInvestigation(b.t.Context(), r)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) beginScore() (out activities.BeginScoreOut, err error) {
	value, err := b.env.ExecuteActivity(b.act.BeginScore, activities.BeginScoreIn{Investigation: "inv", By: "Ada"})
	if err == nil {
		err = value.Get(&out)
	}
	return out, err
}

// The judge sees the findings and the actions, and its judgement is read from its transcript.
func TestScore(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.act.Planner = inbox("")
	b.finished()
	begun, err := b.beginScore()
	if err != nil {
		t.Fatal(err)
	}
	replies := []string{"no score", "Too early: premature_conclusion.\n\n 42 ", "A tracing tool."}
	for n, text := range replies {
		b.reply = func(req llm.Request) (llm.Response, error) {
			if task := req.Messages[1].Content; n == 0 && strings.Count(task, "It is the pool.") != 2 {
				t.Errorf("the judge is told:\n%s", task)
			}
			if task := req.Messages[1].Content; n == 0 && !strings.Contains(task, "\n- lab.read (A)\n") {
				t.Errorf("the judge is not told of a tool that nobody called:\n%s", task)
			}
			return llm.Response{Content: text, Finish: llm.FinishStop}, nil
		}
		in := activities.GenerateIn{Ref: begun.Ref, Iteration: n + 1, Reserve: true, Prior: begun.Prior, Peers: begun.Peers}
		if n > 0 {
			in.Prior, in.Peers, in.Inputs = nil, nil, []activities.Input{{Kind: []activities.InputKind{"", "score", "missing"}[n]}}
		}
		value, err := b.env.ExecuteActivity(b.act.Generate, in)
		var out activities.GenerateOut
		if err != nil || value.Get(&out) != nil || out.Scored != (n == 1) {
			t.Fatalf("reply %d: %+v, %v", n, out, err)
		}
	}
	save := activities.SaveScoreIn{N: 1, Judge: activities.ExecutionSummary{Ref: begun.Ref, Status: agent.StatusCompleted,
		Usage: agent.Usage{ModelCalls: 3}}}
	for range 2 { // a repeated attempt changes nothing
		if _, err := b.env.ExecuteActivity(b.act.SaveScore, save); err != nil {
			t.Fatal(err)
		}
	}
	got, err := b.store.Scores(t.Context(), "inv")
	want := []record.Score{{Investigation: "inv", N: 1, Status: agent.StatusCompleted, Score: new(42), Judgement: record.Judgement{
		Tags: []string{"premature_conclusion"}, Assessment: "Too early: premature_conclusion.", MissingTools: "A tracing tool.",
		Execution: ":score/Judge", Model: "m", By: "Ada",
	}}}
	vague := cmp.Options{
		cmpopts.IgnoreFields(record.Score{}, "StartedAt", "EndedAt", "Run"), cmpopts.IgnoreFields(record.Judgement{}, "PromptHash", "Usage"),
	}
	diff := cmp.Diff(want, got, vague)
	if diff != "" || err != nil || len(got[0].PromptHash) != 16 || got[0].Usage.ModelCalls != 3 || got[0].EndedAt == nil {
		t.Errorf("%v (-want +got):\n%s\n%+v", err, diff, got)
	}
	if r, err := b.store.Investigation(t.Context(), "inv"); err != nil || r.Status != agent.StatusCompleted {
		t.Errorf("the investigation itself: %+v, %v", r, err)
	}
}

// An investigation that has not ended, or that never began, is not judged.
func TestNothingToJudge(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.act.Planner = inbox("")
	b.finished()
	for n, tt := range []struct {
		change func(r *record.Investigation)
		want   string
	}{
		{func(r *record.Investigation) { r.Status, r.EndedAt = agent.StatusRunning, nil }, "it can be scored after it has ended"},
		{func(r *record.Investigation) { r.Status, r.PlanHash = agent.StatusRefused, "" }, "cannot be scored"},
	} {
		r := record.Investigation{ID: fmt.Sprint("other", n), PlanHash: b.ref.Plan, EndedAt: new(time.Now()), StartedAt: time.Now()}
		tt.change(&r)
		if err := b.store.FinishInvestigation(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		_, err := b.env.ExecuteActivity(b.act.BeginScore, activities.BeginScoreIn{Investigation: r.ID})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %q", err, tt.want)
		}
	}
}
