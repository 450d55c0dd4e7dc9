package configuration

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/virtual"
)

// opened holds the servers and registered tools that a project may use already. They come from the chains that the
// project may run, and from agents that are in no chain, which every project may run directly. Agents made in a project
// may use only these; more takes a change of the configuration.
type opened struct{ servers, ids map[string]bool }

// openTo returns the servers and tools that the configuration opens to a project. Virtual agents open nothing by themselves.
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

// closedServers reports an agent's servers that are not open to its project.
func (o opened) closedServers(c *Config, project string, a *config.Agent) (problems virtual.Problems) {
	for _, name := range a.MCPServers {
		if _, there := c.MCPServers[name]; there && !o.servers[name] {
			problems = append(problems, fmt.Sprintf("mcp_servers: the server %q is not allowed, because no configured agent or chain uses it "+
				"in project %q", name, cmp.Or(project, agent.DefaultProject)))
		}
	}
	return problems
}

// closedTools reports tools of the workers' program that are not open to the project. They would not be attached.
func (o opened) closedTools(m virtual.Agent, known []string) (problems virtual.Problems) {
	builtIn := (&validator{Config: &Config{}}).ownTools()
	for _, name := range m.Definition.Tools()["enabled_tools"] {
		if slices.Contains(known, name) && !strings.Contains(name, ".") && !slices.Contains(builtIn, name) && !o.ids[name] {
			problems = append(problems, fmt.Sprintf("tool_config.enabled_tools: the tool %q is not allowed, because no configured agent uses "+
				"it in project %q", name, cmp.Or(m.Project, agent.DefaultProject)))
		}
	}
	return problems
}

// liftedApprovals refuses requires_approval: false, which only the configuration may set. Agents that were stored with
// it still work, but it has no effect for them.
func liftedApprovals(m virtual.Agent) (problems virtual.Problems) {
	entry, _ := decodeEntry(m.Name, m.Definition)
	if entry == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(entry.ToolConfig.ToolPermissions)) {
		if asks := entry.ToolConfig.ToolPermissions[name].RequiresApproval; asks != nil && !*asks {
			problems = append(problems, fmt.Sprintf("tool_config.tool_permissions.%s.requires_approval: an agent created at run time cannot waive "+
				"approval of destructive calls (confirm_destructive): remove the key", name))
		}
	}
	return problems
}

// widerPatterns refuses patterns for a parameter that allow more than those of defaults, because a call is checked
// against only one list.
func widerPatterns(own, defaults config.ToolConfig) (problems virtual.Problems) {
	for _, name := range slices.Sorted(maps.Keys(own.ToolPermissions)) {
		theirs := defaults.ToolPermissions[name].Allowed
		for _, parameter := range slices.Sorted(maps.Keys(own.ToolPermissions[name].Allowed)) {
			first, both := theirs[parameter]
			wider := func(pattern string) bool { return !tool.Narrower(pattern, first) }
			if ours := own.ToolPermissions[name].Allowed[parameter]; both && (len(ours) == 0 || slices.ContainsFunc(ours, wider)) {
				problems = append(problems, fmt.Sprintf(
					"tool_config.tool_permissions.%s.allowed_%s_patterns: each pattern must be at least as narrow as one of those in defaults: %s",
					name, parameter, strings.Join(first, ", ")))
			}
		}
	}
	return problems
}
