package tool

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/reveal"
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
// ToolIDs, the tools for dispatching sub-agents if it may, read_result if other tools may have long results, and the
// tools of its servers, in the plan's order and by name within a server. The result and its order depend only on the
// arguments. Names are unique, in both spellings.
func (p *Policy) Tools(typ agent.Type, own plan.Agent, catalogues []Catalogue, builtins []Spec) *Set {
	offer := offer{log: p.log, named: map[string]*attached{}}
	for _, name := range typ.Tools {
		if name == agent.ToolShell && own.Shell == nil {
			continue // off unless the configuration turns it on
		}
		offer.builtin(name, builtins)
	}
	for _, name := range own.ToolIDs {
		offer.builtin(name, builtins)
	}
	if own.Orchestrator != nil {
		for _, name := range agent.OrchestrationTools() {
			offer.builtin(name, builtins)
		}
	}
	shell := own.Shell != nil && slices.Contains(typ.Tools, agent.ToolShell)
	if typ.Pattern == agent.Iterating && (len(own.Servers)+len(own.ToolIDs) > 0 || own.Attached || shell) {
		offer.builtin(agent.ToolReadResult, builtins) // only these have results that are not shown in full
	}
	for _, server := range own.Servers {
		offer.server(server, catalogues)
	}
	set := &Set{validator: p.validator, attached: offer.named, builtins: builtins, leftOut: offer.leftOut}
	set.restrict(offer.tools, newRules(own.Tools))
	return set
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
				o.log.Warn("tool left out: its name is not its server's", "tool", spec.Name, "server", server.Name)
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
		o.log.Warn("tool left out: its name is taken", "tool", spec.Name, "wire_name", wire, "by", other.spec.Name)
		o.leftOut = append(o.leftOut, clash(spec.Name, other.spec.Name, wire))
		return nil
	}
	tool := &attached{spec: spec, wire: wire}
	o.named[spec.Name], o.named[wire] = tool, tool
	o.tools = append(o.tools, tool)
	return tool
}

// clash explains to people why a tool is left out.
func clash(name, other, wire string) string {
	if name == other {
		return fmt.Sprintf("Its server lists the tool %s twice; only the first is offered.", reveal.Name(name))
	}
	const text = "Tool %s is not offered together with %s: models would call both %s. " +
		"Rename one of the servers, or give the agent only one of the two tools."
	return fmt.Sprintf(text, reveal.Name(name), reveal.Name(other), wire)
}

func byName(a, b Spec) int { return strings.Compare(a.Name, b.Name) }
