package tool

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/remember"
)

// Situation is what a decision goes by besides the call and the configuration. The zero value is that of a person who
// makes a call himself.
type Situation struct {
	// Untrusted is where untrusted text comes from that the execution has read, oldest first.
	Untrusted []string
	// Place is where the call is made, as rules name it.
	Place remember.Where
	// Rules are those in force for a tool; nil = none. Only a call asks for them that would need a person's word, and that a
	// rule may let through.
	Rules func(tool string) ([]remember.Rule, error)
}

// asks says whether a person has to approve a call, or which rule lets it through. No rule does what the configuration
// does not have remembered, what is critical, or what untrusted text may have asked for.
func (d *Decision) asks(in Situation, tool *attached, said json.RawMessage) error {
	d.NeedsApproval = tool.approval
	if len(in.Untrusted) > 0 && tool.tainted {
		d.NeedsApproval, d.Why = true, Tainted(in.Untrusted)
		return nil
	}
	if !d.NeedsApproval || !tool.remember {
		return nil
	}
	d.Remember = true
	if in.Rules == nil {
		return nil
	}
	rules, err := in.Rules(d.Spec.Name)
	if err != nil || len(rules) == 0 {
		return err
	}
	args, err := parseArguments(string(said)) // a rule is about what the model has said, before the caps
	if err != nil {
		return &Refusal{ErrorInvalidArguments, err.Error()}
	}
	for _, r := range rules {
		defined := r.Definition == "" || r.Definition == d.Spec.Definition()
		if r.Tool == d.Spec.Name && defined && r.Where.Admits(in.Place) && r.Matcher()(args) {
			d.NeedsApproval, d.Rule = false, &r
			break
		}
	}
	return nil
}

// Tainted says why a person is asked, in a few words.
func Tainted(untrusted []string) string {
	const most = 3
	shown := untrusted[max(0, len(untrusted)-most):] // the last ones have had the last word
	text := "has read untrusted text from " + strings.Join(shown, ", ")
	if more := len(untrusted) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// tainted reports whether calls of a tool need a person once the execution has read untrusted text. What touches only
// our own store changes nothing in the world.
func (r rules) tainted(spec Spec) bool {
	if spec.Own || slices.Contains(agent.OrchestrationTools(), spec.Name) {
		return false
	}
	level := r.config.TaintedWrites
	if level == "" && r.config.ConfirmDestructive {
		level = plan.TaintedDestructive
	}
	switch level {
	case plan.TaintedDestructive:
		return slices.Contains([]agent.Risk{agent.RiskDestructive, agent.RiskHigh, agent.RiskCritical}, spec.Risk)
	case plan.TaintedWriting:
		return spec.Risk != agent.RiskReadOnly
	}
	return false
}

// remembers reports whether people may have approvals of a tool remembered. Where it matters who decides, a rule would
// decide in the place of those people.
func (r rules) remembers(spec Spec, limits limits, deciders plan.Approvers) bool {
	if spec.Own || spec.Risk == agent.RiskCritical || deciders.Checks() || slices.Contains(agent.OrchestrationTools(), spec.Name) {
		return false
	}
	said := func(may bool) bool {
		return slices.ContainsFunc(limits, func(p plan.Permission) bool { return p.Remember != nil && *p.Remember == may })
	}
	return !said(false) && (said(true) || slices.Contains(r.config.Remember, spec.Risk))
}
