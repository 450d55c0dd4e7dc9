package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// SubAgent is an agent that another agent may dispatch: only its name, or its name and settings.
type SubAgent struct {
	// Name is the name of the agent's definition, of a type that iterates; required. The agent has the mcp_servers and
	// sub_agents of its definition, whatever the chain and the stage set.
	Name string `yaml:"name,short"`
	// LLMProvider is the provider of this agent.
	LLMProvider string `yaml:"llm_provider"`
	// LLMBackend selects the way to reach the provider.
	LLMBackend string `yaml:"llm_backend" enum:"backend"`
	// MaxIterations limits the model calls of this agent.
	MaxIterations *int `yaml:"max_iterations" min:"1"`
	// MCPServers replace those of the agent's definition.
	MCPServers []string `yaml:"mcp_servers"`

	_ struct{} `later:"required_skills skills"`
}

// Orchestrator limits the sub-agents of an agent.
type Orchestrator struct {
	// MaxConcurrentAgents is how many of them may work at the same time.
	MaxConcurrentAgents *int `yaml:"max_concurrent_agents" min:"1" max:"50"`
	// AgentTimeout limits the work of each; time paused does not count.
	AgentTimeout plan.Duration `yaml:"agent_timeout"`
	// MaxBudget limits the time in which any of them may work, starting with the first dispatch; time paused does not
	// count.
	MaxBudget plan.Duration `yaml:"max_budget"`
	// MaxDepth is how many levels of sub-agents may be dispatched; 1 means that sub-agents cannot dispatch others.
	MaxDepth *int `yaml:"max_depth" min:"1" max:"5"`
}

const (
	maxSubAgents   = 20  // of one agent: as many as a model can tell apart
	maxOfSubAgents = 100 // of a chain, at all levels: limits the size of a workflow's input
)

// subAgents checks the sub-agents of the named agent. An empty name means a list that several agents share.
func (v *validator) subAgents(at path, list []SubAgent, of string) {
	p := at.Key("sub_agents")
	if len(list) > maxSubAgents {
		v.Errorf(p, "at most %d sub-agents, got %d", maxSubAgents, len(list))
	}
	if row := v.kind(of); len(list) > 0 && row.Name != "" && row.Pattern != agent.Iterating {
		v.Errorf(p, "agent %q is of type %q, which does not iterate: it cannot dispatch others", of, row.Name)
	}
	for n, s := range list {
		if slices.IndexFunc(list, func(other SubAgent) bool { return other.Name == s.Name }) < n {
			v.Errorf(p.Index(n), "the sub-agent %q is there twice", s.Name)
		}
	}
}

func (s *SubAgent) validate(p path, v *validator) {
	v.provider(p.Key("llm_provider"), s.LLMProvider)
	v.servers(p.Key("mcp_servers"), s.MCPServers)
	switch row := v.kind(s.Name); {
	case s.Name == "":
		v.Errorf(p, "the name of an agent is required")
	case v.agent(p, s.Name) && row.Name != "" && row.Pattern != agent.Iterating:
		v.Errorf(p, "agent %q is of type %q, which does not iterate: it cannot be a sub-agent", s.Name, row.Name)
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
					v.Errorf(w.at, "agent %q is of type %q and has no sub_agents", w.definition, agent.TypeOrchestrator)
				}
				before := room
				switch circle := v.circle(w, chain, value(w.Orchestrator.MaxDepth), &room, nil); {
				case circle != "":
					v.Errorf(w.at, "sub-agents go in a circle within max_depth: %s", circle)
				case room < 0 && before >= 0:
					v.Errorf(w.at, "a chain has at most %d sub-agents, those that they dispatch included: it has more with these", maxOfSubAgents)
				}
			}
		}
	}
}

// circle returns a path on which an agent dispatches itself, directly or through others, within a depth. It returns an
// empty string if there is none.
func (c *Config) circle(w work, chain string, depth int, room *int, above []string) string {
	if slices.Contains(above, w.definition) {
		return strings.Join(append(above, w.definition), " → ")
	}
	for _, sub := range c.subWork(w, chain, depth, room) {
		if circle := c.circle(sub, chain, depth-1, room, append(slices.Clone(above), w.definition)); circle != "" {
			return circle
		}
	}
	return ""
}

// subWork returns the work of an agent's sub-agents if depth allows it, up to the remaining room. Without that limit,
// twenty agents that dispatch twenty each, five deep, would be millions. The room is below zero once it was exceeded.
func (c *Config) subWork(of work, chain string, depth int, room *int) (all []work) {
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
func (c *Config) allSubWork(of work, chain string, depth int, room *int) (all []work) {
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
