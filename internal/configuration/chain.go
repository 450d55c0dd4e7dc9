package configuration

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/route"
)

func validateChain(c *config.Chain, p path, v *validator) {
	v.name(p)
	validateGrant(config.Grant{Projects: c.Projects}, p, v)
	v.provider(p.Key("llm_provider"), c.LLMProvider)
	v.runbook(p.Key("runbook"), c.Runbook)
	v.servers(p.Key("mcp_servers"), c.MCPServers)
	v.subAgents(p, c.SubAgents, "")
	v.provider(p.Key("executive_summary_provider"), c.ExecutiveSummaryProvider)
	for k, block := range closingBlocks(c) {
		k.check(p.Key(k.key), v, *block)
	}
	if len(c.Stages) == 0 {
		v.Errorf(p.Key("stages"), "at least one stage is required")
	}
	for i, s := range c.Stages {
		first := slices.IndexFunc(c.Stages, func(other *config.Stage) bool { return other.Name == s.Name })
		if first < i && s.Name != "" {
			v.Errorf(p.Key("stages").Index(i).Key("name"), "name %q is already used by stages[%d]", s.Name, first)
		}
	}
	chartOf(c).validate(p, v)
}

// ChainIn reports whether the chain exists and the project may run it.
func (c *Config) ChainIn(chain, project string) bool {
	own, ok := c.AgentChains[chain]
	if project == "" {
		project = agent.DefaultProject
	}
	return ok && (own.Projects == nil || slices.Contains(own.Projects, project) || slices.Contains(own.Projects, config.AllProjects))
}

// ChainInfo describes a chain in lists.
type ChainInfo struct {
	Name        string   `json:"name"`
	AlertTypes  []string `json:"alert_types,omitempty"`
	Description string   `json:"description,omitempty"`
	Stages      []string `json:"stages"`
	BuiltIn     bool     `json:"built_in,omitempty"`
}

// Chains describes all chains, sorted by name, with the alert types that resolve to them.
func (c *Config) Chains() []ChainInfo {
	infos := make([]ChainInfo, 0, len(c.AgentChains))
	for _, name := range slices.Sorted(maps.Keys(c.AgentChains)) {
		chain := c.AgentChains[name]
		info := ChainInfo{
			Name: name, Description: chain.Description, Stages: []string{},
			BuiltIn: c.report.BuiltIn(entryPath("agent_chains", name)),
		}
		for _, alertType := range chain.AlertTypes {
			if c.chainOf[alertType] == name {
				info.AlertTypes = append(info.AlertTypes, alertType)
			}
		}
		for _, stage := range chain.Stages {
			info.Stages = append(info.Stages, stage.Name)
		}
		infos = append(infos, info)
	}
	return infos
}

func validateChat(c config.Chat, p path, v *validator) {
	if c.Agent != "" {
		v.agent(p.Key("agent"), c.Agent)
	}
	v.provider(p.Key("llm_provider"), c.LLMProvider)
	v.servers(p.Key("mcp_servers"), c.MCPServers)
	v.subAgents(p, c.SubAgents, c.Agent)
	if !reflect.ValueOf(c).IsZero() && (c.Enabled == nil || *c.Enabled) {
		v.Add(config.SeverityWarning, p, "has no effect: to discuss an investigation, run `starter chat` and give the agent its "+
			"report")
	}
}

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
		return Graph{}, planError("%s", unknownName("chain", name, c.AgentChains))
	}
	own, stages := c.chainSettings(name), c.resolved(name)
	g := Graph{
		Chain: name, Description: chain.Description, Edges: chartOf(chain).walk.Ways(), Timeout: budgetTimeout(own.Budgets, own.Timeout),
		Bounds: c.planBounds(name, own), Interrupts: plannedInterrupts(c.interrupts(name, stages)),
	}
	g.resume = map[string]map[string]string{}
	for i, s := range chain.Stages {
		f, _ := stageFlow(s)
		g.resume[s.Name] = stageRouting(s, chain.Interrupts).Resume
		stage := GraphStage{Name: s.Name, JoinAny: f.Join == config.JoinAny && len(f.Requires) > 1}
		for _, a := range executions(s) {
			stage.Agents = append(stage.Agents, a.Name)
		}
		for _, a := range stages[i].Agents {
			stage.dispatches(a.Definition, a)
		}
		if len(stage.Agents) > 1 {
			stage.Synthesis = synthesisAgent(&s.Synthesis)
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

// Toolless warns of each chain of the user's configuration in which no agent has a tool: its reports rest on the request and on what
// the model knows. It is no part of the configuration's own check, because a program that starts would repeat it each time.
func Toolless(c *Config) (found config.Findings) {
	for _, chain := range c.Chains() {
		if !chain.BuiltIn && !slices.ContainsFunc(AgentsOf(c, chain.Name), plan.Agent.Observes) {
			found = append(found, config.Finding{
				Severity: config.SeverityWarning, Path: "agent_chains." + chain.Name,
				Message: "no agent has tools, so the report can only use the request and the model's own knowledge: give an " +
					"agent mcp_servers",
			})
		}
	}
	return found
}
