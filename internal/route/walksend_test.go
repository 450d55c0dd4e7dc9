package route_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/route"
)

// TestWalksEnd checks for any graph, outcomes and answers that a walk ends within its limits with a listed reason, that
// no stage runs twice at once, that no jump is left pending, and that the state survives serialisation at every step.
func TestWalksEnd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := drive{chain: drawChain(t), state: &route.State{}, left: -1, went: map[plan.EdgeLimit]int{}}
		for steps := 0; d.step(t); steps++ {
			if steps > 200 {
				t.Fatalf("it does not end: %+v", *d.state)
			}
		}
		reasons := []agent.EndReason{
			agent.EndCompleted, agent.EndToolFailed, agent.EndMaxPasses, agent.EndMaxHops, agent.EndMaxLoop,
			agent.EndPolicyViolation, agent.EndDenied,
		}
		bounds, state := d.chain.Bounds, *d.state
		if !slices.Contains(reasons, state.End) || state.Hops > bounds.MaxHops || state.Pass+1 > bounds.MaxPasses || state.Back != 0 {
			t.Fatalf("ended with %+v", state)
		}
		for _, limit := range bounds.Edges {
			most := max(state.Edges[limit.From+" "+limit.To], d.went[plan.EdgeLimit{From: limit.From, To: limit.To}])
			if most > limit.Max && state.End != agent.EndMaxLoop {
				t.Fatalf("%+v was gone %d times: %+v", limit, most, state)
			}
		}
	})
}

func name(i int) string { return fmt.Sprintf("s%d", i) }

func drawChain(t *rapid.T) route.Chain {
	n := rapid.IntRange(1, 6).Draw(t, "stages")
	some := rapid.Custom(func(t *rapid.T) string { return name(rapid.IntRange(0, n-1).Draw(t, "stage")) })
	target := rapid.OneOf(rapid.SampledFrom([]string{"", plan.TargetEnd, plan.TargetClarification, plan.TargetConfirmation}), some)
	c := route.Chain{Bounds: plan.Bounds{MaxPasses: rapid.IntRange(1, 4).Draw(t, "passes"), MaxHops: rapid.IntRange(1, 30).Draw(t, "hops")}}
	limit := rapid.Custom(func(t *rapid.T) plan.EdgeLimit {
		return plan.EdgeLimit{From: some.Draw(t, "from"), To: some.Draw(t, "to"), Max: rapid.IntRange(1, 3).Draw(t, "max")}
	})
	way := func(limit plan.EdgeLimit) string { return limit.From + " " + limit.To }
	c.Bounds.Edges = rapid.SliceOfNDistinct(limit, 0, 3, way).Draw(t, "limits")
	graph := rapid.Bool().Draw(t, "graph")
	for i := range n {
		routing := plan.Routing{DefaultNext: target.Draw(t, "next"), ErrorNext: target.Draw(t, "error"), LoopTarget: target.Draw(t, "loop")}
		routing.OnApprove = rapid.OneOf(rapid.SampledFrom([]string{"", plan.TargetEnd, plan.TargetNext}), some).Draw(t, "on approve")
		if to := target.Draw(t, "rule"); to != "" {
			routing.Rules = []plan.Rule{rule("x", `1`, to)}
		}
		if graph && i > 0 {
			before := rapid.SliceOfNDistinct(rapid.Map(rapid.IntRange(0, i-1), name), 0, min(i, 2), rapid.ID[string])
			routing.Requires, routing.After = before.Draw(t, "requires"), before.Draw(t, "after")
			routing.JoinAny = rapid.Bool().Draw(t, "any")
		}
		c.Stages = append(c.Stages, stage(name(i), routing))
	}
	return c
}

// drive is a walk with its running stages and its open questions.
type drive struct {
	chain           route.Chain
	state           *route.State
	running, asking []int
	gates           [6]bool // of asking
	left            int     // the stage that the chain has just left; -1 means none, or left by an answer
	went            map[plan.EdgeLimit]int
}

// step starts the ready stages, and then ends a stage or answers a question. It returns false if there is none.
func (d *drive) step(t *rapid.T) bool {
	d.state = rewritten(t, d.state)
	w := route.Walk{Chain: d.chain, State: d.state}
	if d.state.End == "" && d.state.Back > 0 && len(d.running)+len(d.asking) == 0 {
		t.Fatalf("nothing runs, and the jump is not made: %+v", *d.state)
	}
	for _, n := range w.Start() {
		if slices.Contains(d.running, n) || slices.Contains(d.asking, n) {
			t.Fatalf("%s was started and had not ended: %+v", name(n), *d.state)
		}
		d.running = append(d.running, n)
		if d.left >= 0 {
			d.went[plan.EdgeLimit{From: name(d.left), To: name(n)}]++
		}
	}
	if d.state.End != "" {
		d.asking = nil
	}
	i := rapid.IntRange(0, max(0, len(d.running)+len(d.asking)-1)).Draw(t, "which")
	switch {
	case len(d.running)+len(d.asking) == 0:
		return false
	case i < len(d.running):
		d.end(t, w, i)
	default:
		d.answer(t, w, i-len(d.running))
	}
	return true
}

// end ends one of the running stages.
func (d *drive) end(t *rapid.T, w route.Walk, i int) {
	n := d.running[i]
	d.running = slices.Delete(d.running, i, i+1)
	result := route.Result{Outcome: rapid.SampledFrom([]agent.Outcome{
		agent.OutcomeSuccess, agent.OutcomePartial, agent.OutcomeSkip, agent.OutcomeError, agent.OutcomeClarify, agent.OutcomeConfirm,
		agent.OutcomeTerminate, agent.OutcomeReplan, agent.OutcomeLoopBack, "odd", "",
	}).Draw(t, "outcome")}
	if rapid.Bool().Draw(t, "says x") {
		result.Fields = map[string]json.RawMessage{"x": json.RawMessage(`1.0`)}
	}
	d.left = n
	if ask, gate := w.Finish(n, result); ask != "" {
		d.asking, d.left = append(d.asking, n), -1
		d.gates[n] = gate
	}
	if len(d.running)+len(d.asking) > 0 || routed(w) {
		d.left = -1 // stages of a graph do not follow each other
	}
}

func routed(w route.Walk) bool {
	return slices.ContainsFunc(w.Chain.Stages, func(s plan.StageSkeleton) bool { return len(s.Routing.Requires)+len(s.Routing.After) > 0 })
}

// answer answers one of the questions, sometimes with a denial.
func (d *drive) answer(t *rapid.T, w route.Walk, i int) {
	n := d.asking[i]
	d.asking, d.left = slices.Delete(d.asking, i, i+1), -1
	if rapid.IntRange(0, 9).Draw(t, "denied") == 0 {
		w.Stop(agent.EndDenied)
		return
	}
	if d.gates[n] {
		w.Approve(n)
		return
	}
	w.Resume(n, rapid.SampledFrom([]string{"", name(n), name(rapid.IntRange(0, len(d.chain.Stages)-1).Draw(t, "resume"))}).Draw(t, "at"))
}

func rewritten(t *rapid.T, state *route.State) *route.State {
	body, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	var out route.State
	if err := json.Unmarshal(body, &out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(*state, out); diff != "" {
		t.Fatal(diff)
	}
	return &out
}
