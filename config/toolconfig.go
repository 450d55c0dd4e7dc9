package config

import (
	"github.com/inquest-dev/inquest/value"
)

// ToolConfig is the policy for the tools of agents. A tool is named server.tool; a built-in tool has only a name. An
// agent's settings replace those of defaults key by key, and tool_permissions are merged tool by tool. In the same way,
// the chain replaces settings of the agent, the stage those of the chain, and the agent's entry in the stage those of the
// stage.
type ToolConfig struct {
	// EnabledTools are the only tools that the agent may use; [] means none.
	EnabledTools []string `yaml:"enabled_tools" default:"all"`
	// DisabledTools are tools that the agent does not have, whatever other settings say.
	DisabledTools []string `yaml:"disabled_tools" default:"none"`
	// AccessLevel limits the risk of the tools: read allows read_only, write allows write, low and medium as well.
	AccessLevel value.Access `yaml:"access_level" enum:"access level"`
	// ConfirmDestructive requires a person's approval for every call of a destructive tool.
	ConfirmDestructive *bool `yaml:"confirm_destructive"`
	// TaintedWrites selects the calls that need a person's approval after the agent has read untrusted text, regardless of
	// remembered approvals. With destructive, these are calls of tools that destroy, or whose risk is high or critical. With
	// writing, they are calls of all tools that do more than read. With allow, there are none. Untrusted texts are the
	// request and its runbook, fetched runbooks, web pages, memory, and the output of untrusted servers, commands and tools
	// in Go.
	TaintedWrites value.TaintRule `yaml:"tainted_writes" enum:"tainted writes" default:"destructive; allow if confirm_destructive is false"`
	// Repeats says what happens if an agent requests a call that it has already made, or may have made: the same tool with
	// the same arguments. With ask, a person decides about it once: after an approval, the agent may repeat the call, and
	// after a denial or without a decision, further repetitions are refused. With deny, all are refused. The rule does not
	// apply to tools that only read (risk read_only) or are declared idempotent. If neither risk nor an annotation says
	// whether a tool only reads, ask begins with the third call. In a conversation, each turn counts by itself.
	Repeats value.RepeatRule `yaml:"repeats" enum:"repeats"`
	// Remember lists the risks of tools for which rules may remember approvals. It never applies to critical tools, or
	// if it matters who approves.
	Remember []value.Risk `yaml:"remember" enum:"risk" default:"none"`
	// ApprovalTimeout is how long a call waits for a decision before it is escalated to the next entry of escalate_to.
	// After the last one, the call counts as denied.
	ApprovalTimeout value.Duration `yaml:"approval_timeout"`
	Approvals       `yaml:",inline"`
	// RiskApprovals are approval settings for calls of one risk. They can only be stricter: more approvals, or fewer
	// approvers.
	RiskApprovals map[string]Approvals `yaml:"risk_approvals" default:"none"`
	// QuickUnder applies to tools that only read (risk read_only). If nearly all calls of such a tool (95 of 100) end
	// within this time, it is called inside the workflow task. This costs less in Temporal, whose UI then shows a
	// marker instead of an activity. 0 makes every call an activity. Calls that may change something are always
	// activities. The value is rounded down to 1, 2, 5, 10, 20, 50, 100, 200 or 500 ms, or 1 s, the maximum.
	QuickUnder *value.Duration `yaml:"quick_under"`
	// ToolPermissions limit single tools, by name.
	ToolPermissions map[string]ToolPermission `yaml:"tool_permissions" default:"none"`
}

// ToolPermission limits one tool.
type ToolPermission struct {
	// MaxResults caps the parameter max_results, and sets it if the tool has that parameter.
	MaxResults *int `yaml:"max_results" min:"1" default:"none"`
	// TimeoutSeconds limits one call.
	TimeoutSeconds *int `yaml:"timeout_seconds" min:"1" max:"86400" unit:"seconds" default:"timeouts.tool"`
	// RateLimitPerMinute limits the calls of one agent within any minute, over all investigations.
	RateLimitPerMinute *int `yaml:"rate_limit_per_minute" min:"1" unit:"calls" default:"none"`
	// RateLimit is another name for rate_limit_per_minute.
	RateLimit *int `yaml:"rate_limit" min:"1" unit:"calls"`
	// RequiresApproval requires a person's approval for every call. False reverses that setting of a wider tool_config,
	// but never the approval that confirm_destructive requires: validate warns about such a key, and refuses it with
	// --strict.
	RequiresApproval *bool `yaml:"requires_approval" default:"false"`
	Approvals        `yaml:",inline"`
	// Repeats overrides the repeats of tool_config for the tool.
	Repeats value.RepeatRule `yaml:"repeats" enum:"repeats" default:"the value of repeats in tool_config"`
	// Remember allows or forbids rules that remember approvals of the tool.
	Remember *bool `yaml:"remember" default:"the value of remember for the tool's risk"`
	// Allowed are patterns, and the whole value of the parameter must match one of them: * matches any text, including
	// /, and ? matches one character. A call without the parameter is refused.
	Allowed map[string][]string `yaml:"allowed_<parameter>_patterns" default:"none"`
}

// AllTools in tool_ids stands for all tools that the workers' program has registered.
const AllTools = "*"

// Approvals define who may decide on calls that need a person.
type Approvals struct {
	// Approvers are the groups, roles and people (as @name) who may decide. The API, Slack or the web page verifies who
	// they are; starter uses the user name of the operating system. Decisions by unverified people are refused.
	Approvers []string `yaml:"approvers" default:"everyone with access to the agent"`
	// ApprovalsNeeded is how many different people must approve a call. One person is enough to deny it.
	ApprovalsNeeded *int `yaml:"approvals_needed" min:"1" max:"10" default:"1"`
	// ApproveOwn lets people approve the calls of investigations that they requested, and of conversations that they
	// take part in.
	ApproveOwn *bool `yaml:"approve_own" default:"true"`
	// EscalateTo are further groups, roles and people who may decide. One is added each time approval_timeout passes
	// without a decision.
	EscalateTo []string `yaml:"escalate_to" default:"none"`
}

// Shell limits the shell tool of the agent types that have one.
type Shell struct {
	// Enabled turns the shell on.
	Enabled *bool `yaml:"enabled"`
	// Allow lists the commands that agents may run, by name.
	Allow []string `yaml:"allow" default:"all commands"`
	// AllowOptions selects the options that the commands in allow may have. With checked, these are options that are known
	// to start no other program and to write no file (docs/reference/shell.md). With all, there is no check.
	AllowOptions string `yaml:"allow_options" enum:"allowed options" default:"checked"`
	// Timeout limits one command.
	Timeout value.Duration `yaml:"timeout"`
	// MaxOutput is the length at which the output of a command is cut off.
	MaxOutput *int `yaml:"max_output" min:"1" unit:"bytes"`
	// Dir is the working directory and home of commands. No other user may be able to write there.
	Dir string `yaml:"dir" default:"a new folder for each command, removed afterwards"`
	// Confine restricts commands to writing in dir. If the host cannot enforce this (it needs Linux 6.2), required refuses
	// all commands.
	Confine value.Confinement `yaml:"confine" enum:"confinement" default:"never"`
	// Network lets commands open sockets. If the host cannot prevent it (that needs Linux on amd64 or arm64), false
	// refuses all commands.
	Network *bool `yaml:"network" default:"true"`
	// Risk is the effect that a command can have.
	Risk value.Risk `yaml:"risk" enum:"risk"`
}
