package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/terminal"
	"github.com/inquest-dev/inquest/internal/tool"
)

// unattended is what agents of a chain may do without asking a person.
type unattended struct {
	Chain  string   `json:"chain"`
	Agents []string `json:"agents"`
	// May are risks of calls; tools of higher ones are not allowed, or ask.
	May   []agent.Risk `json:"may"`
	Tools []string     `json:"tools"` // MCP servers, the shell, and tools in Go
	// Ask are tools that ask whatever their risk is.
	Ask []string `json:"ask,omitempty"`
}

// unattendedIn says it of all chains that the user has written, or of those that
// are built in if there are no others.
func unattendedIn(cfg *config.Config) (all []unattended) {
	chains := cfg.Chains()
	if slices.ContainsFunc(chains, func(c config.ChainInfo) bool { return !c.BuiltIn }) {
		chains = slices.DeleteFunc(chains, func(c config.ChainInfo) bool { return c.BuiltIn })
	}
	for _, chain := range chains {
		all = append(all, unattendedOf(cfg, chain.Name)...)
	}
	return all
}

// unattendedOf says it of one chain, agents that may do the same together.
func unattendedOf(cfg *config.Config, chain string) (all []unattended) {
	for _, a := range config.AgentsOf(cfg, chain) {
		u := unattended{Chain: chain, Agents: []string{a.Definition}, May: tool.Unattended(a.Tools), Tools: toolSources(a)}
		for name, permission := range a.Tools.Permissions {
			if permission.RequiresApproval {
				u.Ask = append(u.Ask, name)
			}
		}
		slices.Sort(u.Ask)
		if len(u.Tools) == 0 || len(u.May) == 0 {
			continue
		}
		same := slices.IndexFunc(all, func(other unattended) bool {
			return slices.Equal(other.May, u.May) && slices.Equal(other.Tools, u.Tools) && slices.Equal(other.Ask, u.Ask)
		})
		switch {
		case same < 0:
			all = append(all, u)
		case !slices.Contains(all[same].Agents, a.Definition):
			all[same].Agents = append(all[same].Agents, a.Definition)
		}
	}
	return all
}

// toolSources are where an agent's tools come from that act on the world.
func toolSources(a agent.AgentPlan) (sources []string) {
	for _, server := range a.Servers {
		sources = append(sources, server.Name)
	}
	row, _ := agent.LookupType(a.Type)
	if a.Shell != nil && slices.Contains(row.Tools, agent.ToolShell) {
		sources = append(sources, agent.ToolShell)
	}
	return append(sources, a.ToolIDs...)
}

// risks are the words for what calls of a risk do.
var risks = map[agent.Risk]string{agent.RiskReadOnly: "read", agent.RiskWrite: "write", agent.RiskDestructive: "destroy"}

func (u unattended) may() string {
	var words []string
	for _, risk := range u.May {
		words = append(words, risks[risk])
	}
	return strings.Join(words, ", ")
}

func (c *cli) printUnattended(all []unattended) error {
	if len(all) == 0 {
		return nil
	}
	fmt.Fprintln(c.out, "Without asking a person, agents may:")
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	for _, u := range all {
		but := ""
		if len(u.Ask) > 0 {
			but = ", but for " + strings.Join(u.Ask, ", ")
		}
		fmt.Fprintf(w, "  %s\t%s\t%s by %s%s\n", u.Chain, strings.Join(u.Agents, ", "), u.may(),
			terminal.CleanLine(strings.Join(u.Tools, ", ")), terminal.CleanLine(but))
	}
	return w.Flush()
}
