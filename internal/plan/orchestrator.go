package plan

import (
	"slices"
	"strings"
)

// Orchestrator limits an agent that dispatches others.
type Orchestrator struct {
	OrchestratorLimits
	// Agents are the agents that it may dispatch, each under its own name.
	Agents []Agent `json:"agents"`
}

// OrchestratorLimits limit the sub-agents of one agent. The time limit of each is in its own timeouts.
type OrchestratorLimits struct {
	MaxConcurrent int `json:"max_concurrent_agents"`
	// MaxBudget limits the time, starting with the first dispatch, in which sub-agents may work.
	MaxBudget Duration `json:"max_budget,omitempty"`
}

// OrchestratorSkeleton is the part of an Orchestrator that workflows need.
type OrchestratorSkeleton struct {
	OrchestratorLimits
	Agents []AgentSkeleton `json:"agents"`
}

func (o *Orchestrator) skeleton() *OrchestratorSkeleton {
	if o == nil {
		return nil
	}
	out := &OrchestratorSkeleton{OrchestratorLimits: o.OrchestratorLimits}
	for _, a := range o.Agents {
		out.Agents = append(out.Agents, a.skeleton())
	}
	return out
}

// Sub returns the agent at a path of names, from one orchestrator to the next: "Logs/Digger". An empty path returns a
// itself.
func (a Agent) Sub(path string) (Agent, bool) {
	for name := range strings.SplitSeq(path, "/") {
		if path == "" {
			break
		}
		if a.Orchestrator == nil {
			return Agent{}, false
		}
		n := slices.IndexFunc(a.Orchestrator.Agents, func(sub Agent) bool { return sub.Name == name })
		if n < 0 {
			return Agent{}, false
		}
		a = a.Orchestrator.Agents[n]
	}
	return a, true
}

// withSubs returns the agents, each followed by its sub-agents.
func withSubs(agents []Agent) (all []Agent) {
	for _, a := range agents {
		all = append(all, a)
		if a.Orchestrator != nil {
			all = append(all, withSubs(a.Orchestrator.Agents)...)
		}
	}
	return all
}
