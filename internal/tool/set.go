package tool

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/trust/remember"
)

// Set holds the tools of one agent, with its permissions. It is immutable and safe for concurrent use.
type Set struct {
	validator *Validator
	attached  map[string]*attached // by both spellings of the name
	offered   []Spec
	findable  map[string]bool // by name, of the offered ones: whether a search finds the tool
	search    *Spec           // of the tool that finds the others, or nil
	builtins  []Spec          // all that exist, for this agent or others
	leftOut   []string
}

// attached is a tool that the agent has, whether it may use it or not.
type attached struct {
	spec     Spec
	wire     string   // WireName of the spec's name
	foreign  bool     // it belongs to a server or to the workers' program
	refusal  *Refusal // nil means that it may be used
	limits   limits
	approval bool
	deciders plan.Approvers
	tainted  bool // calls of an execution that has read untrusted text need approval
	repeats  plan.RepeatRule
	remember bool // a rule may approve calls
}

// Decision is a call that may be made.
type Decision struct {
	Spec Spec
	// Arguments satisfy the schema, with the configured caps applied, in canonical form: keys sorted, no white space.
	Arguments json.RawMessage
	// Coerced describes the arguments that were converted to the form that the schema requires: see Validator.coerce.
	Coerced []string
	// Timeout limits the call. Zero means the agent's timeout for tools.
	Timeout time.Duration
	// RatePerMinute limits the agent's calls of the tool within any minute. Zero means no limit.
	RatePerMinute int
	// NeedsApproval means that a person decides before the call is made, and Approvers say who. Why gives a reason
	// other than the tool itself, if any.
	NeedsApproval bool
	// Waived means that the call needs approval, which was waived because it is only replayed.
	Waived    bool
	Approvers plan.Approvers
	Why       string
	// Repeated means that the call needs approval because the execution has made it before.
	Repeated bool
	// Remember means that the configuration allows rules to approve such calls. Rule is the one that has, or nil.
	Remember bool
	Rule     *remember.Rule
}

// Within returns the timeout of the call if the agent's timeout is limit. Zero means none.
func (d Decision) Within(limit time.Duration) time.Duration {
	if d.Timeout > 0 && (limit <= 0 || d.Timeout < limit) {
		return d.Timeout
	}
	return limit
}

// restrict records the configuration's restrictions of each tool.
func (s *Set) restrict(tools []*attached, rules rules) {
	for _, tool := range tools {
		tool.refusal = cmp.Or(tool.refusal, rules.refusal(tool.spec, tool.wire))
		tool.limits = rules.limits(tool.spec.Name, tool.wire)
		tool.approval = rules.approval(tool.spec.Risk) || tool.limits.approval()
		tool.deciders = rules.approvers(tool.spec.Risk, tool.limits)
		tool.tainted, tool.repeats = rules.tainted(tool.spec), rules.repeats(tool.spec, tool.limits)
		tool.remember = rules.remembers(tool.spec, tool.limits, tool.deciders)
		switch {
		case tool.refusal != nil:
		case tool.spec.Name == agent.ToolSearchTools:
			s.search = &tool.spec
		default:
			s.offered = append(s.offered, tool.spec)
			s.findable[tool.spec.Name] = tool.foreign
		}
	}
}

// Offered returns the tools that a model is offered: those that Decide may allow. It leaves out the tool that finds others.
func (s *Set) Offered() []Spec { return slices.Clone(s.offered) }

// Searching reports whether the agent has so many tools that it must search for them, and may do so.
func (s *Set) Searching(above int) bool {
	return s.search != nil && above > 0 && len(s.offered) > above
}

// Findable returns the offered tools that a model must search for: those of servers and of the workers' program.
func (s *Set) Findable() []Spec {
	return slices.DeleteFunc(s.Offered(), func(spec Spec) bool { return !s.findable[spec.Name] })
}

// Searched reports whether a model that searches must find the tool with a name.
func (s *Set) Searched(name string) bool { return s.findable[name] }

