package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// modelCall returns the admission of an iteration's call that needs 100 tokens and costs a cent.
func modelCall(execution string, iteration int, bounds plan.Bounds) record.Admission {
	return record.Admission{
		Investigation: scope.Investigation, Execution: execution, Iteration: iteration, RunID: "r1", Provider: "p", Model: "m",
		Needs: agent.Usage{ModelCalls: 1, InputTokens: 100, CostUSD: 0.01}, Bounds: bounds,
	}
}

func testAdmission(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	admit := func(execution string, iteration int, bounds plan.Bounds) agent.EndReason {
		t.Helper()
		return must(s.Admit(ctx, modelCall(execution, iteration, bounds)))(t)
	}
	one, other := scope.Execution, "stage/other"
	same(t, "a second call of one", []agent.EndReason{"", agent.EndMaxLLMCalls},
		[]agent.EndReason{admit(one, 1, plan.Bounds{MaxLLMCalls: 1}), admit(other, 1, plan.Bounds{MaxLLMCalls: 1})})
	same(t, "the first call, again", admit(one, 1, plan.Bounds{MaxLLMCalls: 1}), agent.EndReason(""))

	// The charge of the reply replaces its reservation.
	mustAppend(t, s, step("r1", reply("r1", key(1, 0), agent.Usage{ModelCalls: 1, InputTokens: 150, OutputTokens: 50, CostUSD: 0.03})))
	same(t, "usage", must(s.Usage(ctx, scope.Investigation))(t), agent.Usage{ModelCalls: 1, InputTokens: 150, OutputTokens: 50, CostUSD: 0.03})
	same(t, "more tokens than there are", admit(other, 1, plan.Bounds{MaxTokens: 299}), agent.EndBudget)
	same(t, "more money than there is", admit(other, 1, plan.Bounds{MaxCost: 0.039}), agent.EndBudget)
	same(t, "refusals take nothing", must(s.Usage(ctx, scope.Investigation))(t).ModelCalls, 1)

	for range 2 { // the update is handled again after a crash
		ok(t, s.Extend(ctx, scope.Investigation, "u1", plan.Extension{LLMCalls: 1, Tokens: 1, CostUSD: 0.002}))
	}
	ok(t, s.Extend(ctx, "another", "u1", plan.Extension{LLMCalls: 9}))
	same(t, "extended, and used up", []agent.EndReason{"", agent.EndMaxLLMCalls, agent.EndBudget},
		[]agent.EndReason{
			admit(other, 1, plan.Bounds{MaxLLMCalls: 1, MaxTokens: 299, MaxCost: 0.039}),
			admit(one, 2, plan.Bounds{MaxLLMCalls: 1}), admit(one, 2, plan.Bounds{MaxTokens: 398}),
		})
}

// Parallel agents share one bound, on any worker.
func testAdmissionAtOnce(t *testing.T, open opener) {
	handles := []Store{open(), open()}
	const most = 7
	var admitted atomic.Int64
	var group sync.WaitGroup
	for n := range 40 {
		group.Go(func() {
			call := modelCall(fmt.Sprint("stage/", n), 1, plan.Bounds{MaxLLMCalls: most})
			if exceeded, err := handles[n%2].Admit(t.Context(), call); err != nil {
				t.Error(err)
			} else if exceeded == "" {
				admitted.Add(1)
			}
		})
	}
	group.Wait()
	same(t, "calls", admitted.Load(), int64(most))
}

// A reservation for a call that never gets a reply is released.
var reservationEnds = map[string]func(*testing.T, Store){
	"reservation of a call that has failed": func(t *testing.T, s Store) {
		same(t, "the next call", must(s.Admit(t.Context(), modelCall(scope.Execution, 2, oneCall)))(t), agent.EndReason(""))
		mustAppend(t, s, step("r1", reply("r1", key(2, 0), agent.Usage{}))) // it cost nothing
	},
	"reservation of a try that may have been paid": func(t *testing.T, s Store) {
		failed := reply("r1", transcript.TryKey(1, 1), agent.Usage{InputTokens: 100})
		failed.Kind = transcript.KindTry
		mustAppend(t, s, step("r1", failed))
		same(t, "usage", must(s.Usage(t.Context(), scope.Investigation))(t), agent.Usage{InputTokens: 100})
		tokens := plan.Bounds{MaxTokens: 199}
		same(t, "the next try", must(s.Admit(t.Context(), modelCall(scope.Execution, 1, tokens)))(t), agent.EndBudget)
	},
	"reservation of a run that was reset": func(t *testing.T, s Store) {
		second := modelCall(scope.Execution, 1, oneCall)
		second.RunID = "r2"
		same(t, "the call of the new run", must(s.Admit(t.Context(), second))(t), agent.EndReason(""))
		mustAppend(t, s, step("r2", reply("r2", key(1, 0), agent.Usage{})))
	},
	"reservation of an ended execution": func(t *testing.T, s Store) {
		ended := record.Execution{Investigation: scope.Investigation, Name: scope.Execution, Stage: "triage", Status: agent.StatusFailed}
		ok(t, s.SaveStage(t.Context(), record.Stage{Investigation: scope.Investigation, Name: "triage"}, []record.Execution{ended}, nil))
	},
}

var oneCall = plan.Bounds{MaxLLMCalls: 1}

func testReservationEnds(end func(*testing.T, Store)) func(*testing.T, opener) {
	return func(t *testing.T, open opener) {
		s := open()
		admit := func(execution string) agent.EndReason {
			t.Helper()
			return must(s.Admit(t.Context(), modelCall(execution, 1, oneCall)))(t)
		}
		same(t, "the first call", admit(scope.Execution), agent.EndReason(""))
		same(t, "no room beside it", admit("stage/other"), agent.EndMaxLLMCalls)
		end(t, s)
		same(t, "room for another agent", admit("stage/other"), agent.EndReason(""))
	}
}

// A cost bound is exact, however many calls there were.
func testCostAddsUp(t *testing.T, open opener) {
	s := open()
	for n := range 100 {
		mustAppend(t, s, step("r1", reply("r1", key(n+1, 0), agent.Usage{ModelCalls: 1, CostUSD: 0.01})))
	}
	same(t, "usage", must(s.Usage(t.Context(), scope.Investigation))(t), agent.Usage{ModelCalls: 100, CostUSD: 1})
}

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
	checkUsage := func(when string, executions ...record.Execution) {
		t.Helper()
		same(t, when+": by id", must(s.Investigation(ctx, r.ID))(t), r)
		same(t, when+": found", must(s.FindInvestigation(ctx, "inv"))(t), r)
		same(t, when+": listed", must(s.Investigations(ctx, store.Filter{}))(t), []record.Investigation{r})
		same(t, when+": followed", next(t, follow(t, s, 99)).Record, &r)
		same(t, when+": executions", must(s.Executions(ctx, r.ID))(t), executions)
	}
	checkUsage("running", one, other, silent)
	same(t, "running: as the reconciler sees it", must(s.Running(ctx))(t), []record.Investigation{r})

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
	checkUsage("ended", one, other, silent)
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
