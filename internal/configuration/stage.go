package configuration

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

const maxAgents = 50 // in one stage, counting replicas

// defaultSynthesis is the agent that combines the results of several agents, unless a stage names another.
const defaultSynthesis = "SynthesisAgent"

// The types of stages.
const (
	stageInvestigation = "investigation"
	stageAction        = "action"
)

const defaultQuestion = "Is it correct, complete, and supported by the evidence?"

func validateStage(s *config.Stage, p path, v *validator) {
	v.requiredName(p.Key("name"), s.Name)
	if slices.Contains(targets, s.Name) {
		v.Errorf(p.Key("name"), "%q is reserved and cannot be the name of a stage", s.Name)
	}
	v.servers(p.Key("mcp_servers"), s.MCPServers)
	v.mock(p.Key("mock"), s.Mock)
	v.prompt(p.Key("prompt_key"), s.PromptKey)
	checkSynthesis(&s.Synthesis, p.Key("synthesis"), v, len(s.Agents) > 1 || value(s.Replicas) > 1)
	checkAgentReview(s.AgentReview, p.Key("agent_review"), v, s.Agents)
	v.subAgents(p, s.SubAgents, "")
	validateCount(s, p, v)
	validateFlow(s, p, v)
	for i, a := range s.Agents {
		const wrong = "agent %q has type %q, but a stage of type \"action\" has only agents of that type"
		if kind := v.kind(a.Name).Name; s.Type == stageAction && kind != stageAction && kind != "" {
			v.Errorf(p.Key("agents").Index(i), wrong, a.Name, kind)
		}
	}
	searches := func(a *config.StageAgent) bool {
		def, known := v.Agents[a.Name]
		return !known || agentRow(def).Pattern == agent.Iterating
	}
	if value(s.Evidence) && !slices.ContainsFunc(s.Agents, searches) {
		v.Errorf(p.Key("evidence"), "no agent of this stage calls tools by itself, so the stage has no evidence")
	}
}

// validateCount checks the number of agents and their names.
func validateCount(s *config.Stage, p path, v *validator) {
	agents, replicas := p.Key("agents"), p.Key("replicas")
	switch n := s.Replicas; {
	case len(s.Agents) == 0:
		v.Errorf(agents, "at least one agent is required")
	case len(s.Agents) > maxAgents:
		v.Errorf(agents, "a stage can have at most %d agents, got %d", maxAgents, len(s.Agents))
	case n != nil && (*n < 1 || *n > maxAgents): // reported already
	case value(n) > 1 && len(s.Agents) > 1:
		v.Errorf(replicas, "replicas require a stage with one agent, got %d", len(s.Agents))
	default:
		validateNames(s, agents, v)
	}
}

// validateNames finds the rare agent "X-1" whose name collides with the first of several X.
func validateNames(s *config.Stage, p path, v *validator) {
	names := executionNames(s)
	for i, name := range names {
		if slices.Index(names, name) < i {
			v.Errorf(p.Index(min(i, len(s.Agents)-1)), "two agents of this stage would have the name %q", name)
		}
	}
}

// executionNames returns the names of the agents of a stage: those of their definitions, with -1, -2, … for a definition that
// runs several times.
func executionNames(s *config.Stage) []string {
	total, given := map[string]int{}, map[string]int{}
	all := executions(s)
	for _, a := range all {
		total[a.Name]++
	}
	names := make([]string, len(all))
	for i, a := range all {
		names[i] = a.Name
		if total[a.Name] > 1 {
			given[a.Name]++
			names[i] = fmt.Sprintf("%s-%d", a.Name, given[a.Name])
		}
	}
	return names
}

// executions returns the stage's agents, with each replica as an entry.
func executions(s *config.Stage) []*config.StageAgent {
	all := slices.Clip(s.Agents)
	for len(s.Agents) == 1 && len(all) < min(value(s.Replicas), maxAgents) {
		all = append(all, s.Agents[0])
	}
	return all
}