// Shown returns the tools that a model that searches is offered: Inquest's own, and then those that it has found, in that order, so
// that each request begins with the tools of the one before.
func (s *Set) Shown(found []string) []Spec {
	shown := slices.DeleteFunc(s.Offered(), func(spec Spec) bool { return s.findable[spec.Name] })
	if s.search != nil {
		shown = append(shown, *s.search)
	}
	for n, name := range found {
		if s.findable[name] && !slices.Contains(found[:n], name) {
			shown = append(shown, s.attached[name].spec)
		}
	}
	return shown
}

// LeftOut explains, in one sentence each, which tools the agent lacks because models would use the same name for
// another tool.
func (s *Set) LeftOut() []string { return slices.Clone(s.leftOut) }

// Spec returns the agent's tool with a name, in either spelling.
func (s *Set) Spec(name string) (spec Spec, ok bool) {
	tool, ok := s.attached[name]
	if ok {
		spec = tool.spec
	}
	return spec, ok
}

// NeedsApproval reports whether every call of a tool needs a person's approval.
func (s *Set) NeedsApproval(name string) bool {
	return s.attached[name] != nil && s.attached[name].approval
}

// Decide is DecideIn for a call that a person makes.
func (s *Set) Decide(name, arguments string) (Decision, error) {
	return s.DecideIn(Situation{}, name, arguments)
}

// DecideIn decides whether and how a call may be made. The name may be in either spelling. arguments are a JSON object,
// or empty for an empty one. The error is a *Refusal, or that of in.Rules. The decision's Spec is set even with an
// error if the agent has a tool of that name, whether it may use it or not.
func (s *Set) DecideIn(in Situation, name, arguments string) (Decision, error) {
	tool, ok := s.attached[name]
	if !ok {
		return Decision{}, s.missing(name)
	}
	decision := Decision{Spec: tool.spec}
	if tool.refusal != nil {
		return decision, tool.refusal
	}
	args, said, err := s.arguments(tool, arguments, &decision)
	if err != nil {
		return decision, err
	}
	decision.Arguments, decision.Approvers = args, tool.deciders
	decision.Timeout, decision.RatePerMinute = tool.limits.timeout(), tool.limits.rate()
	return decision, decision.asks(in, tool, said)
}

// arguments returns the arguments of the call. said are the model's arguments in the schema's form, before the caps.
func (s *Set) arguments(tool *attached, text string, decision *Decision) (made, said json.RawMessage, err error) {
	args, err := parseArguments(text)
	if err == nil {
		args, decision.Coerced = s.validator.coerce(tool.spec.Schema, args)
		said, err = canonical(args)
	}
	if err != nil {
		return nil, nil, &Refusal{ErrorInvalidArguments, err.Error()}
	}
	if err := tool.limits.apply(tool.spec, args); err != nil {
		return nil, nil, err
	}
	if err := s.validator.check(tool.spec.Schema, args); err != nil {
		return nil, nil, &Refusal{ErrorInvalidArguments, err.Error()}
	}
	made, err = tool.limits.encode(args)
	return made, said, err
}

// missing returns the refusal for a tool that the agent does not have.
func (s *Set) missing(name string) *Refusal {
	known := slices.ContainsFunc(s.builtins, func(spec Spec) bool { return spec.Name == name })
	if known || name == agent.ToolShell || name == agent.ToolReadResult {
		return &Refusal{ErrorPermissionDenied, fmt.Sprintf("Tool %s is not allowed for this agent.", name)}
	}
	return &Refusal{ErrorUnknownTool, unknown(s.offered, name)}
}

func unknown(offered []Spec, name string) string {
	shown := clip.Bytes(ValidText(name), maxNameShown)
	if len(offered) == 0 {
		return fmt.Sprintf("Unknown tool %q: no tools are available to this agent.", shown)
	}
	var names []string
	for _, spec := range offered {
		names = append(names, spec.Name)
	}
	if near := closest(name, names); len(near) > 0 {
		return fmt.Sprintf("Unknown tool %q. Did you mean %s?", shown, strings.Join(near, ", "))
	}
	return fmt.Sprintf("Unknown tool %q. Call only the tools that were offered.", shown)
}
