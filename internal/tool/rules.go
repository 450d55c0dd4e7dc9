package tool

import (
	"fmt"
	"slices"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// rules are the configuration's rules for an agent's tools, by name in either spelling.
type rules struct {
	config            plan.ToolConfig
	enabled, disabled map[string]bool
}

func newRules(config plan.ToolConfig) rules {
	return rules{config: config, enabled: setOf(config.Enabled), disabled: setOf(config.Disabled)}
}

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// refusal returns why a tool may not be used with any arguments, or nil.
func (r rules) refusal(spec Spec, wire string) *Refusal {
	listed := func(names map[string]bool) bool { return names[spec.Name] || names[wire] }
	switch {
	case spec.Unusable != "":
		return denied("Tool %s cannot be used: %s", spec.Name, spec.Unusable)
	case listed(r.disabled):
		return denied("Tool %s is disabled for this agent", spec.Name)
	case r.config.Enabled != nil && !listed(r.enabled):
		return denied("Tool %s is not enabled for this agent", spec.Name)
	case !admits(r.config.Access, spec.Risk):
		return denied("Tool %s is not allowed for this agent: its risk is %s, and the access level is %s",
			spec.Name, shownRisk(spec.Risk), r.config.Access)
	}
	return nil
}

// admits reports whether an access level covers a risk. An unknown level covers nothing, and an unknown risk requires
// full access.
func admits(access plan.Access, risk agent.Risk) bool {
	switch access {
	case plan.AccessAll, "":
		return true
	case plan.AccessWrite:
		return slices.Contains([]agent.Risk{agent.RiskReadOnly, agent.RiskLow, agent.RiskMedium, agent.RiskWrite}, risk)
	case plan.AccessRead:
		return risk == agent.RiskReadOnly
	}
	return false
}

// approval reports whether calls need a person's approval because of their risk.
func (r rules) approval(risk agent.Risk) bool {
	switch risk {
	case agent.RiskHigh, agent.RiskCritical:
		return true
	case agent.RiskDestructive:
		return r.config.ConfirmDestructive
	}
	return false
}

// approvers returns who decides on calls of a tool. Rules for the tool take precedence over rules for its risk, and
// those over general rules.
func (r rules) approvers(risk agent.Risk, limits limits) plan.Approvers {
	var out plan.Approvers
	for _, p := range limits {
		out = out.Over(p.Approvers)
	}
	return out.Over(r.config.ByRisk[shownRisk(risk)]).Over(r.config.Approvers)
}

// Unattended returns the risks of the calls that an agent makes without a person's approval, unless a tool's own
// permissions say otherwise.
func Unattended(config plan.ToolConfig) (risks []agent.Risk) {
	rules := newRules(config)
	for _, risk := range []agent.Risk{agent.RiskReadOnly, agent.RiskWrite, agent.RiskDestructive} {
		if admits(config.Access, risk) && !rules.approval(risk) {
			risks = append(risks, risk)
		}
	}
	return risks
}

// Asks reports whether an agent may call tools of a risk but needs a person's approval.
func Asks(config plan.ToolConfig, risk agent.Risk) bool {
	return admits(config.Access, risk) && newRules(config).approval(risk)
}

// limits returns the configured limits of one tool. If both spellings have permissions, both apply.
func (r rules) limits(name, wire string) (all limits) {
	for _, key := range slices.Compact([]string{name, wire}) {
		if permission, ok := r.config.Permissions[key]; ok {
			all = append(all, permission)
		}
	}
	return all
}

func shownRisk(risk agent.Risk) agent.Risk {
	if risk == "" {
		return agent.RiskUnknown
	}
	return risk
}

func denied(format string, args ...any) *Refusal {
	return &Refusal{ErrorPermissionDenied, fmt.Sprintf(format, args...)}
}
