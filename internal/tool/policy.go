package tool

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
	"github.com/inquest-dev/inquest/internal/plan"
)

// Policy makes all decisions about tools: when tools are offered to a model, and again when a call is executed, so that
// a forbidden call never runs (spec: tools, "Policy"). It is safe for concurrent use.
type Policy struct {
	log       *slog.Logger
	validator *Validator
}

// NewPolicy returns a policy that logs the tools that are left out because of their names. A nil logger discards that.
// The policy caches schemas, so use the same one for all decisions.
func NewPolicy(logger *slog.Logger) *Policy {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Policy{log: logger, validator: NewValidator()}
}

// Tools returns an agent's permissions for every tool that it has: the built-in tools of its type, those of the plan's
// ToolIDs, the tools for dispatching sub-agents if it may, those for its skills and for earlier investigations, read_result if
// other tools may have long results, search_tools if the plan limits how many tools are offered at once, and the tools of its
// servers, in the plan's order and by name within a server. The result and its order depend only on the arguments. Names are unique,
// in both spellings.
func (p *Policy) Tools(typ agent.Type, own plan.Agent, catalogues []Catalogue, builtins []Spec) *Set {
	offer := offer{log: p.log, named: map[string]*attached{}}
	for _, name := range typ.Tools {
		if name == agent.ToolShell && own.Shell == nil {
			continue // off unless the configuration turns it on
		}
		offer.builtin(name, builtins)
	}
	offer.foreign = true
	for _, name := range own.ToolIDs {
		offer.builtin(name, builtins)
	}
	offer.foreign = false
	if own.Orchestrator != nil {
		for _, name := range agent.OrchestrationTools() {
			offer.builtin(name, builtins)
		}
	}
	shell := own.Shell != nil && slices.Contains(typ.Tools, agent.ToolShell)
	for _, name := range skillTools(own.Skills) {
		offer.builtin(name, builtins)
	}
	if own.Recalls {
		for _, name := range agent.RecallTools() {
			offer.builtin(name, builtins)
		}
	}
	if typ.Pattern == agent.Iterating && (len(own.Servers)+len(own.ToolIDs)+len(own.Skills) > 0 || own.Attached || shell) {
		offer.builtin(agent.ToolReadResult, builtins) // only these have results that are not shown in full
	}
	if typ.Pattern == agent.Iterating && own.ToolSearchAbove > 0 {
		offer.builtin(agent.ToolSearchTools, builtins)
	}
	offer.foreign = true
	for _, server := range own.Servers {
		offer.server(server, catalogues)
	}
	set := &Set{
		validator: p.validator, attached: offer.named, findable: map[string]bool{}, builtins: builtins, leftOut: offer.leftOut,
	}
	set.restrict(offer.tools, newRules(own.Tools))
	return set
}

// skillTools returns the tools that an agent needs for its skills.
func skillTools(skills []plan.Skill) (names []string) {
	if slices.ContainsFunc(skills, func(s plan.Skill) bool { return !s.Required }) {
		names = append(names, agent.ToolLoadSkill)
	}
	if slices.ContainsFunc(skills, func(s plan.Skill) bool { return len(s.Files()) > 0 }) {
		names = append(names, agent.ToolReadSkillFile)
	}
	return names
}

// Refusal says why a call is not made, in words for the model.
type Refusal struct {
	// Type is one of the error types of results. Only ErrorInvalidArguments means that the tool may be used and just
	// the arguments are wrong.
	Type    string
	Message string
}

func (r *Refusal) Error() string { return r.Message }

// Result returns the refusal in the form for the model.
func (r *Refusal) Result() Result { return Failure(r.Type, r.Message) }

// offer collects tools with unique names.
type offer struct {
	log   *slog.Logger
	tools []*attached
	named map[string]*attached // by both spellings
	// foreign means that the tools that follow belong to a server or to the workers' program.
	foreign bool

	leftOut []string
}

func (o *offer) builtin(name string, builtins []Spec) {
	for _, spec := range builtins {
		if spec.Name == name {
			o.add(spec)
		}
	}
}

func (o *offer) server(server plan.Server, catalogues []Catalogue) {
	for _, c := range catalogues {
		if c.Server != server.Name {
			continue
		}
		for _, spec := range slices.SortedStableFunc(slices.Values(c.Tools), byName) {
			if owner, own := Split(spec.Name); owner != server.Name || own == "" {
				o.log.Warn("tool omitted: its name does not begin with its server's name", "tool", spec.Name, "server", server.Name)
				continue
			}
			if tool := o.add(spec); tool != nil && server.Tools != nil && !slices.Contains(server.Tools, spec.Name) {
				tool.refusal = denied("Tool %s is not enabled for this investigation", spec.Name)
			}
		}
	}
}

// add appends a tool. It returns nil if one of its names is taken.
func (o *offer) add(spec Spec) *attached {
	wire := WireName(spec.Name)
	if other := cmp.Or(o.named[spec.Name], o.named[wire]); other != nil {
		o.log.Warn("tool omitted: another tool has the same name", "tool", spec.Name, "wire_name", wire, "by", other.spec.Name)
		o.leftOut = append(o.leftOut, clash(spec.Name, other.spec.Name, wire))
		return nil
	}
	tool := &attached{spec: spec, wire: wire, foreign: o.foreign}
	o.named[spec.Name], o.named[wire] = tool, tool
	o.tools = append(o.tools, tool)
	return tool
}

// clash explains to people why a tool is left out.
func clash(name, other, wire string) string {
	if name == other {
		return fmt.Sprintf("The tool %s is listed twice by its server; only the first one is offered.", reveal.Name(name))
	}
	const text = "Tool %s is not offered together with %s: models would call both %s. " +
		"Rename one of the servers, or give the agent only one of the two tools."
	return fmt.Sprintf(text, reveal.Name(name), reveal.Name(other), wire)
}

func byName(a, b Spec) int { return strings.Compare(a.Name, b.Name) }
