package config

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/spell"
)

// ToolConfig says what agents may do with their tools (spec: tools, "Policy"). A tool is named server.tool, or by the
// bare name of a built-in tool. An agent's settings override those of defaults, with permissions merged tool by tool.
// The chain, the stage, and the agent's entry in the stage override them in turn.
type ToolConfig struct {
	// EnabledTools are the only tools that the agent has; [] means none.
	EnabledTools []string `yaml:"enabled_tools" default:"all"`
	// DisabledTools are tools that the agent does not have, whatever other settings say.
	DisabledTools []string `yaml:"disabled_tools" default:"none"`
	// AccessLevel limits the risk of the tools: read allows read_only, write allows write, low and medium as well.
	AccessLevel plan.Access `yaml:"access_level" enum:"access level"`
	// ConfirmDestructive requires a person's approval for every call of a destructive tool.
	ConfirmDestructive *bool `yaml:"confirm_destructive"`
	// TaintedWrites says which calls need a person's approval after the agent has read untrusted text, regardless of
	// remembered rules: calls of tools that destroy or whose risk is high or critical (destructive), calls of all tools
	// that do more than read (writing), or none (allow). Untrusted are the request, servers that are not trusted,
	// commands, functions in Go, memory and the web.
	TaintedWrites plan.TaintedWrites `yaml:"tainted_writes" enum:"tainted writes" default:"destructive; allow if confirm_destructive is false"`
	// Remember lists the risks of tools for which rules may remember approvals. It never applies to critical tools, or
	// if it matters who approves.
	Remember []agent.Risk `yaml:"remember" enum:"risk" default:"none"`
	// ApprovalTimeout is how long a call waits for a person before the next of escalate_to is asked. After the last,
	// the call counts as denied.
	ApprovalTimeout plan.Duration `yaml:"approval_timeout"`
	Approvals       `yaml:",inline"`
	// RiskApprovals are approval settings for the calls of one risk. They can only raise the number of approvals, and
	// cannot allow more people to approve.
	RiskApprovals map[string]Approvals `yaml:"risk_approvals" default:"none"`
	// QuickUnder applies to tools that only read (risk read_only). If nearly all calls of such a tool (95 of 100) end
	// within this time, it is called inside the workflow task. This costs less in Temporal, whose UI then shows a
	// marker instead of an activity. 0 makes every call an activity. Calls that may change something are always
	// activities. The value is rounded down to 1, 2, 5, 10, 20, 50, 100, 200 or 500 ms, or 1 s, the maximum.
	QuickUnder *plan.Duration `yaml:"quick_under"`
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
	// RequiresApproval requires a person's approval for every call. False reverses that setting of a wider tool_config.
	// It never lifts the approval that confirm_destructive requires: validate warns of that, and refuses it with
	// --strict.
	RequiresApproval *bool `yaml:"requires_approval" default:"false"`
	Approvals        `yaml:",inline"`
	// Remember allows or forbids rules that remember approvals of the tool.
	Remember *bool `yaml:"remember" default:"what remember says of the tool's risk"`
	// Allowed are patterns, and the whole value of the parameter must match one of them: * matches any text, including
	// /, and ? matches one character. A call without the parameter is refused.
	Allowed map[string][]string `yaml:"allowed_<parameter>_patterns" default:"none"`
}

// maxQuickUnder is how long a workflow task may wait for a call.
const maxQuickUnder = plan.Duration(time.Second)

func (t ToolConfig) validate(p path, v *validator) {
	for key, names := range map[string][]string{"enabled_tools": t.EnabledTools, "disabled_tools": t.DisabledTools} {
		for i, name := range names {
			v.tool(p.Key(key).Index(i), name)
		}
	}
	if value(t.QuickUnder) > maxQuickUnder {
		v.Errorf(p.Key("quick_under"), "must be 1s or shorter, got %s: a call that takes longer leaves the workflow task", *t.QuickUnder)
	}
	t.Approvals.check(p, v)
	for risk, approvals := range t.RiskApprovals {
		at := p.Key("risk_approvals").Key(risk)
		if risks := vocabularyOf("risk").Words; !slices.Contains(risks, risk) {
			v.Errorf(at, "no risk %q%s", risk, spell.DidYouMean(risk, risks))
		}
		approvals.check(at, v)
	}
	for i, risk := range t.Remember {
		if risk == agent.RiskCritical {
			v.Errorf(p.Key("remember").Index(i), "a person approves each call whose risk is critical: no rule remembers that")
		}
	}
	for name, permission := range t.ToolPermissions {
		at := p.Key("tool_permissions").Key(name)
		v.tool(at, name)
		if asks := permission.RequiresApproval; asks != nil && !*asks && !v.lifts(p, t, name) {
			severity := SeverityWarning
			if v.src.Validating {
				severity = SeverityError
			}
			v.Add(severity, at.Key("requires_approval"), "false lifts nothing: if %s is destructive, "+
				"confirm_destructive has a person approve its calls. Remove the key; "+
				"to exempt the tool, give it another risk in the risk of its server", name)
		}
	}
}

