package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// SubAgent is an agent that another one may dispatch: its name alone, or with settings of its own.
type SubAgent struct {
	// Name is that of the agent's definition, of a type that iterates; required. The definition's mcp_servers and
	// sub_agents are the agent's, whatever the chain and the stage say.
	Name string `yaml:"name,short"`
	// LLMProvider is the provider of this agent.
	LLMProvider string `yaml:"llm_provider"`
	// LLMBackend says how the provider is reached.
	LLMBackend string `yaml:"llm_backend" enum:"backend"`
	// MaxIterations bounds the model calls of this agent.
	MaxIterations *int `yaml:"max_iterations" min:"1"`
	// MCPServers replace those of the agent's definition.
	MCPServers []string `yaml:"mcp_servers"`

	_ struct{} `later:"required_skills skills"`
}

// Orchestrator bounds the sub-agents of an agent.
type Orchestrator struct {
	// MaxConcurrentAgents is how many of them may work at the same time.
	MaxConcurrentAgents *int `yaml:"max_concurrent_agents" min:"1" max:"50"`
	// AgentTimeout bounds the work of each; time paused does not count.
	AgentTimeout plan.Duration `yaml:"agent_timeout"`
	// MaxBudget bounds the time from the first dispatch in which any of them may work; time paused does not count.
	MaxBudget plan.Duration `yaml:"max_budget"`
	// MaxDepth is how deep sub-agents may dispatch others; 1 = they may not.
	MaxDepth *int `yaml:"max_depth" min:"1" max:"5"`
}

const (
	maxSubAgents   = 20  // of one agent: what a model can tell apart
	maxOfSubAgents = 100 // of a chain, to the last depth: what a workflow is started with
)

// subAgents checks a list of sub-agents, of the agent of a name; "" = of several.
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

// orchestrators checks what agents may dispatch once all is inherited.
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

// circle is how an agent dispatches itself within a depth, through whomever; "" = it does not.
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

// subWork is the work of those that an agent may dispatch, if depth lets it, and of no more than there is room for: twenty
// agents that dispatch twenty each, five deep, are millions. The room is below zero once there were more.
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

// allSubWork is subWork, and that of those which they may dispatch.
func (c *Config) allSubWork(of work, chain string, depth int, room *int) (all []work) {
	for _, w := range c.subWork(of, chain, depth, room) {
		all = append(append(all, w), c.allSubWork(w, chain, depth-1, room)...)
	}
	return all
}

// orchestrator is an agent with those that it may dispatch, so deep.
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

// within is the shorter of two bounds, of which 0 is none.
func within(a, b plan.Duration) plan.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}
