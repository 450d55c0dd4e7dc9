package route

import (
	"cmp"
	"slices"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// Edge is a possible step of a chain. Its ends are names of stages, Start, or targets that are not stages. Walk,
// validation and drawing all use the same edges.
type Edge struct {
	From, To string
	Kind     EdgeKind
	Rule     plan.Rule // for an edge by a rule
	Max      int       // how often it may be used; zero means no limit
}

// Start is the beginning of a chain.
const Start = ""

// EdgeKind says when a chain takes an edge.
type EdgeKind string

// The kinds of edges.
const (
	EdgeNext     EdgeKind = "next"      // by default
	EdgeRule     EdgeKind = "rule"      // a routing rule matches
	EdgeDefault  EdgeKind = "default"   // no routing rule matches
	EdgeLoop     EdgeKind = "loop"      // the stage asks for another pass
	EdgeError    EdgeKind = "error"     // the stage has failed
	EdgeRequires EdgeKind = "requires"  // the stage has succeeded
	EdgeAfter    EdgeKind = "after"     // the stage has ended
	EdgeApproved EdgeKind = "approved"  // people have agreed to the question that routing asked
	EdgeSentBack EdgeKind = "sent back" // a review has rejected the result
)

// The kinds of edges from a question to people.
const (
	EdgeAnswer  EdgeKind = "answer"  // they have answered, or no answer is needed
	EdgeDenied  EdgeKind = "denied"  // they have not agreed
	EdgeExpired EdgeKind = "expired" // nobody has answered in time
)

// Ways returns all edges of the chain: those into it, and those from each stage in order.
func (c Chain) Ways() (all []Edge) {
	for i, s := range c.Stages {
		if i == 0 && !c.Graph() || c.Graph() && len(s.Routing.Requires)+len(s.Routing.After) == 0 {
			all = append(all, Edge{From: Start, To: s.Name, Kind: EdgeNext})
		}
	}
	for i := range c.Stages {
		all = append(all, c.WaysFrom(i)...)
	}
	for i, e := range all {
		for _, limit := range c.Bounds.Edges {
			if limit.From == e.From && limit.To == e.To {
				all[i].Max = limit.Max
			}
		}
	}
	return all
}

// WaysFrom returns the edges from the i-th stage. When the stage has ended, the first open edge is taken. The kinds
// requires and after are never taken by the stage itself.
func (c Chain) WaysFrom(i int) (all []Edge) {
	name, r := c.Stages[i].Name, c.Stages[i].Routing
	add := func(kind EdgeKind, to string) {
		if to != "" {
			all = append(all, Edge{From: name, To: to, Kind: kind})
		}
	}
	if r.Review != nil {
		add(EdgeSentBack, cmp.Or(r.Review.Back, name))
	}
	for _, rule := range r.Rules {
		all = append(all, Edge{From: name, To: rule.Target, Kind: EdgeRule, Rule: rule})
	}
	add(EdgeLoop, r.LoopTarget)
	beforeWaiting := len(all)
	for _, other := range c.Stages {
		if slices.Contains(other.Routing.Requires, name) {
			add(EdgeRequires, other.Name)
		}
		if slices.Contains(other.Routing.After, name) {
			add(EdgeAfter, other.Name)
		}
	}
	waitedFor := len(all) > beforeWaiting
	switch {
	case r.DefaultNext != "":
		add(EdgeDefault, r.DefaultNext)
	case waitedFor:
	case c.Graph() || i+1 == len(c.Stages):
		add(EdgeNext, plan.TargetEnd)
	default:
		add(EdgeNext, c.Stages[i+1].Name)
	}
	add(EdgeError, r.ErrorNext)
	switch next := i + 1; {
	case r.OnApprove != plan.TargetNext:
		add(EdgeApproved, r.OnApprove)
	case c.Graph() && waitedFor: // stages that wait for this one start by themselves
	case c.Graph() || next == len(c.Stages):
		add(EdgeApproved, plan.TargetEnd)
	default:
		add(EdgeApproved, c.Stages[next].Name)
	}
	return all
}

// open reports whether a stage with this result takes the edge.
func (e Edge) open(r Result) bool {
	switch e.Kind {
	case EdgeError:
		return r.Outcome == agent.OutcomeError
	case EdgeRule:
		value, there := r.Fields[e.Rule.Condition]
		return r.Outcome != agent.OutcomeError && there && Equal(value, e.Rule.Value)
	case EdgeLoop:
		return r.Outcome.Loop()
	case EdgeDefault:
		return r.Outcome != agent.OutcomeError && !r.Outcome.Loop()
	}
	return false // the next stage, or waiting stages, start by themselves
}
