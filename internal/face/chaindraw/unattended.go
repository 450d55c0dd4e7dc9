package chaindraw

import (
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
)

// Unattended is what agents may do without asking a person.
type Unattended struct {
	Chain  string   `json:"chain"` // empty means outside of chains, in conversations
	Agents []string `json:"agents"`
	// May lists the risks of calls that need no approval. Calls with a higher risk are forbidden or need approval.
	May   []agent.Risk `json:"may"`
	Tools []string     `json:"tools"` // MCP servers or some of their tools, the shell, and Go tools
	// Ask lists tools that always need approval.
	Ask []string `json:"ask,omitempty"`
}

// UnattendedIn covers all chains and agents in the user's configuration or, if there are none, the built-in chains.
func UnattendedIn(cfg *configuration.Config) (all []Unattended) {
	chains := cfg.Chains()
	if slices.ContainsFunc(chains, func(c configuration.ChainInfo) bool { return !c.BuiltIn }) {
		chains = slices.DeleteFunc(chains, func(c configuration.ChainInfo) bool { return c.BuiltIn })
	}
	for _, chain := range chains {
		all = append(all, UnattendedOf(cfg, chain.Name)...)
	}
	var alone []plan.Agent
	for _, name := range cfg.OwnAgents() {
		a, err := cfg.AgentPlan(name)
		u, free := unattendedAgent("", a)
		covered := slices.ContainsFunc(all, func(other Unattended) bool { return other.same(u) && slices.Contains(other.Agents, name) })
		if err == nil && free && !covered {
			alone = append(alone, a)
		}
	}
	return append(all, together("", alone)...)
}

// UnattendedOf covers one chain.
func UnattendedOf(cfg *configuration.Config, chain string) []Unattended {
	return together(chain, configuration.AgentsOf(cfg, chain))
}

// together groups agents with the same permissions.
func together(chain string, agents []plan.Agent) (all []Unattended) {
	for _, a := range agents {
		u, free := unattendedAgent(chain, a)
		if !free {
			continue
		}
		same := slices.IndexFunc(all, u.same)
		switch {
		case same < 0:
			all = append(all, u)
		case !slices.Contains(all[same].Agents, a.Definition):
			all[same].Agents = append(all[same].Agents, a.Definition)
		}
	}
	return all
}

// unattendedAgent covers one agent; free is false if the agent does nothing without approval.
func unattendedAgent(chain string, a plan.Agent) (u Unattended, free bool) {
	u = Unattended{Chain: chain, Agents: []string{a.Definition}, May: tool.Unattended(a.Tools), Tools: toolSources(a)}
	for name, permission := range a.Tools.Permissions {
		if permission.RequiresApproval {
			u.Ask = append(u.Ask, name)
		}
	}
	for _, server := range a.Servers {
		for name, risk := range server.Risk {
			asked := server.Name + "." + name
			enabled := a.Tools.Enabled == nil || slices.Contains(a.Tools.Enabled, asked)
			if enabled && tool.Asks(a.Tools, risk) && !slices.Contains(u.Ask, asked) {
				u.Ask = append(u.Ask, asked)
			}
		}
	}
	slices.Sort(u.Ask)
	u.Tools = slices.DeleteFunc(u.Tools, func(name string) bool { return slices.Contains(u.Ask, name) })
	return u, len(u.Tools) > 0 && len(u.May) > 0
}

func (u Unattended) same(other Unattended) bool {
	return slices.Equal(other.May, u.May) && slices.Equal(other.Tools, u.Tools) && slices.Equal(other.Ask, u.Ask)
}

// toolSources lists the sources of an agent's tools that act on the world. If only some tools of a server are enabled, it lists those.
func toolSources(a plan.Agent) (sources []string) {
	for _, server := range a.Servers {
		if a.Tools.Enabled == nil {
			sources = append(sources, server.Name)
		}
		for _, name := range a.Tools.Enabled {
			if of, _ := tool.Split(name); of == server.Name {
				sources = append(sources, name)
			}
		}
	}
	row, _ := agent.LookupType(a.Type)
	if a.Shell != nil && slices.Contains(row.Tools, agent.ToolShell) {
		sources = append(sources, agent.ToolShell)
	}
	return append(sources, a.ToolIDs...)
}

// risks describes what calls of each risk do.
var risks = map[agent.Risk]string{agent.RiskReadOnly: "read", agent.RiskWrite: "write", agent.RiskDestructive: "destroy"}

// Risks describes the permitted calls in words.
func (u Unattended) Risks() string {
	var words []string
	for _, risk := range u.May {
		words = append(words, risks[risk])
	}
	return strings.Join(words, ", ")
}
