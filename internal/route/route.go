// Package route decides which stages of a chain come next: routing rules, dependencies, passes and their limits (spec:
// pipeline, "Routing", "Outcomes", "Bounds"). It is pure and all of its state is serialisable, so that a workflow can
// carry it.
package route

import (
	"encoding/json"
	"slices"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// Chain is the constant part of a walk.
type Chain struct {
	Stages []plan.StageSkeleton
	Bounds plan.Bounds
}

// State is the progress of a walk. The zero value is its beginning.
type State struct {
	Pass int `json:"pass,omitempty"` // passes begun after the first
	Hops int `json:"hops,omitempty"` // stages started
	// Stages holds the standing of each stage in the current pass, by index.
	Stages []Standing `json:"stages,omitempty"`
	// Edges counts how often the chain went from one stage to another: "from to".
	Edges map[string]int `json:"edges,omitempty"`
	// Next is the stage to start next, in a chain without dependencies.
	Next int `json:"next,omitempty"`
	// Back is the target of a jump that waits for running stages to end, plus one.
	Back int             `json:"back,omitempty"`
	End  agent.EndReason `json:"end,omitempty"` // empty while the walk continues
}

// Standing is the state of a stage in the current pass.
type Standing string

// The standings of a stage. Empty means not started.
const (
	Running   Standing = "running"
	Asking    Standing = "asking" // it has ended and waits for an answer
	Succeeded Standing = "succeeded"
	Failed    Standing = "failed" // it has ended without success
)

// Result is the result of a stage.
type Result struct {
	Outcome agent.Outcome
	// Failure is the end reason of the chain if no route handles the failed stage.
	Failure agent.EndReason
	// Fields holds the values of the output keys that rules use.
	Fields map[string]json.RawMessage
	// Review is the verdict of a review of the result. Empty means not reviewed.
	Review Verdict
}

// Verdict is the result of a review.
type Verdict string

// The verdicts.
const (
	Approved Verdict = "approved"
	SentBack Verdict = "sent back"
)

// Ask is the kind of a question that the chain asks people. Empty means none.
type Ask string

// The kinds of questions.
const (
	Clarification Ask = "clarification"
	Confirmation  Ask = "confirmation"
	Review        Ask = "agent_review"
)

// Walk is a chain and its state.
type Walk struct {
	Chain
	*State
}

// Graph reports whether any stage names stages that it waits for.
func (c Chain) Graph() bool {
	return slices.ContainsFunc(c.Stages, func(s plan.StageSkeleton) bool {
		return len(s.Routing.Requires)+len(s.Routing.After) > 0
	})
}

// Routed reports whether the chain may do anything but run its stages in order.
func (c Chain) Routed() bool {
	return slices.ContainsFunc(c.Stages, func(s plan.StageSkeleton) bool {
		r := s.Routing
		return len(r.Rules) > 0 || r.DefaultNext != "" || r.ErrorNext != "" || r.LoopTarget != "" || r.Review != nil
	})
}

func (c Chain) index(name string) int {
	return slices.IndexFunc(c.Stages, func(s plan.StageSkeleton) bool { return s.Name == name })
}

// Number returns the number of the current pass, starting with 1.
func (w Walk) Number() int { return w.Pass + 1 }

// Start returns the stages to start now, in order, and marks them as running. If there are none and nothing is running,
// the walk is over: see End.
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

// Stages returns the standings of the stages.
func (w Walk) Stages() []Standing { return w.State.Stages }

// running reports whether any stage is running or waiting for an answer.
func (w Walk) running() bool {
	for n := range w.State.Stages {
		if w.busy(n) {
			return true
		}
	}
	return false
}

// busy reports whether a stage is running or waiting for an answer.
func (w Walk) busy(n int) bool {
	return w.State.Stages[n] == Running || w.State.Stages[n] == Asking
}

// finish ends the walk and drops a pending jump. The first reason is kept.
func (w Walk) finish(why agent.EndReason) {
	w.Back = 0
	if w.End == "" {
		w.End = why
	}
}