func checkSynthesis(s *config.Synthesis, p path, v *validator, needed bool) {
	v.provider(p.Key("llm_provider"), s.LLMProvider)
	v.mock(p.Key("mock"), s.Mock)
	if s.Agent == "" && !needed {
		return
	}
	name := synthesisAgent(s)
	if !v.agent(p.Key("agent"), name) {
		return
	}
	if row := agentRow(v.Agents[name]); row.Name != "synthesis" && row.Name != "" {
		v.Errorf(p.Key("agent"), "agent %q has type %q, but a synthesis requires type \"synthesis\"", name, row.Name)
	}
}

func checkAgentReview(r *config.AgentReview, p path, v *validator, others []*config.StageAgent) {
	if r == nil {
		return
	}
	v.provider(p.Key("llm_provider"), r.LLMProvider)
	v.mock(p.Key("mock"), r.Mock)
	switch {
	case r.Agent == "" && r.LLMProvider+r.LLMBackend+r.Mock != "":
		v.Errorf(p.Key("agent"), "the model settings require an agent: without one, people review")
	case r.Agent == "" || !v.agent(p.Key("agent"), r.Agent):
	case !agentRow(v.Agents[r.Agent]).Pattern.Model():
		v.Errorf(p.Key("agent"), "agent %q has type %q, which uses no model: it cannot review", r.Agent, agentRow(v.Agents[r.Agent]).Name)
	case slices.ContainsFunc(others, func(a *config.StageAgent) bool { return a.Name == r.Agent }):
		v.Errorf(p.Key("agent"), "agent %q works in this stage and cannot review its own work: choose another agent", r.Agent)
	}
}

// plannedAgentReview returns the review's part of a plan, or nil if the result is not reviewed.
func plannedAgentReview(r *config.AgentReview, back string) *plan.Review {
	if r == nil {
		return nil
	}
	return &plan.Review{Question: cmp.Or(r.Question, defaultQuestion), People: r.Agent == "", Back: back}
}

func synthesisAgent(s *config.Synthesis) string {
	if s.Agent == "" {
		return defaultSynthesis
	}
	return s.Agent
}

func validateStageAgent(a *config.StageAgent, p path, v *validator) {
	v.provider(p.Key("llm_provider"), a.LLMProvider)
	v.servers(p.Key("mcp_servers"), a.MCPServers)
	v.mock(p.Key("mock"), a.Mock)
	v.prompt(p.Key("prompt_key"), a.PromptKey)
	v.subAgents(p, a.SubAgents, a.Name)
	v.skilled(p, a.Name, a.Skills, a.RequiredSkills)
	switch {
	case a.Name == "":
		v.Errorf(p, "the name of an agent is required")
	case v.agent(p, a.Name) && a.Type != "":
		row, ok := agent.LookupType(a.Type)
		if own := agentRow(v.Agents[a.Name]); ok && row.Name != own.Name && own.Name != "" {
			v.Errorf(p.Key("type"), "agent %q has type %q, which a stage cannot change", a.Name, own.Name)
		}
	}
}

const (
	maxSubAgents   = 20  // of one agent: as many as a model can tell apart
	maxOfSubAgents = 100 // of a chain, at all levels: limits the size of a workflow's input
)

// subAgents checks the sub-agents of the named agent. An empty name means a list that several agents share.
func (v *validator) subAgents(at path, list []config.SubAgent, of string) {
	p := at.Key("sub_agents")
	if len(list) > maxSubAgents {
		v.Errorf(p, "at most %d sub-agents, got %d", maxSubAgents, len(list))
	}
	if row := v.kind(of); len(list) > 0 && row.Name != "" && row.Pattern != agent.Iterating {
		v.Errorf(p, "agent %q has type %q, which does not iterate: it cannot have sub-agents", of, row.Name)
	}
	for n, s := range list {
		if slices.IndexFunc(list, func(other config.SubAgent) bool { return other.Name == s.Name }) < n {
			v.Errorf(p.Index(n), "sub-agent %q is listed twice", s.Name)
		}
	}
}

