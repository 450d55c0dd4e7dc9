package tool

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/trust/remember"
)

// Situation is the context of a decision, in addition to the call and the configuration. The zero value is for a call
// that a person makes directly.
type Situation struct {
	// Untrusted are the sources of untrusted text that the execution has read, oldest first.
	Untrusted []string
	// Repeat is set if the execution has requested the same call before.
	Repeat *agent.Repeat
	// Place is where the call is made, in the terms of rules.
	Place remember.Where
	// Rules returns the active rules for a tool. Nil means none. It is called only if the call needs approval and a
	// rule may give it.
	Rules func(tool string) ([]remember.Rule, error)
	// Replayed means that the call is answered from a recording, so the approval that it needs is waived.
	Replayed bool
}

// asks decides whether a call needs a person's approval, or which rule approves it. No rule approves calls that the
// configuration excludes, critical calls, calls that untrusted text may have caused, or calls that were made before.
func (d *Decision) asks(in Situation, tool *attached, said json.RawMessage) error {
	var why []string
	tainted := len(in.Untrusted) > 0 && tool.tainted
	if tainted {
		why = append(why, Tainted(in.Untrusted))
	}
	if in.Repeat != nil {
		asked, refusal := d.Spec.repeatable(*in.Repeat, tool.repeats)
		if refusal != nil {
			return refusal
		}
		if asked {
			why = append(why, in.Repeat.String())
			d.Repeated = !in.Repeat.Approved
		}
	}
	d.Why = strings.Join(why, " and ")
	d.NeedsApproval = tool.approval || tainted || d.Repeated
	if in.Replayed && d.NeedsApproval {
		d.NeedsApproval, d.Waived = false, true
	}
	if in.Replayed || tainted || d.Repeated || !tool.approval || !tool.remember {
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
	args, err := parseArguments(string(said)) // a rule applies to the model's arguments, before the caps
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

// repeatable decides whether a person is asked about a call that was requested before, or why it is refused, in words for the model.
// Otherwise the call is made. The first case that applies decides.
func (s Spec) repeatable(r agent.Repeat, rule plan.RepeatRule) (asked bool, refusal *Refusal) {
	undeclared := s.RiskFrom == SourceDefault || s.RiskFrom == SourceUntrusted
	var why string
	switch times, deny := r.Times+r.InReply, rule == plan.RepeatsDeny; {
	case rule == plan.RepeatsAllow:
		return false, nil
	case deny && r.Times > 0:
		why = "Repeating a call that may change something is not allowed for this agent."
	case r.Denied && r.By != "":
		why = fmt.Sprintf("Repeating it was denied by %s. Do not request this call again.", r.By)
	case r.Denied:
		why = "Nobody approved repeating it. Do not request this call again."
	case undeclared && !deny && times < 2:
		// Many tools without annotations only read, and agents look twice to see a change. A third time, they are stuck or they write.
		return false, nil
	case r.InReply > 0 && (deny || times > 1 && !r.Approved):
		why = "Your reply requests this call more than once. Wait for the result of the first."
	default:
		return true, nil
	}
	if r.Times > 0 {
		why = r.Reminder() + " " + why
	}
	return false, denied("Tool %s was not called. %s", s.Name, why)
}

// repeats returns the rule for repeated calls of a tool. Tools that touch only our own store have no effects outside.
func (r rules) repeats(spec Spec, limits limits) plan.RepeatRule {
	if spec.Own || spec.Class() != NonIdempotent || slices.Contains(agent.OrchestrationTools(), spec.Name) {
		return plan.RepeatsAllow
	}
	for _, p := range limits {
		if p.Repeats != "" {
			return p.Repeats
		}
	}
	return cmp.Or(r.config.Repeats, plan.RepeatsAllow)
}

// Tainted explains briefly why a person is asked.
func Tainted(untrusted []string) string {
	const most = 3
	shown := slices.Clone(untrusted[max(0, len(untrusted)-most):]) // the most recent ones
	if more := len(untrusted) - len(shown); more > 0 {
		shown = append(shown, fmt.Sprintf("%d more", more))
	}
	text := shown[0]
	for n, source := range shown[1:] {
		text += map[bool]string{true: " and ", false: ", "}[n == len(shown)-2] + source
	}
	return "has read untrusted text from " + text
}

// tainted reports whether calls of a tool need approval once the execution has read untrusted text. Tools that touch
// only our own store have no effects outside.
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

// remembers reports whether rules may remember approvals of a tool. They may not if it matters who decides, because a
// rule would replace those people.
func (r rules) remembers(spec Spec, limits limits, deciders plan.Approvers) bool {
	if spec.Own || spec.Risk == agent.RiskCritical || deciders.Checks() || slices.Contains(agent.OrchestrationTools(), spec.Name) {
		return false
	}
	said := func(may bool) bool {
		return slices.ContainsFunc(limits, func(p plan.Permission) bool { return p.Remember != nil && *p.Remember == may })
	}
	return !said(false) && (said(true) || slices.Contains(r.config.Remember, spec.Risk))
}
