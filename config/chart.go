package config

import (
	"slices"

	"github.com/inquest-dev/inquest/internal/plan"
)

// chart is a chain as its stages lead to each other.
type chart struct {
	*Chain
	names []string // of the stages
	flows []Flow   // of the stages
	// graph: the stages wait for stages that they name, instead of running in order.
	graph bool
}

func (c *Chain) chart() chart {
	out := chart{Chain: c}
	for _, s := range c.Stages {
		f, _ := s.flow()
		out.names, out.flows = append(out.names, s.Name), append(out.flows, f)
		out.graph = out.graph || len(f.Requires)+len(f.After) > 0
	}
	return out
}

// routes reports whether the chain may go another way than its stages are written.
func (c chart) routes() bool {
	return slices.ContainsFunc(c.flows, func(f Flow) bool {
		return len(f.RoutingRules) > 0 || f.DefaultNext != "" || f.ErrorNext != "" || f.LoopTarget != ""
	})
}

// loops reports whether the chain may go back: by a rule, for another pass, or with an
// answer. What becomes of an error is no loop.
func (c chart) loops() bool {
	for i, name := range c.names {
		for _, e := range c.from(i) {
			jump := e.Kind == EdgeRule || e.Kind == EdgeDefault || e.Kind == EdgeLoop
			if jump && slices.Contains(c.names[:i+1], e.To) {
				return true
			}
		}
		for _, stage := range c.Interrupts.resumeStages() {
			if stage == name && i+1 < len(c.names) {
				return true
			}
		}
	}
	return false
}

// longest is the sum of what stages need, by index, on the longest way through the
// chain that never goes back; in a graph, of all.
func (c chart) longest(needs []int) (sum int) {
	rest := make([]int, len(needs)+1) // from a stage to the end
	for i, need := range slices.Backward(needs) {
		for _, e := range c.from(i) {
			next := slices.Index(c.names, e.To)
			if e.To == plan.TargetConfirmation {
				next = i + 1 // once people agree
			}
			if next > i {
				rest[i] = max(rest[i], rest[next])
			}
		}
		rest[i] += need
		sum += need
	}
	if c.graph {
		return sum
	}
	return rest[0]
}

// Edge is a way that a chain may go. Its ends are names of stages, Start, or
// targets that are no stages.
type Edge struct {
	From, To string
	Kind     EdgeKind
	Rule     RoutingRule // of a way by a rule
	Max      int         // how often it may be gone; 0 = as often as the chain goes
}

// Start is where a chain begins.
const Start = ""

// EdgeKind says when a chain goes a way.
type EdgeKind string

// The kinds of ways.
const (
	EdgeNext     EdgeKind = "next"     // where nothing else is said
	EdgeRule     EdgeKind = "rule"     // a routing rule holds
	EdgeDefault  EdgeKind = "default"  // no routing rule holds
	EdgeLoop     EdgeKind = "loop"     // the stage asks for another pass
	EdgeError    EdgeKind = "error"    // the stage has failed
	EdgeRequires EdgeKind = "requires" // the stage has succeeded
	EdgeAfter    EdgeKind = "after"    // the stage has ended
)

// edges are all ways of the chain: into it, and from each stage in order.
func (c chart) edges() []Edge {
	all := c.starts()
	for i := range c.names {
		all = append(all, c.from(i)...)
	}
	for i, e := range all {
		for _, limit := range c.Bounds.EdgeLimits {
			if limit.From == e.From && limit.To == e.To {
				all[i].Max = value(limit.MaxCount)
			}
		}
	}
	return all
}

func (c chart) starts() (all []Edge) {
	for i, f := range c.flows {
		if i == 0 && !c.graph || c.graph && len(f.Requires)+len(f.After) == 0 {
			all = append(all, Edge{From: Start, To: c.names[i], Kind: EdgeNext})
		}
	}
	return all
}

// from are the ways from the i-th stage.
func (c chart) from(i int) (all []Edge) {
	name, f := c.names[i], c.flows[i]
	add := func(kind EdgeKind, to string) {
		if to != "" {
			all = append(all, Edge{From: name, To: to, Kind: kind})
		}
	}
	for _, r := range f.RoutingRules {
		all = append(all, Edge{From: name, To: r.Target, Kind: EdgeRule, Rule: r})
	}
	add(EdgeLoop, f.LoopTarget)
	waited := false
	for n, other := range c.flows {
		if slices.Contains(other.Requires, name) {
			add(EdgeRequires, c.names[n])
		}
		if slices.Contains(other.After, name) {
			add(EdgeAfter, c.names[n])
		}
		waited = waited || slices.Contains(other.Requires, name) || slices.Contains(other.After, name)
	}
	switch {
	case f.DefaultNext != "":
		add(EdgeDefault, f.DefaultNext)
	case waited:
	case c.graph || i+1 == len(c.names):
		add(EdgeNext, plan.TargetEnd)
	default:
		add(EdgeNext, c.names[i+1])
	}
	add(EdgeError, f.ErrorNext)
	return all
}

// reached are the stages that the chain may come to, those that an answer leads
// to among them.
func (c chart) reached() map[string]bool {
	reached := map[string]bool{Start: true}
	for _, name := range c.Interrupts.resumeStages() {
		reached[name] = true
	}
	edges := c.edges()
	for grown := true; grown; {
		grown = false
		for _, e := range edges {
			if reached[e.From] && !reached[e.To] {
				reached[e.To], grown = true, true
			}
		}
	}
	return reached
}
