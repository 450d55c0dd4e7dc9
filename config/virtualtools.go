package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/virtual"
)

// opened are the servers, and tools of the workers' program, that a project works with already: those of the chains that it
// may run, and of agents that no chain has, which every project may run by themselves. Who makes agents in a project may give
// them these and no others: that takes the configuration.
type opened struct{ servers, ids map[string]bool }

// openTo is what the configuration opens to a project. Agents that are made at run time open nothing by themselves.
func (c *Config) openTo(project string) opened {
	open, inChain := opened{map[string]bool{}, map[string]bool{}}, map[string]bool{}
	for _, chain := range slices.Sorted(maps.Keys(c.AgentChains)) {
		may := c.ChainIn(chain, project)
		for _, w := range c.chainWork(chain) {
			inChain[w.definition] = true
			if may {
				open.add(c, w)
			}
		}
		if may {
			open.add(c, work{inherited: inherited{settings: settings{Servers: c.chainSettings(chain).Requests.MCPServers}}})
		}
	}
	for name := range c.Agents {
		if w, err := c.standalone(name); err == nil && !inChain[name] {
			open.add(c, w)
		}
	}
	return open
}

func (o opened) add(c *Config, w work) {
	for _, name := range w.Servers {
		o.servers[name] = true
	}
	for _, name := range c.toolIDs(w.definition) {
		o.ids[name] = true
	}
}

// closedServers says which servers an agent has that its project does not work with.
func (o opened) closedServers(c *Config, project string, a *Agent) (problems virtual.Problems) {
	for _, name := range a.MCPServers {
		if _, there := c.MCPServers[name]; there && !o.servers[name] {
			problems = append(problems, fmt.Sprintf("mcp_servers: no agent or chain of the configuration has the server %q in the project %q",
				name, cmp.Or(project, agent.DefaultProject)))
		}
	}
	return problems
}

// closedTools says the same of the tools of the workers' program, which are known; they would not be attached.
func (o opened) closedTools(m virtual.Agent, known []string) (problems virtual.Problems) {
	builtIn := (&validator{Config: &Config{}}).ownTools()
	for _, name := range m.Definition.Tools()["enabled_tools"] {
		if slices.Contains(known, name) && !strings.Contains(name, ".") && !slices.Contains(builtIn, name) && !o.ids[name] {
			problems = append(problems, fmt.Sprintf("tool_config.enabled_tools: no agent of the configuration has the tool %q in the project %q",
				name, cmp.Or(m.Project, agent.DefaultProject)))
		}
	}
	return problems
}

// liftedApprovals refuses requires_approval: false, which only the configuration may say. Agents that were stored with it
// still work: it lifts nothing of theirs.
func liftedApprovals(m virtual.Agent) (problems virtual.Problems) {
	entry, _ := decodeEntry(m.Name, m.Definition)
	if entry == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(entry.ToolConfig.ToolPermissions)) {
		if asks := entry.ToolConfig.ToolPermissions[name].RequiresApproval; asks != nil && !*asks {
			problems = append(problems, fmt.Sprintf("tool_config.tool_permissions.%s.requires_approval: an agent made at run time "+
				"cannot lift an approval: people approve the calls of destructive tools (confirm_destructive); remove the key", name))
		}
	}
	return problems
}

// widerPatterns refuses patterns for a parameter that let through what those of the defaults do not: a call is held to one list.
func widerPatterns(own, defaults ToolConfig) (problems virtual.Problems) {
	for _, name := range slices.Sorted(maps.Keys(own.ToolPermissions)) {
		theirs := defaults.ToolPermissions[name].Allowed
		for _, parameter := range slices.Sorted(maps.Keys(own.ToolPermissions[name].Allowed)) {
			first, both := theirs[parameter]
			wider := func(pattern string) bool { return !tool.Narrower(pattern, first) }
			if ours := own.ToolPermissions[name].Allowed[parameter]; both && (len(ours) == 0 || slices.ContainsFunc(ours, wider)) {
				problems = append(problems, fmt.Sprintf(
					"tool_config.tool_permissions.%s.allowed_%s_patterns: each must be as narrow as one of those that defaults has for it: %s",
					name, parameter, strings.Join(first, ", ")))
			}
		}
	}
	return problems
}
