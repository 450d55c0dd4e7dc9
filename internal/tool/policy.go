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

// Policy is the one decision about tools. It is made when tools are offered to
// a model and again when a call is executed, so that a forbidden call is never
// run (spec: tools, "Policy"). It is safe for concurrent use.
type Policy struct {
	log       *slog.Logger
	validator *Validator
}

// NewPolicy returns a policy that tells the logger of tools that are left out
// because of their names; nil discards. It remembers the schemas that it has
// seen: keep one for all decisions.
func NewPolicy(logger *slog.Logger) *Policy {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Policy{log: logger, validator: NewValidator()}
}

// Tools says what an agent may do with every tool that there is for it: the
// built-in tools of its type, those of the plan's ToolIDs, those by which it
// dispatches others if it may, read_result beside tools whose results may be long, then the tools of its attached servers, in the
// plan's order and by name within a server. It depends on its arguments alone, and so does their order. Names are
// unique, in both spellings.
func (p *Policy) Tools(typ agent.Type, own plan.Agent, catalogues []Catalogue, builtins []Spec) *Set {
	offer := offer{log: p.log, named: map[string]*attached{}}
	for _, name := range typ.Tools {
		if name == agent.ToolShell && own.Shell == nil {
			continue // off unless the configuration switches it on
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
		offer.builtin(agent.ToolReadResult, builtins) // only those have results that are not shown whole
	}
	for _, server := range own.Servers {
		offer.server(server, catalogues)
	}
	set := &Set{validator: p.validator, attached: offer.named, builtins: builtins, leftOut: offer.leftOut}
	set.restrict(offer.tools, newRules(own.Tools))
	return set
}

// Refusal says why a call is not run, in words for the model.
type Refusal struct {
	// Type is one of the error types of results. ErrorInvalidArguments alone says
	// that the tool may be used and only the arguments are wrong.
	Type    string
	Message string
}

func (r *Refusal) Error() string { return r.Message }

// Result is the refusal as the model is shown it.
func (r *Refusal) Result() Result { return Failure(r.Type, r.Message) }

// offer collects tools and keeps their names unique.
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

// add appends a tool unless one of its names would mean two tools; then it returns nil.
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

// clash says to people why a tool is left out.
func clash(name, other, wire string) string {
	if name == other {
		return fmt.Sprintf("Its server lists the tool %s twice; only the first is offered.", reveal.Name(name))
	}
	const text = "Tool %s is left out beside %s: models would call both %s. Rename one of their servers, or give an agent only one of the two."
	return fmt.Sprintf(text, reveal.Name(name), reveal.Name(other), wire)
}

func byName(a, b Spec) int { return strings.Compare(a.Name, b.Name) }