// lifts reports whether requires_approval: false for a tool has an effect, or there is nothing to lift. Agents made at
// run time are checked by CheckVirtual when they are made.
func (v *validator) lifts(p path, t ToolConfig, name string) bool {
	if confirm := cmp.Or(t.ConfirmDestructive, v.Defaults.ToolConfig.ConfirmDestructive); confirm != nil && !*confirm {
		return true
	}
	asks := func(other ToolConfig) bool { return value(other.ToolPermissions[name].RequiresApproval) }
	for name, a := range v.Agents {
		if a != nil && a.made != nil && p.Entry == entryPath("agents", name).Text {
			return true
		}
	}
	for _, a := range v.Agents {
		if a != nil && a.made == nil && asks(a.ToolConfig) {
			return true
		}
	}
	for _, c := range v.AgentChains {
		if asks(c.ToolConfig) || slices.ContainsFunc(c.Stages, func(s *Stage) bool { return s != nil && asks(s.ToolConfig) }) {
			return true
		}
	}
	return asks(v.Defaults.ToolConfig)
}

func (t ToolPermission) validate(p path, v *validator) {
	t.Approvals.check(p, v)
	if t.RateLimit != nil && t.RateLimitPerMinute != nil {
		v.Errorf(p.Key("rate_limit"), "rate_limit is another name of rate_limit_per_minute: only one of them may be there")
	}
	for parameter, patterns := range t.Allowed {
		at := p.Key("allowed_" + parameter + "_patterns")
		if len(patterns) == 0 {
			v.Errorf(at, "at least one pattern is required: without any, every call is refused")
		}
		for i, pattern := range patterns {
			if pattern == "" {
				v.Errorf(at.Index(i), "a pattern must not be empty")
			}
		}
	}
}

// tool warns of a name that no tool can have. The tools of servers are not known yet.
func (v *validator) tool(p path, name string) {
	server, _, ofServer := strings.Cut(plainName(name), ".")
	servers := slices.Collect(maps.Keys(v.MCPServers))
	switch {
	case name == "":
		v.Errorf(p, "the name of a tool is required")
	case ofServer && !slices.Contains(servers, server):
		v.Add(SeverityWarning, p, "no MCP server of the tool %q: there is none named %q%s", name, server, spell.DidYouMean(server, servers))
	case !ofServer && !slices.Contains(v.ownTools(), name):
		v.Add(SeverityWarning, p, "no built-in tool %q%s; a server's tool is named server.tool", name, spell.DidYouMean(name, v.ownTools()))
	}
}

// ownTools returns the tools that belong to no server: built-in tools, and those that the program has registered.
func (v *validator) ownTools() []string {
	names := slices.Concat([]string{agent.ToolReadResult}, agent.OrchestrationTools(), v.src.Tools)
	for _, t := range agent.Types() {
		names = append(names, t.Tools...)
	}
	return names
}

// chainLimitsTools reports whether a level above an agent's definition sets any of its tool_config.
func (c *Config) chainLimitsTools(w work) bool {
	below := len(c.definitionLevels(w.definition))
	for key, level := range w.from {
		if strings.HasPrefix(key, "tool_config") && level >= below {
			return true
		}
	}
	return false
}

func (t ToolConfig) plan() plan.ToolConfig {
	out := plan.ToolConfig{
		Enabled: t.EnabledTools, Disabled: notEmpty(t.DisabledTools), Access: t.AccessLevel,
		ConfirmDestructive: value(t.ConfirmDestructive), ApprovalTimeout: t.ApprovalTimeout,
		QuickUnder: value(t.QuickUnder), Approvers: t.Approvals.plan(),
		TaintedWrites: t.TaintedWrites, Remember: notEmpty(t.Remember),
	}
	for risk, approvals := range t.RiskApprovals {
		if out.ByRisk == nil {
			out.ByRisk = map[agent.Risk]plan.Approvers{}
		}
		out.ByRisk[agent.Risk(risk)] = approvals.plan()
	}
	for name, permission := range t.ToolPermissions {
		if out.Permissions == nil {
			out.Permissions = map[string]plan.Permission{}
		}
		out.Permissions[name] = permission.plan()
	}
	return out
}

func (t ToolPermission) plan() plan.Permission {
	out := plan.Permission{
		MaxResults:       value(t.MaxResults),
		Timeout:          plan.Duration(time.Duration(value(t.TimeoutSeconds)) * time.Second),
		RatePerMinute:    max(value(t.RateLimitPerMinute), value(t.RateLimit)), // at most one of them is set
		RequiresApproval: value(t.RequiresApproval), Approvers: t.Approvals.plan(), Remember: t.Remember,
	}
	if len(t.Allowed) > 0 {
		out.Allowed = t.Allowed
	}
	return out
}
