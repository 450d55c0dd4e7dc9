package config

import (
	"cmp"
	"slices"

	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/route"
)

// Graph describes a chain for drawing.
type Graph struct {
	Chain, Description string
	Stages             []GraphStage
	// Edges lead into the chain, from its stages in order, and from questions to people.
	Edges []route.Edge
	// Timeout limits the investigation; zero means no limit.
	Timeout    plan.Duration
	Bounds     plan.Bounds
	Interrupts plan.Interrupts

	resume map[string]map[string]string // resume stages by stage and kind of question
}

// GraphStage is a stage with the definitions of its agents. A definition that runs several times is repeated.
type GraphStage struct {
	Name      string
	Agents    []string
	SubAgents []string // sub-agents that they may dispatch, as paths: "Lead/Logs"
	Synthesis string   // empty if there is nothing to join
	Review    string   // the reviewer: "people", an agent, or empty
	JoinAny   bool     // one of the required stages is enough
}

// GraphOf describes a chain. The error is a *PlanError. It is a function, not a method, so that programs that draw
// nothing do not link it.
func GraphOf(c *Config, name string) (Graph, error) {
	chain, ok := c.AgentChains[name]
	if !ok {
		return Graph{}, planError("no chain named %q; there are: %s", name, list(c.AgentChains))
	}
	own, stages := c.chainSettings(name), c.resolved(name)
	g := Graph{
		Chain: name, Description: chain.Description, Edges: chain.chart().walk.Ways(), Timeout: own.Budgets.timeout(own.Timeout),
		Bounds: c.planBounds(name, own), Interrupts: c.interrupts(name, stages).plan(),
	}
	g.resume = map[string]map[string]string{}
	for i, s := range chain.Stages {
		f, _ := s.flow()
		g.resume[s.Name] = s.routing(chain.Interrupts).Resume
		stage := GraphStage{Name: s.Name, JoinAny: f.Join == JoinAny && len(f.Requires) > 1}
		for _, a := range s.executions() {
			stage.Agents = append(stage.Agents, a.Name)
		}
		for _, a := range stages[i].Agents {
			stage.dispatches(a.Definition, a)
		}
		if len(stage.Agents) > 1 {
			stage.Synthesis = s.Synthesis.agent()
		}
		if s.AgentReview != nil {
			stage.Review = cmp.Or(s.AgentReview.Agent, "people")
		}
		g.Stages = append(g.Stages, stage)
	}
	g.answers(plan.TargetClarification, g.Interrupts.Clarification)
	g.answers(plan.TargetConfirmation, g.Interrupts.Confirmation)
	g.answers(string(route.Review), g.Interrupts.Review) // no routing leads to a review
	return g, nil
}

// dispatches adds the sub-agents that an agent may dispatch, once for all agents with the same definition.
func (s *GraphStage) dispatches(path string, a plan.Agent) {
	if a.Orchestrator == nil {
		return
	}
	for _, sub := range a.Orchestrator.Agents {
		to := path + "/" + sub.Name
		if !slices.Contains(s.SubAgents, to) {
			s.SubAgents = append(s.SubAgents, to)
		}
		s.dispatches(to, sub)
	}
}

// AgentsOf returns the resolved agents of all stages of a chain.
func AgentsOf(c *Config, chain string) (agents []plan.Agent) {
	for _, stage := range c.resolved(chain) {
		agents = append(agents, stage.All()...)
	}
	return agents
}

// answers adds the edges from a question, if the chain's configuration can lead to it.
func (g *Graph) answers(kind string, rule plan.Interrupt) {
	var next []string
	asked, gates := false, false
	for _, e := range g.Edges {
		if e.To != kind {
			continue
		}
		asked = true
		approved := func(other route.Edge) bool { return other.From == e.From && other.Kind == route.EdgeApproved }
		success := e.Kind == route.EdgeRule || e.Kind == route.EdgeDefault
		if kind == plan.TargetConfirmation && success && slices.ContainsFunc(g.Edges, approved) {
			gates = true
			continue
		}
		if to := cmp.Or(g.resume[e.From][kind], rule.Resume, e.From); !slices.Contains(next, to) {
			next = append(next, to)
		}
	}
	if !asked && rule.Resume != "" { // agents ask in their results
		next = []string{rule.Resume}
	}
	for _, to := range next {
		g.Edges = append(g.Edges, route.Edge{From: kind, To: to, Kind: route.EdgeAnswer})
	}
	if (asked || len(next) > 0) && kind == plan.TargetConfirmation {
		g.Edges = append(g.Edges, route.Edge{From: kind, To: plan.TargetEnd, Kind: route.EdgeDenied})
	}
	if (asked || len(next) > 0) && (gates || !rule.Continue) {
		g.Edges = append(g.Edges, route.Edge{From: kind, To: plan.TargetEnd, Kind: route.EdgeExpired})
	}
}
