package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
)

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
	again, late := record.Score{Investigation: "inv", N: 3, EndedAt: &end}, record.Score{Investigation: "inv", N: 1, EndedAt: &end}
	for _, r := range []record.Score{third, again, late} {
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