func validateSubAgent(s *config.SubAgent, p path, v *validator) {
	v.provider(p.Key("llm_provider"), s.LLMProvider)
	v.servers(p.Key("mcp_servers"), s.MCPServers)
	v.skilled(p, s.Name, s.Skills, s.RequiredSkills)
	switch row := v.kind(s.Name); {
	case s.Name == "":
		v.Errorf(p, "the name of an agent is required")
	case v.agent(p, s.Name) && row.Name != "" && row.Pattern != agent.Iterating:
		v.Errorf(p, "agent %q has type %q, which does not iterate: it cannot be a sub-agent", s.Name, row.Name)
	}
}

// orchestrators checks the sub-agents of agents after inheritance.
func (v *validator) orchestrators() {
	for _, chain := range slices.Sorted(maps.Keys(v.AgentChains)) {
		room := maxOfSubAgents
		for i := range v.AgentChains[chain].Stages {
			agents, _, _ := v.stageWork(chain, i)
			for _, w := range agents {
				if w.def.Type == agent.TypeOrchestrator && len(w.SubAgents) == 0 {
					v.Errorf(w.at, "agent %q has type %q but no sub_agents", w.definition, agent.TypeOrchestrator)
				}
				before := room
				v.allSubWork(w, chain, value(w.Orchestrator.MaxDepth), &room)
				if room < 0 && before >= 0 {
					v.Errorf(w.at, "a chain can have at most %d sub-agents, including those that sub-agents dispatch", maxOfSubAgents)
				}
			}
		}
	}
}

// subWork returns the work of an agent's sub-agents if depth allows it, up to the remaining room. Without that limit,
// twenty agents that dispatch twenty each, five deep, would be millions. The room is below zero once it was exceeded.
func (c *content) subWork(of work, chain string, depth int, room *int) (all []work) {
	if depth < 1 {
		return nil
	}
	above := c.chainLevel(chain)
	above.settings.Servers, above.settings.SubAgents = nil, nil
	for n, s := range of.SubAgents {
		if *room--; *room < 0 {
			break
		}
		kind := c.kind(s.Name)
		w := work{at: of.origin("sub_agents").At.Index(n), name: s.Name, definition: s.Name, kind: kind}
		if def, ok := c.Agents[s.Name]; ok {
			w.def = *def
		}
		levels := append(c.definitionLevels(s.Name), above, levelOf(w.at, &s, nil))
		w.inherited = inheritLevels(append(levels, typeLimits(kind))...)
		all = append(all, w)
	}
	return all
}

// allSubWork returns subWork at all levels.
func (c *content) allSubWork(of work, chain string, depth int, room *int) (all []work) {
	for _, w := range c.subWork(of, chain, depth, room) {
		all = append(append(all, w), c.allSubWork(w, chain, depth-1, room)...)
	}
	return all
}

// orchestrator returns an agent with the sub-agents that it may dispatch, to the given depth.
func (r *resolver) orchestrator(w work, chain string, depth int, room *int) plan.Agent {
	out := r.agent(w)
	for _, sub := range r.subWork(w, chain, depth, room) {
		if out.Orchestrator == nil {
			out.Orchestrator = &plan.Orchestrator{OrchestratorLimits: plan.OrchestratorLimits{
				MaxConcurrent: value(w.Orchestrator.MaxConcurrentAgents), MaxBudget: w.Orchestrator.MaxBudget,
			}}
		}
		dispatched := r.orchestrator(sub, chain, depth-1, room)
		dispatched.Timeouts.Agent = within(dispatched.Timeouts.Agent, w.Orchestrator.AgentTimeout)
		out.Orchestrator.Agents = append(out.Orchestrator.Agents, dispatched)
	}
	return out
}

// within returns the shorter of two limits, in which zero means none.
func within(a, b plan.Duration) plan.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}
