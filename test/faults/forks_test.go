package faults

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/fork"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store/storetest"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// TestForks makes forks of forks at random places, while things go wrong. Shared replies are not paid for and shared calls not made again,
// what is not shared obeys the same rules as in any investigation, and the other investigation stays as it is.
func TestForks(t *testing.T) {
	t.Parallel()
	const shards, tries = 8, 5
	var alone atomic.Int64
	t.Cleanup(func() {
		if n := alone.Load(); n < int64(*seeds/100) {
			t.Errorf("only %d forks left an agent out", n)
		}
	})
	for shard := range shards {
		t.Run(fmt.Sprint(shard), func(t *testing.T) {
			t.Parallel()
			s, forks, given, without, recorded := storetest.Open(t), 0, 0, 0, 0
			for seed := shard; seed < *seeds; seed += shards {
				of := cast(s, fmt.Sprintf("forked-%d", seed), uint64(seed))
				if of.talking {
					continue
				}
				of.play()
				for n := range tries {
					f := of.forked(t, uint64(seed), n)
					if f == nil {
						continue
					}
					forks, given, without = forks+1, given+len(f.fork.Results), without+len(f.fork.LeaveOut)
					recorded += f.recorded(t)
					if len(f.agents) < len(of.agents) {
						alone.Add(1)
					}
					for _, problem := range f.check(t.Context()) {
						t.Errorf("fork %d of seed %d, at %q: %s", n+1, seed, f.fork.At, f.normal(problem))
					}
					of = f
				}
			}
			if least := *seeds / shards / 20; forks < 5*least || given < least || without < least || recorded < least {
				t.Errorf("only %d forks were made, %d with another result and %d without one; %d calls were answered from a tape",
					forks, given, without, recorded)
			}
		})
	}
}

