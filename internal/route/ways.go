package route

import (
	"cmp"
	"slices"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// Edge is a way that a chain may go. Its ends are names of stages, Start, or targets
// that are no stages. What validates a chain or draws it goes by the edges that Walk
// goes by.
type Edge struct {
	From, To string
	Kind     EdgeKind
	Rule     plan.Rule // of a way by a rule
	Max      int       // how often it may be gone; 0 = as often as the chain goes
}

// Start is where a chain begins.
const Start = ""

// EdgeKind says when a chain goes a way.
type EdgeKind string

// The kinds of ways.
const (
	EdgeNext     EdgeKind = "next"      // where nothing else is said
	EdgeRule     EdgeKind = "rule"      // a routing rule holds
	EdgeDefault  EdgeKind = "default"   // no routing rule holds
	EdgeLoop     EdgeKind = "loop"      // the stage asks for another pass
	EdgeError    EdgeKind = "error"     // the stage has failed
	EdgeRequires EdgeKind = "requires"  // the stage has succeeded
	EdgeAfter    EdgeKind = "after"     // the stage has ended
	EdgeApproved EdgeKind = "approved"  // people have agreed to what routing asked them
	EdgeSentBack EdgeKind = "sent back" // a review has not approved the result
)

// The kinds of ways from a question to people.
const (
	EdgeAnswer  EdgeKind = "answer"  // they have answered, or need not
	EdgeDenied  EdgeKind = "denied"  // they have not agreed
	EdgeExpired EdgeKind = "expired" // nobody has answered in time
)

// Ways are all ways of the chain: into it, and from each stage in order.
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

// WaysFrom are the ways from the i-th stage. When the stage has ended, the first that is
// open leads on; requires and after are no ways that it goes itself.
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
	case c.Graph() && waitedFor: // what waits for the stage goes on by itself
	case c.Graph() || next == len(c.Stages):
		add(EdgeApproved, plan.TargetEnd)
	default:
		add(EdgeApproved, c.Stages[next].Name)
	}
	return all
}

// open reports whether the way leads on from a stage that has ended so.
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
	return false // the next in order, or what waits, comes by itself
}
