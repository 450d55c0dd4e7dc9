package route

import (
	"cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// Finish takes in how a stage ended, and returns the question that the chain now
// waits for an answer to, if it does: then Resume or Stop is next for the stage.
// At a gate, Approve takes the place of Resume; after a review that the configuration asks
// for, Finish does, with the verdict.
func (w Walk) Finish(n int, r Result) (ask Ask, gate bool) {
	w.State.Stages[n] = Failed
	if r.Outcome.Success() {
		w.State.Stages[n] = Succeeded
	}
	if w.End != "" { // it leads nowhere any more
		return "", false
	}
	ask = w.leave(n, r)
	if ask != "" {
		w.State.Stages[n] = Asking
	}
	w.turn()
	return ask, ask == Confirmation && r.Outcome.Success() && w.Chain.Stages[n].Routing.OnApprove != ""
}

// leave decides where the chain goes from a stage that has ended. A review of its result comes first, because a result
// that is sent back must not lead anywhere; then what the stage asks for itself; then the ways that the chain has from
// it, of which the first that is open is taken.
func (w Walk) leave(n int, r Result) Ask {
	stage := w.Chain.Stages[n]
	if review := stage.Routing.Review; review != nil && (r.Outcome.Success() || r.Outcome == agent.OutcomeTerminate) {
		switch {
		case r.Review == SentBack:
			return w.follow(n, cmp.Or(review.Back, stage.Name))
		case r.Review == "" && review.People:
			return Review
		}
	}
	switch r.Outcome {
	case agent.OutcomeClarify:
		return Clarification
	case agent.OutcomeConfirm:
		return Confirmation
	case agent.OutcomeTerminate:
		w.finish(agent.EndCompleted)
		return ""
	}
	for _, way := range w.WaysFrom(n) {
		if way.open(r) {
			return w.follow(n, way.To)
		}
	}
	// No way is open for it: the outcome alone decides.
	switch {
	case r.Outcome == agent.OutcomeError:
		w.finish(cmp.Or(r.Failure, agent.EndToolFailed))
	case r.Outcome.Loop():
		w.finish(agent.EndPolicyViolation) // it asks for another pass, and nothing says where from
	default:
		w.goOn(n)
	}
	return ""
}

// goOn goes on with the next stage in order. In a graph, the stages that wait for this one
// start by themselves, and no edge is counted.
func (w Walk) goOn(n int) {
	w.Next = n + 1
	if !w.Graph() && w.Next < len(w.Chain.Stages) && w.crossed(w.Chain.Stages[n].Name, w.Chain.Stages[w.Next].Name) {
		w.finish(agent.EndMaxLoop)
	}
}

// follow goes from a stage to a target.
func (w Walk) follow(from int, target string) Ask {
	switch target {
	case plan.TargetEnd:
		w.finish(agent.EndCompleted)
		return ""
	case plan.TargetClarification:
		return Clarification
	case plan.TargetConfirmation:
		return Confirmation
	}
	to := w.index(target)
	switch {
	case to < 0: // the configuration's validation keeps this from happening
		w.finish(agent.EndPolicyViolation)
	case w.crossed(w.Chain.Stages[from].Name, target):
		w.finish(agent.EndMaxLoop)
	case to > from:
		w.Next = to
	default:
		w.jumpBack(to)
	}
	return ""
}

// crossed counts an edge and reports whether it has been used too often.
func (w Walk) crossed(from, to string) bool {
	for _, limit := range w.Bounds.Edges {
		if limit.From != from || limit.To != to {
			continue
		}
		if w.Edges == nil {
			w.Edges = map[string]int{}
		}
		w.Edges[from+" "+to]++
		if w.Edges[from+" "+to] > limit.Max {
			return true
		}
	}
	return false
}

// jumpBack has the chain go back once nothing runs any more. Of two jumps, the one that
// goes farther back holds.
func (w Walk) jumpBack(to int) {
	if w.Back == 0 || to < w.Back-1 {
		w.Back = to + 1
	}
}

// turn begins the pass of a jump, once nothing runs and nobody is asked any more.
func (w Walk) turn() {
	if w.End == "" && w.Back > 0 && !w.running() {
		w.pass(w.Back - 1)
	}
}

// pass begins another pass at a stage: its result, and those of all that come after it,
// are void.
func (w Walk) pass(to int) {
	w.Back = 0
	if w.Bounds.MaxPasses > 0 && w.Number() >= w.Bounds.MaxPasses {
		w.finish(agent.EndMaxPasses)
		return
	}
	w.Pass++
	for _, n := range w.Cleared(to) {
		w.State.Stages[n] = ""
	}
	w.Next = to
}

// Cleared are the stages whose outputs a jump to a stage makes void: it and all
// after it, or in a graph all that depend on it.
func (c Chain) Cleared(to int) []int {
	var out []int
	for n := to; n < len(c.Stages) && !c.Graph(); n++ {
		out = append(out, n)
	}
	if c.Graph() {
		return c.dependents(to)
	}
	return out
}

// dependents are a stage and all that wait for it, in order.
func (c Chain) dependents(to int) []int {
	void := map[string]bool{c.Stages[to].Name: true}
	for grown := true; grown; {
		grown = false
		for _, s := range c.Stages {
			for _, name := range append(append([]string(nil), s.Routing.Requires...), s.Routing.After...) {
				if void[name] && !void[s.Name] {
					void[s.Name], grown = true, true
				}
			}
		}
	}
	var out []int
	for n, s := range c.Stages {
		if void[s.Name] {
			out = append(out, n)
		}
	}
	return out
}

// Resume goes on after an answer, at a stage of its own choosing or, "", at the
// one that asked, which then does its work again. It is no new pass. At another
// stage all that depends on that one comes again, the stage that asked only if it
// is among them: else the answer has settled what it asked, and it has succeeded.
func (w Walk) Resume(asked int, target string) {
	w.State.Stages[asked] = Succeeded
	to, again := asked, []int{asked}
	if n := w.index(target); n >= 0 && n != asked {
		to, again = n, w.Cleared(n)
	}
	for _, n := range again {
		if !w.busy(n) { // else it goes on as it is
			w.State.Stages[n] = ""
		}
	}
	w.Next = to
	w.turn()
}

// Approve goes on from a gate: its stage has succeeded, and people have agreed to what it hands on.
func (w Walk) Approve(asked int) {
	w.State.Stages[asked] = Succeeded
	if to := w.Chain.Stages[asked].Routing.OnApprove; to != plan.TargetNext {
		w.follow(asked, to) // no question: the configuration's validation sees to that
	} else {
		w.goOn(asked)
	}
	w.turn()
}

// Stop ends the walk for a reason of its caller: a denial, a budget, a cancellation.
func (w Walk) Stop(why agent.EndReason) { w.finish(why) }