// forked plays a fork at a random place. It returns nil if the investigation cannot be forked there.
func (r *run) forked(t *testing.T, seed uint64, n int) *run {
	t.Helper()
	before := r.rows(t)
	at := r.place(before, seed, n)
	f := newRun(r.store, fmt.Sprintf("%s-%d", r.id, n+1), seed*100+uint64(n), r.profile)
	asked := &agent.Fork{Of: r.investigation(), At: at}
	results := slices.DeleteFunc(slices.Clone(before), func(e transcript.Entry) bool { return e.Kind != transcript.KindResult })
	asked.Tools = []string{"", agent.ForkTape, agent.ForkLive}[pick(3, seed, "tools", n)]
	if n > 0 && len(results) > 0 {
		row := fmt.Sprint(results[pick(len(results), seed, "result", n)].Seq)
		at, asked.At = "", ""
		if n%2 == 1 {
			asked.Results = map[string]string{row: "given"}
		} else {
			asked.LeaveOut, asked.Tools = []string{row}, agent.ForkTape
		}
		able := slices.DeleteFunc(fork.Inputs(r.plan, before, fork.Agents), func(in fork.Input) bool { return in.Problem != "" })
		if n%2 == 0 && len(able) > 0 {
			asked.LeaveOut = []string{able[pick(len(able), seed, "left out", n)].Name}
		}
	}
	f.fork, f.plan, f.agents, f.together = asked, r.plan, maps.Clone(r.agents), r.together
	f.trial = seed%2 == 1 && r.plan.Remembers() == ""
	f.steps = append([]agent.ToolCall{}, r.planned()...)
	cut, texts, refused := fork.Cut(r.plan, before, *f.fork)
	absent := f.leaveOut(cut)
	f.play()
	failed, _ := errors.AsType[*temporal.ApplicationError](f.env.GetWorkflowError())
	if was := failed != nil && failed.Type() == activities.ErrorInvalidRequest; was != (refused != nil) {
		t.Errorf("fork of seed %d at %q: %v, and the cut is %v", seed, at, failed, refused)
	}
	if unread := failed != nil && failed.Type() == activities.ErrorStore && len(f.rows(t)) == 0; refused != nil || unread {
		return nil
	}
	if diff := cmp.Diff(before, r.rows(t)); diff != "" {
		t.Errorf("fork of seed %d at %q: the other investigation changed: %s", seed, at, diff)
	}
	ended, err := r.store.Investigation(t.Context(), f.investigation())
	if err != nil || ended.Envelope.Trial != f.trial {
		t.Errorf("fork of seed %d: %v, its record says trial: %t", seed, err, ended.Envelope.Trial)
	}
	for _, e := range f.rows(t) {
		if slices.Contains(absent, e.Execution) {
			t.Errorf("fork of seed %d: an agent that is left out did something: %+v", seed, e)
		}
	}
	var notChecked []string
	for _, g := range cut.Given {
		notChecked = append(notChecked, fmt.Sprintf(" the result of row %d", g.Row))
	}
	for _, l := range cut.LeftOut {
		if l.Agent != "" {
			notChecked = append(notChecked, " left this agent out")
		}
	}
	for _, why := range notChecked {
		said := func(n record.NotChecked) bool { return strings.HasSuffix(n.Why, why) }
		if err != nil || ended.Status.Closed() && !slices.ContainsFunc(ended.Envelope.NotChecked, said) {
			t.Errorf("fork of seed %d: %v, the report does not say %q: %+v", seed, err, why, ended.Envelope)
		}
	}
	var shared []transcript.Entry
	for _, e := range f.rows(t) {
		if e.Shared > 0 {
			shared = append(shared, e)
		}
	}
	var want []transcript.Entry
	for _, e := range before {
		failed := e.Kind == transcript.KindTry || e.Kind == transcript.KindFallback || slices.Contains(cut.Without, e.Seq)
		if part, ok := cut.Parts[e.Execution]; ok && !failed && !e.Superseded && e.Iteration <= part.Iterations {
			if text, given := texts[e.Seq]; given {
				by := "a person"
				if cut.LeavesOut(e.Seq) {
					by = "Inquest"
				}
				e.Body = e.With(transcript.Given{Text: text, Size: len(text), By: by})
			}
			want = append(want, e)
		}
	}
	same := cmpopts.IgnoreFields(transcript.Entry{}, "Investigation", "Seq", "Writer", "Shared", "Usage", "SummaryUsage")
	if diff := cmp.Diff(want, shared, same); diff != "" || len(shared) != cut.Rows {
		t.Errorf("fork of seed %d at %q shares %d rows: %s", seed, at, cut.Rows, diff)
	}
	for i := range min(len(want), len(shared)) {
		if shared[i].Shared != want[i].Seq || shared[i].Usage != nil {
			t.Errorf("fork of seed %d at %q: row %d is %+v", seed, at, i+1, shared[i])
		}
	}
	for _, e := range f.rows(t) {
		got, _ := strconv.ParseInt(path.Base(e.Recorded), 10, 64)
		if cut.LeavesOut(got) && e.Shared == 0 || cut.LeavesOut(e.Shared) && e.Given == "" {
			t.Errorf("fork of seed %d: an agent got a result that is left out (%v): %+v", seed, cut.LeftOut, e)
		}
	}
	return f
}

// leaveOut removes the agents that a fork leaves out, and returns their executions.
func (r *run) leaveOut(cut plan.Fork) (absent []string) {
	for _, l := range cut.LeftOut {
		for _, name := range r.executions() {
			if l.Agent != "" && (name == l.Agent || strings.HasPrefix(name, l.Agent+"/")) {
				absent = append(absent, name)
				delete(r.agents, name)
			}
		}
	}
	r.plan.Fork = &cut
	fork.Apply(&r.plan)
	r.plan.Fork = nil
	return absent
}

