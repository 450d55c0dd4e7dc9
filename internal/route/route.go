// Package route decides which stages of a chain come next: routing rules,
// dependencies, passes and their bounds (spec: pipeline, "Routing", "Outcomes",
// "Bounds"). It is pure and holds its whole state, so that a workflow can carry it.
package route

import (
	"encoding/json"
	"slices"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// Chain is the part of a walk that does not change.
type Chain struct {
	Stages []plan.StageSkeleton
	Bounds plan.Bounds
}

// State is where a walk stands. The zero value is its beginning.
type State struct {
	Pass int `json:"pass,omitempty"` // of passes that were begun after the first
	Hops int `json:"hops,omitempty"` // stages that were started
	// Stages, by index, say how each ended in the present pass.
	Stages []Standing `json:"stages,omitempty"`
	// Edges count how often the chain went from one stage to another: "from to".
	Edges map[string]int `json:"edges,omitempty"`
	// Next are stages that a rule has named, in a chain without dependencies.
	Next int `json:"next,omitempty"`
	// Back is the target of a jump that waits for running stages to end, plus one.
	Back int             `json:"back,omitempty"`
	End  agent.EndReason `json:"end,omitempty"` // "" = it goes on
}

// Standing is how a stage stands in the present pass.
type Standing string

// The standings of a stage; "" = it has not been started.
const (
	Running   Standing = "running"
	Asking    Standing = "asking" // it has ended, and waits for an answer
	Succeeded Standing = "succeeded"
	Failed    Standing = "failed" // it has ended without success
)

// Result is how a stage ended.
type Result struct {
	Outcome agent.Outcome
	// Failure says why the chain ends if nothing takes care of a failed stage.
	Failure agent.EndReason
	// Fields are the keys of the stage's output that rules ask for.
	Fields map[string]json.RawMessage
	// Review is what was said of the result; "" = it has not been looked at.
	Review Verdict
}

// Verdict is what a review comes to.
type Verdict string

// The verdicts.
const (
	Approved Verdict = "approved"
	SentBack Verdict = "sent back"
)

// Ask is a kind of question that the chain waits for people with; "" = none.
type Ask string

// The kinds of questions.
const (
	Clarification Ask = "clarification"
	Confirmation  Ask = "confirmation"
	Review        Ask = "agent_review"
)

// Walk is a chain and where it stands.
type Walk struct {
	Chain
	*State
}

// Graph reports whether stages wait for stages that they name.
func (c Chain) Graph() bool {
	return slices.ContainsFunc(c.Stages, func(s plan.StageSkeleton) bool {
		return len(s.Routing.Requires)+len(s.Routing.After) > 0
	})
}

// Routed reports whether the chain may go another way than from its first stage to its last.
func (c Chain) Routed() bool {
	return slices.ContainsFunc(c.Stages, func(s plan.StageSkeleton) bool {
		r := s.Routing
		return len(r.Rules) > 0 || r.DefaultNext != "" || r.ErrorNext != "" || r.LoopTarget != "" || r.Review != nil
	})
}

func (c Chain) index(name string) int {
	return slices.IndexFunc(c.Stages, func(s plan.StageSkeleton) bool { return s.Name == name })
}

// Number is the number of the present pass, from 1.
func (w Walk) Number() int { return w.Pass + 1 }

// Start returns the stages to start now, in order, and counts them as running.
// None, and nothing running, means that the walk is over: see End.
func (w Walk) Start() []int {
	if len(w.Stages()) < len(w.Chain.Stages) {
		w.State.Stages = make([]Standing, len(w.Chain.Stages))
	}
	var out []int
	for _, n := range w.ready() {
		if w.Bounds.MaxHops > 0 && w.Hops >= w.Bounds.MaxHops {
			w.finish(agent.EndMaxHops)
			break
		}
		w.Hops++
		w.State.Stages[n] = Running
		out = append(out, n)
	}
	if len(out) == 0 && !w.running() {
		w.finish(agent.EndCompleted)
	}
	return out
}

// Stages are how the stages stand.
func (w Walk) Stages() []Standing { return w.State.Stages }

// running: something will still happen in this pass by itself.
func (w Walk) running() bool {
	for n := range w.State.Stages {
		if w.busy(n) {
			return true
		}
	}
	return false
}

// busy reports whether a stage runs, or waits for an answer.
func (w Walk) busy(n int) bool {
	return w.State.Stages[n] == Running || w.State.Stages[n] == Asking
}

// finish ends the walk; the first reason counts. A jump that waits is not made any more.
func (w Walk) finish(why agent.EndReason) {
	w.Back = 0
	if w.End == "" {
		w.End = why
	}
}
