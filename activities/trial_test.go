package activities_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/knowledge/learning"
	"github.com/inquest-dev/inquest/internal/plan"
)

// TestTrials: nothing is learned from a trial, a fork or not, its agents cannot look up earlier investigations, and it does not count as a
// use of learnings. A fork shows what the other investigation had shown, except what it leaves out, which cannot be recalled, either.
func TestTrials(t *testing.T) {
	t.Parallel()
	for request, tt := range map[string]struct {
		iteration     int // the first one that is not shared
		shown, trials int
	}{
		`"chain": "lab", "data": "the pool of payments is full"`:      {iteration: 1, shown: 2},
		`"fork": {"of": "inv"}`:                                       {iteration: 2, shown: 1, trials: 1},
		`"fork": {"of": "inv", "leave_out": ["L1"], "tools": "tape"}`: {iteration: 1},
	} {
		for _, trial := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s trial %t", request, trial), func(t *testing.T) {
				t.Parallel()
				b, _ := newRecallBench(t, nil)
				b.change(func(p *plan.Plan) {
					p.Project, p.Learning, p.Memory = "shop", &plan.Stage{}, &plan.Memory{MaxInject: 2, Shown: []plan.Learning{{ID: 1}}}
					p.Stages[0].Agents[0].Recalls = true
				})
				recall := agent.ToolCall{Name: "recall_past_investigations", Arguments: `{"query":"pool"}`}
				b.asks(recall)
				if _, err := b.callTool(1, 0); err != nil {
					t.Fatal(err)
				}
				b.forkable()
				b.teach("shop", "old", "The pool has 20 connections.", "The pool is full at noon.", "The pool empties by itself.")
				b.act.Requests = inbox(fmt.Sprintf(`{%s, "project": "shop", "trial": %t}`, request, trial))
				p := b.resolved()
				if _, err := b.generate(activities.GenerateIn{Iteration: tt.iteration}); err != nil {
					t.Fatal(err)
				}
				if _, err := b.callTool(tt.iteration, 0); err != nil {
					t.Fatal(err)
				}
				entries := b.entries("s/A")
				recalled := strings.Contains(entries[len(entries)-1].Text, "The pool")
				if strings.Contains(request, "leave_out") && strings.Contains(entries[len(entries)-1].Text, "20 connections") {
					t.Errorf("L1 is left out, but was recalled: %s", entries[len(entries)-1].Text)
				}
				refused := strings.Contains(entries[len(entries)-1].Text, "this investigation is a trial")
				reads, _, err := b.learnings().LearningReads(t.Context(), learning.ReadFilter{Project: "shop", Investigation: "w:1"})
				r, missing := b.store.Investigation(t.Context(), "w:1")
				if err != nil || missing != nil {
					t.Fatal(err, missing)
				}
				if r.Envelope.Trial != trial || (p.Learning == nil) != trial || recalled == trial || refused != trial || (len(reads) == 0) != trial {
					t.Errorf("recorded as a trial: %t; learns: %+v; recalled: %t; reads: %+v", r.Envelope.Trial, p.Learning, recalled, reads)
				}
				want := tt.shown
				if trial {
					want = tt.trials
				}
				if got := len(p.Memory.Shown); got != want {
					t.Errorf("%d learnings are shown, not %d", got, want)
				}
				b.act.Requests = inbox(`{"fork": {"of": "w:1"}, "project": "shop"}`)
				if p = b.resolvedAs("again"); p.Learning == nil || p.Memory.Trial || len(p.Memory.Shown) != want {
					t.Errorf("a fork of it that is no trial: learns: %+v, memory: %+v", p.Learning, p.Memory)
				}
				left := strings.Contains(request, "leave_out")
				if slices.Contains(p.Fork.LeftLearnings(), 1) != left || (p.Version == plan.Version) != left {
					t.Errorf("a fork of it leaves out %v, and its plan has version %d", p.Fork.LeftOut, p.Version)
				}
			})
		}
	}
}

// TestRefusedTrials: the record of a trial that is refused says that it is one, so nobody is notified. Agents with a memory of their own
// are refused, because others read it.
func TestRefusedTrials(t *testing.T) {
	t.Parallel()
	for request, why := range map[string]string{
		`{"chain":"unknown","data":"x","trial":true}`:         "no such chain",
		`{"chain":"lab","data":"x","trial":true}`:             "s/A keeps a memory that later investigations read",
		`{"fork":{"of":"inv"},"project":"shop","trial":true}`: "s/A keeps a memory that later investigations read",
	} {
		b := newBench(t)
		b.asks(agent.ToolCall{Name: "lab__read", Arguments: `{}`})
		if _, err := b.callTool(1, 0); err != nil {
			t.Fatal(err)
		}
		b.change(func(p *plan.Plan) { p.Stages[0].Agents[0].Type = "memgpt" })
		b.forkable()
		b.act.Requests, b.act.Planner = inbox(request), withMemory{}
		_, err := b.env.ExecuteActivity(b.act.Resolve, activities.ResolveIn{Investigation: "trial", RunID: "run"})
		r, missing := b.store.Investigation(t.Context(), "trial")
		if err == nil || !strings.Contains(err.Error(), why) || missing != nil || r.Status != agent.StatusRefused || !r.Envelope.Trial {
			t.Errorf("%s: %v; recorded: %v, %+v", request, err, missing, r)
		}
	}
}

// withMemory is a configuration whose agent has a memory of its own.
type withMemory struct{ counter }

func (c withMemory) Plan(ctx context.Context, req agent.Request, data string) (plan.Plan, error) {
	req.Chain = cmp.Or(req.Chain, "lab")
	p, err := c.counter.Plan(ctx, req, data)
	p.Stages[0].Agents[0].Type = "memgpt"
	return p, err
}
