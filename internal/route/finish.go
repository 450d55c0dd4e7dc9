package route

import (
	"cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// Finish records how a stage ended. It returns the question that the chain now asks people, if any. The caller must
// then call Resume or Stop for the stage. At a gate, call Approve instead of Resume. After a configured review, call
// Finish with the verdict.
func (w Walk) Finish(n int, r Result) (ask Ask, gate bool) {
	w.State.Stages[n] = Failed
	if r.Outcome.Success() {
		w.State.Stages[n] = Succeeded
	}
	if w.End != "" { // the walk has already ended
		return "", false
	}
	ask = w.leave(n, r)
	if ask != "" {
		w.State.Stages[n] = Asking
	}
	w.turn()
	return ask, ask == Confirmation && r.Outcome.Success() && w.Chain.Stages[n].Routing.OnApprove != ""
}

// leave decides where the chain goes from an ended stage. The review of its result comes first, because a
// rejected result must not lead anywhere. Then come the stage's own requests. Last come the chain's edges from the
// stage; it takes the first open one.
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
	// No edge is open, so only the outcome decides.
	switch {
	case r.Outcome == agent.OutcomeError:
		w.finish(cmp.Or(r.Failure, agent.EndToolFailed))
	case r.Outcome.Loop():
		w.finish(agent.EndPolicyViolation) // the stage asks for another pass, but no target is configured
	default:
		w.goOn(n)
	}
	return ""
}

// goOn continues with the next stage in order. In a graph, the stages that wait for this one start by themselves, and
// no edge is counted.
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
	case to < 0: // the configuration's validation prevents this
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

// jumpBack makes the chain go back once nothing is running. If there are two jumps, the one that goes farther back
// wins.
func (w Walk) jumpBack(to int) {
	if w.Back == 0 || to < w.Back-1 {
		w.Back = to + 1
	}
}

// turn begins the pass of a jump, once no stage is running or waiting for an answer.
func (w Walk) turn() {
	if w.End == "" && w.Back > 0 && !w.running() {
		w.pass(w.Back - 1)
	}
}

// pass begins another pass at a stage. The results of that stage and all later stages become void.
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

// Cleared returns the stages whose outputs a jump to a stage makes void: that stage and all later ones, or in a graph
// all that depend on it.
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

// dependents returns a stage and all stages that wait for it, in order.
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

// Resume continues after an answer, at the target stage or, if target is empty, at the stage that asked, which then
// runs again. This is not a new pass. At another stage, everything that depends on that stage runs again. The stage
// that asked runs again only if it is among these; otherwise the answer settles its question, and it has succeeded.
func (w Walk) Resume(asked int, target string) {
	w.State.Stages[asked] = Succeeded
	to, reset := asked, []int{asked}
	if n := w.index(target); n >= 0 && n != asked {
		to, reset = n, w.Cleared(n)
	}
	for _, n := range reset {
		if !w.busy(n) { // otherwise it continues unchanged
			w.State.Stages[n] = ""
		}
	}
	w.Next = to
	w.turn()
}

// Approve continues from a gate: its stage has succeeded, and people have approved its output.
func (w Walk) Approve(asked int) {
	w.State.Stages[asked] = Succeeded
	if to := w.Chain.Stages[asked].Routing.OnApprove; to != plan.TargetNext {
		w.follow(asked, to) // never a question: the configuration's validation ensures that
	} else {
		w.goOn(asked)
	}
	w.turn()
}

// Stop ends the walk for an external reason: a denial, a budget, a cancellation.
func (w Walk) Stop(why agent.EndReason) { w.finish(why) }