func (r *run) rows(t *testing.T) []transcript.Entry {
	t.Helper()
	all, err := r.store.After(t.Context(), r.investigation(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// place chooses a place in a log.
func (r *run) place(log []transcript.Entry, seed uint64, n int) string {
	if len(log) == 0 {
		return ""
	}
	row := log[pick(len(log), seed, "row", n)]
	switch pick(4, seed, "place", n) {
	case 0:
		return ""
	case 1:
		return fmt.Sprint(row.Seq)
	case 2:
		stage, _, _ := strings.Cut(row.Execution, "/")
		return stage
	}
	return fmt.Sprintf("%s/%d", row.Execution, row.Iteration)
}

// checkShared checks that nothing was done for a shared reply.
func (c checker) checkShared(reply transcript.Entry, results map[transcript.Key]transcript.Entry) {
	if paid := c.paid[[2]any{c.execution, reply.Iteration}]; paid > 0 {
		c.problem("%s: the shared iteration %d was answered %d times", c.execution, reply.Iteration, paid)
	}
	for n := range reply.Calls {
		result := results[transcript.ResultKey(reply.Iteration, n)]
		done := c.lab.done[fmt.Sprintf("%s/%s/%d/%d", c.investigation(), c.execution, reply.Iteration, n)]
		if result.Shared == 0 && !reply.Forced || done > 0 {
			c.problem("%s: call %d of the shared iteration %d was done %d times; result %+v", c.execution, n, reply.Iteration, done, result)
		}
	}
}

// recorded counts the calls that were answered from the results of another investigation.
func (r *run) recorded(t *testing.T) (n int) {
	t.Helper()
	for _, e := range r.rows(t) {
		if e.Recorded != "" && e.Shared == 0 {
			n++
		}
	}
	return n
}

// checkRecorded checks that a call was not made, and has the result of the same call in the other investigation.
func (c checker) checkRecorded(where string, call transcript.Call, result transcript.Entry, done int) {
	row, err := strconv.ParseInt(path.Base(result.Recorded), 10, 64)
	if of := path.Dir(result.Recorded); err != nil || c.fork == nil || of != c.fork.Of || c.fork.Tools == "" {
		c.problem("%s was answered from %q: %v", where, result.Recorded, err)
		return
	}
	all, err := c.store.After(context.Background(), c.fork.Of, row-1, 1)
	if err != nil || len(all) == 0 || all[0].Seq != row {
		c.problem("%s was answered from %q, which is not there: %v", where, result.Recorded, err)
		return
	}
	same := all[0].Kind == transcript.KindResult && all[0].Call.Name == call.Name && all[0].Text == result.Text &&
		all[0].Status == result.Status && all[0].ErrorType == result.ErrorType
	if done > 0 || !same {
		c.problem("%s was done %d times, and answered from %+v with %+v", where, done, all[0], result)
	}
}

// BenchmarkFork measures how long a fork of an investigation with 1,000 rows takes to its first own model call.
func BenchmarkFork(b *testing.B) {
	s := storetest.Open(b)
	row, known := agent.LookupType("default")
	if !known {
		b.Fatal("there is no default type")
	}
	one := newWorker(row, "A", "long")
	one.plan.MaxIterations, one.plan.Servers = 400, []plan.Server{{Name: "lab"}}
	of := newRun(s, "long", 1, profiles[0])
	of.says = func(at place) llm.Response {
		if at.iteration > 333 {
			return llm.Response{Content: "done", Finish: llm.FinishStop}
		}
		return llm.Response{ToolCalls: []agent.ToolCall{{ID: "a", Name: "lab__read", Arguments: `{"n":1}`}}, Finish: llm.FinishToolCalls}
	}
	of.employ(one)
	of.play()
	rows, err := s.After(b.Context(), of.investigation(), 0, 0)
	if err != nil || len(rows) < 1000 {
		b.Fatal(len(rows), err)
	}
	var waited time.Duration
	for n := 0; b.Loop(); n++ {
		f := newRun(s, fmt.Sprint("long-", n), 1, profiles[0])
		f.fork, f.plan, f.agents = &agent.Fork{Of: of.investigation(), At: "A/334"}, of.plan, of.agents
		begun := time.Now()
		f.says = func(place) llm.Response {
			waited += time.Since(begun)
			return llm.Response{Content: "done", Finish: llm.FinishStop}
		}
		f.play()
	}
	b.ReportMetric(waited.Seconds()/float64(b.N), "s/first-call")
}
