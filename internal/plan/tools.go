package plan

import "github.com/inquest-dev/inquest/internal/agent"

// ToolConfig limits an agent's use of its tools (spec: tools, "Policy"). The zero value restricts nothing.
type ToolConfig struct {
	// Enabled are the only tools that the agent has. Nil means no restriction; an empty list means no tools.
	Enabled []string `json:"enabled_tools"`
	// Disabled are tools that the agent does not have, whatever other fields say.
	Disabled []string `json:"disabled_tools,omitempty"`
	// Access limits the risk of the agent's tools. Empty means AccessAll.
	Access Access `json:"access_level,omitempty"`
	// ConfirmDestructive requires a person's approval for every call of a destructive tool.
	ConfirmDestructive bool `json:"confirm_destructive,omitempty"`
	// TaintedWrites says which calls need a person's approval after the execution has read untrusted text, regardless
	// of remembered rules. Empty means TaintedDestructive if ConfirmDestructive is set, and otherwise TaintedAllow.
	TaintedWrites TaintedWrites `json:"tainted_writes,omitempty"`
	// Repeats says what happens to calls that the execution has made before. Empty means RepeatsAllow: the plan was made
	// by a version without the rule.
	Repeats RepeatRule `json:"repeats,omitempty"`
	// Remember lists the risks of tools for which rules may remember approvals.
	Remember []agent.Risk `json:"remember,omitempty"`
	// ApprovalTimeout is how long a call waits for a person before it counts as denied.
	ApprovalTimeout Duration `json:"approval_timeout,omitempty"`
	// Approvers say who decides, and ByRisk who decides on calls of one risk.
	Approvers Approvers                `json:"approvers,omitzero"`
	ByRisk    map[agent.Risk]Approvers `json:"approvers_by_risk,omitempty"`
	// QuickUnder is the time within which calls of a quick tool end. Zero means that no tool is quick.
	QuickUnder Duration `json:"quick_under,omitempty"`
	// Permissions limit single tools, by name.
	Permissions map[string]Permission `json:"tool_permissions,omitempty"`
}

func (c ToolConfig) refusesRepeats() bool {
	for _, p := range c.Permissions {
		if p.Repeats == RepeatsDeny {
			return true
		}
	}
	return c.Repeats == RepeatsDeny
}

// Permission limits one tool of an agent. The zero value limits nothing.
type Permission struct {
	// MaxResults caps the argument max_results, and sets it if the tool has that parameter. Zero means no cap.
	MaxResults int `json:"max_results,omitempty"`
	// Timeout limits a call. Zero means the agent's timeout for tools.
	Timeout Duration `json:"timeout,omitempty"`
	// RatePerMinute limits the calls within any minute, across executions and workers. Zero means no limit.
	RatePerMinute int `json:"rate_limit_per_minute,omitempty"`
	// Allowed are globs by parameter. The parameter's value must match one of them.
	Allowed map[string][]string `json:"allowed_patterns,omitempty"`
	// RequiresApproval requires a person's approval for every call.
	RequiresApproval bool `json:"requires_approval,omitempty"`
	// Approvers say who decides on calls of the tool.
	Approvers Approvers `json:"approvers,omitzero"`
	// Repeats overrides ToolConfig.Repeats unless it is empty.
	Repeats RepeatRule `json:"repeats,omitempty"`
	// Remember allows or forbids rules that remember approvals of the tool. Nil means that its risk decides.
	Remember *bool `json:"remember,omitempty"`
}

// Masking says what to replace in a text before anything is stored or sent to a model. The zero value masks nothing.
type Masking struct {
	// Patterns are names of built-in patterns (package mask), with groups expanded.
	Patterns []string `json:"patterns,omitempty"`
	// Custom are patterns of the configuration.
	Custom []MaskPattern `json:"custom,omitempty"`
}

// Mask is the beginning of every marker for masked text, unless a custom pattern has another replacement.
const Mask = "[MASKED"

// MaskPattern is a custom pattern of the configuration.
type MaskPattern struct {
	Pattern     string `json:"pattern"` // regular expression (RE2)
	Replacement string `json:"replacement"`
	Description string `json:"description,omitempty"`
}

// Summarization lets a model shorten results above a size. The full result stays in the store.
type Summarization struct {
	Threshold int `json:"size_threshold_tokens"`   // tokens of the result
	MaxTokens int `json:"summary_max_token_limit"` // tokens of the summary
	// Provider is the model that summarises. Nil means the agent's own.
	Provider *Provider `json:"provider,omitempty"`
}
