package tool

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/clip"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/remember"
)

// Set is the tools of one agent, and what it may do with them. It does not
// change, and is safe for concurrent use.
type Set struct {
	validator *Validator
	attached  map[string]*attached // by both spellings of the name
	offered   []Spec
	builtins  []Spec // those that there are, for the agent or for others
	leftOut   []string
}

// attached is a tool that there is for the agent, whether it may use it or not.
type attached struct {
	spec     Spec
	wire     string   // WireName of the spec's
	refusal  *Refusal // nil: it may be used
	limits   limits
	approval bool
	deciders plan.Approvers
	tainted  bool // a person approves calls of an execution that has read untrusted text
	remember bool // a rule may let calls through
}

// Decision is a call that may be made.
type Decision struct {
	Spec Spec
	// Arguments satisfy the schema, with the caps of the configuration applied, and are
	// canonical: keys sorted, no white space.
	Arguments json.RawMessage
	// Coerced says which arguments were respelled because the schema asks for another spelling: see Validator.coerce.
	Coerced []string
	// Timeout caps the call; 0 = the agent's timeout for tools.
	Timeout time.Duration
	// RatePerMinute bounds the agent's calls of the tool within any minute; 0 = no bound.
	RatePerMinute int
	// NeedsApproval: a person decides before the call is made, and Approvers say who. Why says for which reason besides the
	// tool itself; "" = none.
	NeedsApproval bool
	Approvers     plan.Approvers
	Why           string
	// Remember: the configuration lets rules let such calls through. Rule is the one that has; nil = none.
	Remember bool
	Rule     *remember.Rule
}

// Within is the timeout of the call, of which limit is the agent's; 0 = none.
func (d Decision) Within(limit time.Duration) time.Duration {
	if d.Timeout > 0 && (limit <= 0 || d.Timeout < limit) {
		return d.Timeout
	}
	return limit
}

// restrict says of each tool what the configuration has against it.
func (s *Set) restrict(tools []*attached, rules rules) {
	for _, tool := range tools {
		tool.refusal = cmp.Or(tool.refusal, rules.refusal(tool.spec, tool.wire))
		tool.limits = rules.limits(tool.spec.Name, tool.wire)
		tool.approval = rules.approval(tool.spec.Risk) || tool.limits.approval()
		tool.deciders = rules.approvers(tool.spec.Risk, tool.limits)
		tool.tainted, tool.remember = rules.tainted(tool.spec), rules.remembers(tool.spec, tool.limits, tool.deciders)
		if tool.refusal == nil {
			s.offered = append(s.offered, tool.spec)
		}
	}
}

// Offered are the tools that a model is told of: those that Decide may allow.
func (s *Set) Offered() []Spec { return slices.Clone(s.offered) }

// LeftOut says, in a sentence each, which tools the agent does not have because models would call another one the same.
func (s *Set) LeftOut() []string { return slices.Clone(s.leftOut) }

// Spec is the tool of a name, in either spelling, that there is for the agent.
func (s *Set) Spec(name string) (spec Spec, ok bool) {
	tool, ok := s.attached[name]
	if ok {
		spec = tool.spec
	}
	return spec, ok
}

// NeedsApproval reports whether a person decides on each call of a tool.
func (s *Set) NeedsApproval(name string) bool {
	return s.attached[name] != nil && s.attached[name].approval
}

// Decide is DecideIn of a call that a person makes.
func (s *Set) Decide(name, arguments string) (Decision, error) {
	return s.DecideIn(Situation{}, name, arguments)
}

// DecideIn says whether a call may be made, and how. The name may be in its own
// spelling or in that of the wire; arguments are a JSON object, "" for an empty
// one. The error is a *Refusal, or that of in.Rules; the Spec is there even so if the agent has a
// tool of that name, whether it may use it or not.
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

// arguments are those that the call is made with. said are the model's, in the spelling of the schema and before the caps.
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

// missing says that the agent has no such tool.
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
