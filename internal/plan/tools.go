package plan

import "github.com/inquest-dev/inquest/internal/agent"

// ToolConfig is what an agent may do with its tools (spec: tools, "Policy").
// The zero value restricts nothing.
type ToolConfig struct {
	// Enabled are the only tools that the agent has; nil = no restriction, empty = none.
	Enabled []string `json:"enabled_tools"`
	// Disabled are tools that the agent has not, whatever else is said.
	Disabled []string `json:"disabled_tools,omitempty"`
	// Access bounds the risk of the agent's tools; "" = AccessAll.
	Access Access `json:"access_level,omitempty"`
	// ConfirmDestructive has a person approve every call of a destructive tool.
	ConfirmDestructive bool `json:"confirm_destructive,omitempty"`
	// TaintedWrites says which calls of an execution that has read untrusted text a person approves, whatever rules
	// remember; "" = TaintedDestructive if ConfirmDestructive is set, else TaintedAllow.
	TaintedWrites TaintedWrites `json:"tainted_writes,omitempty"`
	// Remember are the risks of the tools whose approvals people may have remembered.
	Remember []agent.Risk `json:"remember,omitempty"`
	// ApprovalTimeout is how long a call waits for a person before it counts as
	// denied.
	ApprovalTimeout Duration `json:"approval_timeout,omitempty"`
	// Approvers say who decides, and ByRisk on calls of one risk.
	Approvers Approvers                `json:"approvers,omitzero"`
	ByRisk    map[agent.Risk]Approvers `json:"approvers_by_risk,omitempty"`
	// QuickUnder is how long the calls of a quick tool take; 0 = no tool is quick.
	QuickUnder Duration `json:"quick_under,omitempty"`
	// Permissions limit single tools, by name.
	Permissions map[string]Permission `json:"tool_permissions,omitempty"`
}

// Access bounds the risk of the tools that an agent may use.
type Access string

// The access levels: none, those that only read, those that also write, all.
const (
	AccessNone  Access = "none"
	AccessRead  Access = "read"
	AccessWrite Access = "write"
	AccessAll   Access = "all"
)

// TaintedWrites says which calls wait for a person once untrusted text was read.
type TaintedWrites string

// Those of no tool, of tools that destroy or whose risk is high or critical, and of all that do more than read.
const (
	TaintedAllow       TaintedWrites = "allow"
	TaintedDestructive TaintedWrites = "destructive"
	TaintedWriting     TaintedWrites = "writing"
)

// Permission limits one tool of an agent. Its zero value limits nothing.
type Permission struct {
	// MaxResults caps the argument max_results, and sets it where the tool has it; 0 = no cap.
	MaxResults int `json:"max_results,omitempty"`
	// Timeout caps a call; 0 = the agent's timeout for tools.
	Timeout Duration `json:"timeout,omitempty"`
	// RatePerMinute bounds the calls within any minute, across executions and workers; 0 = no bound.
	RatePerMinute int `json:"rate_limit_per_minute,omitempty"`
	// Allowed are globs, by parameter, one of which its value has to match.
	Allowed map[string][]string `json:"allowed_patterns,omitempty"`
	// RequiresApproval has a person approve every call.
	RequiresApproval bool `json:"requires_approval,omitempty"`
	// Approvers say who decides on its calls.
	Approvers Approvers `json:"approvers,omitzero"`
	// Remember: people may have approvals of the tool remembered, or may not; nil = its risk says that.
	Remember *bool `json:"remember,omitempty"`
}

// Masking is what is replaced in a text before anything is stored or sent to a
// model. Its zero value masks nothing.
type Masking struct {
	// Patterns are names of built-in patterns (package mask), groups spelled out.
	Patterns []string `json:"patterns,omitempty"`
	// Custom are patterns of the configuration.
	Custom []MaskPattern `json:"custom,omitempty"`
}

// Mask is how what stands for something masked begins, unless a pattern of the configuration has another replacement.
const Mask = "[MASKED"

// MaskPattern is a pattern of the configuration's own.
type MaskPattern struct {
	Pattern     string `json:"pattern"` // regular expression (RE2)
	Replacement string `json:"replacement"`
	Description string `json:"description,omitempty"`
}

// Summarization has a model shorten results that are larger than a bound; the
// whole stays in the store.
type Summarization struct {
	Threshold int `json:"size_threshold_tokens"`   // tokens of the result
	MaxTokens int `json:"summary_max_token_limit"` // tokens of the summary
	// Provider is the model that summarises; nil = the agent's own.
	Provider *Provider `json:"provider,omitempty"`
}
