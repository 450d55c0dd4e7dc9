package config

import (
	"maps"
	"slices"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// AgentPlan resolves an agent's definition outside of any chain, so without the settings, such as servers, that chains
// and stages add. It does not check the providers. The error is a *PlanError.
func (c *Config) AgentPlan(name string) (plan.Agent, error) {
	w, err := c.standalone(name)
	if err != nil {
		return plan.Agent{}, err
	}
	r := resolver{Config: c, seen: map[string]bool{}}
	if r.requireMade(w); len(r.problems) > 0 {
		return plan.Agent{}, &PlanError{Problems: r.problems}
	}
	return r.agent(w), nil
}

// OwnAgents returns the names of the definitions that the user has written, sorted.
func (c *Config) OwnAgents() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		if !c.report.BuiltIn(entryPath("agents", name)) {
			names = append(names, name)
		}
	}
	return names
}

// standalone returns an agent that works outside of any chain.
func (c *Config) standalone(name string) (work, error) {
	def, ok := c.Agents[name]
	if !ok {
		return work{}, planError("no agent named %q; there are: %s", name, list(c.Agents))
	}
	w := work{at: entryPath("agents", name), name: name, definition: name, kind: def.row(), def: *def}
	w.inherited = inheritLevels(append(c.definitionLevels(name), typeLimits(w.kind))...)
	return w, nil
}

// Conversation resolves a request for a conversation to its plan: one stage with one agent. The error is a *PlanError.
func (c *Config) Conversation(req agent.ConversationRequest) (p plan.Plan, err error) {
	if c.report.Findings.Failed() {
		return p, planError("the configuration has errors:\n%v", c.report.Findings)
	}
	w, err := c.standalone(req.Agent)
	if err != nil {
		return p, err
	}
	if !w.kind.Pattern.Model() {
		return p, planError("agent %s is of type %s, which asks no model: it has nothing to say", req.Agent, w.kind.Name)
	}
	r := resolver{Config: c, seen: map[string]bool{}, project: req.Project}
	if r.override, err = r.providerFor(req.Provider); err != nil {
		return p, err
	}
	own := r.agent(w)
	if len(r.problems) > 0 {
		return p, &PlanError{Problems: r.problems}
	}
	stage := plan.Stage{SuccessPolicy: plan.SuccessAny, Agents: []plan.Agent{own}}
	p = plan.Plan{Conversation: true, AlertMasking: c.Defaults.AlertMasking.plan(), Stages: []plan.Stage{stage}}
	return p.Versioned(), nil
}

// ToolPlan returns the plan of a placeholder agent for calling tools directly. It has every server except built-in ones
// that are not installed, and the settings about tools in defaults.
func (c *Config) ToolPlan() plan.Agent {
	s := inheritLevels(levelOf(path{}, &c.Defaults, nil)).settings
	p := plan.Agent{Shell: c.shell(s.Shell), Tools: s.ToolConfig.plan(), Timeouts: plan.Timeouts{Tool: s.Timeouts.Tool}}
	for _, name := range slices.Sorted(maps.Keys(c.MCPServers)) {
		s := c.MCPServers[name]
		if c.report.BuiltIn(entryPath("mcp_servers", name)) && s.NPX != "" && !c.onPath(s.Transport.Command) {
			continue // listing tools must not download a program
		}
		p.Servers = append(p.Servers, c.server(name))
	}
	return p
}
