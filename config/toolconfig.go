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

// ToolConfig is what agents may do with their tools (spec: tools, "Policy"). A
// tool is named server.tool, or by the bare name of a built-in one. What an agent
// sets is laid over what defaults sets, permissions tool by tool; over that what the chain sets, the stage and the
// agent's entry there.
type ToolConfig struct {
	// EnabledTools are the only tools that the agent has; [] = none.
	EnabledTools []string `yaml:"enabled_tools" default:"all"`
	// DisabledTools are tools that the agent has not, whatever else is said.
	DisabledTools []string `yaml:"disabled_tools" default:"none"`
	// AccessLevel bounds the risk of the tools: read allows read_only, write allows write, low and medium as well.
	AccessLevel plan.Access `yaml:"access_level" enum:"access level"`
	// ConfirmDestructive has a person approve every call of a destructive tool.
	ConfirmDestructive *bool `yaml:"confirm_destructive"`
	// TaintedWrites says which calls of an agent that has read untrusted text a person approves, whatever rules remember:
	// those of tools that destroy, or whose risk is high or critical (destructive), those of all that do more than read
	// (writing), or none because of that (allow). Untrusted are the request, servers that are not trusted,
	// commands, functions in Go, memory and the web.
	TaintedWrites plan.TaintedWrites `yaml:"tainted_writes" enum:"tainted writes" default:"destructive; allow if confirm_destructive is false"`
	// Remember are the risks of the tools whose approvals people may have remembered by rules. Never critical, and never
	// where it matters who approves.
	Remember []agent.Risk `yaml:"remember" enum:"risk" default:"none"`
	// ApprovalTimeout is how long a call waits for a person before the next of escalate_to is asked, and then before it
	// counts as denied.
	ApprovalTimeout plan.Duration `yaml:"approval_timeout"`
	Approvals       `yaml:",inline"`
	// RiskApprovals say the same of the calls of one risk. A number is raised by it, and who may not approve still may not.
	RiskApprovals map[string]Approvals `yaml:"risk_approvals" default:"none"`
	// A tool that only reads (risk read_only), and whose calls nearly always (95 of 100) end within this time, is called
	// inside the workflow task. That costs Temporal less, and Temporal's UI shows a marker in place of an activity. 0 makes
	// every call an activity. Calls that may change something are always activities, whatever this is. Rounded down to 1, 2, 5,
	// 10, 20, 50, 100, 200 or 500 ms, or 1 s, the longest.
	QuickUnder *plan.Duration `yaml:"quick_under"`
	// ToolPermissions limit single tools, by name.
	ToolPermissions map[string]ToolPermission `yaml:"tool_permissions" default:"none"`
}

// ToolPermission limits one tool.
type ToolPermission struct {
	// MaxResults caps the parameter max_results, and sets it where the tool has it.
	MaxResults *int `yaml:"max_results" min:"1" default:"none"`
	// TimeoutSeconds bounds one call.
	TimeoutSeconds *int `yaml:"timeout_seconds" min:"1" max:"86400" unit:"seconds" default:"timeouts.tool"`
	// RateLimitPerMinute bounds the calls of one agent within any minute, over all investigations.
	RateLimitPerMinute *int `yaml:"rate_limit_per_minute" min:"1" unit:"calls" default:"none"`
	// RateLimit is another name of rate_limit_per_minute.
	RateLimit *int `yaml:"rate_limit" min:"1" unit:"calls"`
	// RequiresApproval has a person approve every call. False takes back what a wider tool_config says of the tool.
	// It never lifts the approval that confirm_destructive asks for: validate warns of that, and refuses it with --strict.
	RequiresApproval *bool `yaml:"requires_approval" default:"false"`
	Approvals        `yaml:",inline"`
	// Remember lets people have approvals of the tool remembered by rules, or forbids it.
	Remember *bool `yaml:"remember" default:"what remember says of the tool's risk"`
	// Allowed are patterns, one of which the parameter has to match as a whole: * is any text, / and all, ? one
	// character. Without the parameter, the call is refused.
	Allowed map[string][]string `yaml:"allowed_<parameter>_patterns" default:"none"`
}

// maxQuickUnder is how long a workflow task waits for a call.
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

// lifts reports whether requires_approval: false for a tool has an effect, or nothing is there to lift. Agents made at run
// time are checked when they are made, by CheckVirtual.
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

// tool warns of a name that no tool can have: servers say only later what tools there are.
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

// ownTools are the tools that belong to no server: those that are built in, and
// those that the program has registered.
func (v *validator) ownTools() []string {
	names := slices.Concat([]string{agent.ToolReadResult}, agent.OrchestrationTools(), v.src.Tools)
	for _, t := range agent.Types() {
		names = append(names, t.Tools...)
	}
	return names
}

// chainLimitsTools: something of an agent's tool_config is said above its definition.
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
		RatePerMinute:    max(value(t.RateLimitPerMinute), value(t.RateLimit)), // one of them at most is set
		RequiresApproval: value(t.RequiresApproval), Approvers: t.Approvals.plan(), Remember: t.Remember,
	}
	if len(t.Allowed) > 0 {
		out.Allowed = t.Allowed
	}
	return out
}
