package storetest

import (
	"fmt"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Running investigations and agents are returned with their usage so far, by every way to read them. After the end, the same usage
// is returned.
func testUsageSoFar(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	r, stage, one := investigation(scope.Investigation, "inv", 1), stageOf(scope.Investigation), executionOf(scope.Investigation)
	other, silent := one, one
	other.Name, silent.Name = "triage/other", "triage/silent"
	ok(t, s.StartInvestigation(ctx, r))
	for _, e := range []record.Execution{one, other, silent} {
		ok(t, s.StartExecution(ctx, e, "r1"))
	}
	calls := func(row transcript.Row, n int) transcript.Row {
		row.Calls = make([]transcript.Call, n)
		return row
	}
	conclusion := calls(reply("r1", key(2, 0), agent.Usage{ModelCalls: 1, InputTokens: 7}), 5)
	conclusion.Forced = true
	mustAppend(t, s, step("r1", calls(reply("r1", key(1, 0), agent.Usage{
		ModelCalls: 1, InputTokens: 100, OutputTokens: 10, CostUSD: 0.25,
		CacheReadTokens: 60, CacheWriteTokens: 20, ReasoningTokens: 5, ImageTokens: 8,
	}), 3)))
	mustAppend(t, s, step("r1", conclusion)) // its calls are never made
	others := step("x", calls(reply("x", key(4, 0), agent.Usage{ModelCalls: 1, InputTokens: 1000}), 1))
	others.Execution = other.Name
	mustAppend(t, s, others)
	ok(t, s.SetLive(ctx, live(3, 1, "I am at it")))

	one.Iterations, one.Usage = 3, agent.Usage{
		ModelCalls: 2, ToolCalls: 3, InputTokens: 107, OutputTokens: 10, CostUSD: 0.25,
		CacheReadTokens: 60, CacheWriteTokens: 20, ReasoningTokens: 5, ImageTokens: 8,
	}
	other.Iterations, other.Usage = 4, agent.Usage{ModelCalls: 1, ToolCalls: 1, InputTokens: 1000}
	r.Usage = one.Usage.Add(other.Usage)
	told := func(when string, executions ...record.Execution) {
		t.Helper()
		same(t, when+": by id", must(s.Investigation(ctx, r.ID))(t), r)
		same(t, when+": found", must(s.FindInvestigation(ctx, "inv"))(t), r)
		same(t, when+": listed", must(s.Investigations(ctx, store.Filter{}))(t), []record.Investigation{r})
		same(t, when+": followed", next(t, follow(t, s, 99)).Record, &r)
		same(t, when+": executions", must(s.Executions(ctx, r.ID))(t), executions)
	}
	told("running", one, other, silent)
	same(t, "running: by those who look after it", must(s.Running(ctx))(t), []record.Investigation{r})

	end := at(8).UTC()
	for _, e := range []*record.Execution{&one, &other, &silent} {
		e.Status, e.EndedAt = agent.StatusCompleted, &end
	}
	fromElsewhere := one
	fromElsewhere.Usage = agent.Usage{ModelCalls: 99}
	ok(t, s.SaveStage(ctx, stage, []record.Execution{fromElsewhere, other, silent}, nil))
	used := r.Usage
	r = finished(r, agent.StatusCompleted)
	ok(t, s.FinishInvestigation(ctx, r))
	r.Usage = used
	told("ended", one, other, silent)
}

// Lists query the usage of all their rows together, however many there are.
func testUsageOfMany(t *testing.T, open opener) {
	s := open()
	var ids []string
	want := map[string]agent.Usage{}
	for n := range 205 {
		id := fmt.Sprint("inv/", n)
		ids = append(ids, id)
		if n%3 == 0 {
			continue // nothing is charged
		}
		one := step("r1", reply("r1", key(1, 0), agent.Usage{ModelCalls: 1, InputTokens: n}))
		one.Investigation = id
		mustAppend(t, s, one)
		want[id] = agent.Usage{ModelCalls: 1, InputTokens: n}
	}
	same(t, "usage", must(s.Usages(t.Context(), ids))(t), want)
	same(t, "usage of nothing", must(s.Usages(t.Context(), nil))(t), map[string]agent.Usage{})
}
