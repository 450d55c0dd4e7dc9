package configuration

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/spell"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/trust/programs"
	"github.com/inquest-dev/inquest/internal/trust/sandbox"
)

// maxQuickUnder is how long a workflow task may wait for a call.
const maxQuickUnder = plan.Duration(time.Second)

func validateToolConfig(t config.ToolConfig, p path, v *validator) {
	for key, names := range map[string][]string{"enabled_tools": t.EnabledTools, "disabled_tools": t.DisabledTools} {
		for i, name := range names {
			v.tool(p.Key(key).Index(i), name)
		}
	}
	if value(t.QuickUnder) > maxQuickUnder {
		v.Errorf(p.Key("quick_under"), "must be 1s or shorter, got %s: longer calls cannot run inside a workflow task", *t.QuickUnder)
	}
	checkApprovals(t.Approvals, p, v)
	for risk, approvals := range t.RiskApprovals {
		at := p.Key("risk_approvals").Key(risk)
		if risks := vocabularyOf("risk").Words; !slices.Contains(risks, risk) {
			v.Errorf(at, "unknown risk %q%s", risk, spell.Hint(risk, risks))
		}
		checkApprovals(approvals, at, v)
	}
	for i, risk := range t.Remember {
		if risk == agent.RiskCritical {
			v.Errorf(p.Key("remember").Index(i), "calls with critical risk always need a person's approval: remove critical from this list")
		}
	}
	for name, permission := range t.ToolPermissions {
		at := p.Key("tool_permissions").Key(name)
		v.tool(at, name)
		if asks := permission.RequiresApproval; asks != nil && !*asks && !v.lifts(p, t, name) {
			severity := config.SeverityWarning
			if v.src.Validating {
				severity = config.SeverityError
			}
			v.Add(severity, at.Key("requires_approval"), "false has no effect: if %s is destructive, its calls still need approval "+
				"(confirm_destructive). Remove the key; to exempt the tool, give it another risk in mcp_servers.SERVER.risk", name)
		}
	}
}

// lifts reports whether requires_approval: false for a tool has an effect, or there is nothing to lift. Agents made at
// run time are checked by CheckVirtual when they are made.
func (v *validator) lifts(p path, t config.ToolConfig, name string) bool {
	if confirm := cmp.Or(t.ConfirmDestructive, v.Defaults.ToolConfig.ConfirmDestructive); confirm != nil && !*confirm {
		return true
	}
	asks := func(other config.ToolConfig) bool { return value(other.ToolPermissions[name].RequiresApproval) }
	for name, a := range v.Agents {
		_, made := v.made[name]
		if a != nil && (made && p.Entry == entryPath("agents", name).Text || !made && asks(a.ToolConfig)) {
			return true
		}
	}
	for _, c := range v.AgentChains {
		if asks(c.ToolConfig) || slices.ContainsFunc(c.Stages, func(s *config.Stage) bool { return s != nil && asks(s.ToolConfig) }) {
			return true
		}
	}
	return asks(v.Defaults.ToolConfig)
}

func validateToolPermission(t config.ToolPermission, p path, v *validator) {
	checkApprovals(t.Approvals, p, v)
	if t.RateLimit != nil && t.RateLimitPerMinute != nil {
		v.Errorf(p.Key("rate_limit"), "rate_limit and rate_limit_per_minute mean the same: set one of them")
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
		v.Add(config.SeverityWarning, p, "unknown tool %q: no MCP server is named %q%s",
			name, server, spell.DidYouMean(server, servers))
	case !ofServer && !slices.Contains(v.ownTools(), name):
		v.Add(config.SeverityWarning, p, "no built-in tool %q%s; a server's tool is named server.tool",
			name, spell.DidYouMean(name, v.ownTools()))
	}
}

// ownTools returns the tools that belong to no server: built-in tools, and those that the program has registered.
func (v *validator) ownTools() []string {
	names := slices.Concat([]string{agent.ToolReadResult, agent.ToolSearchTools}, agent.SkillTools(), agent.RecallTools(),
		agent.OrchestrationTools(), v.src.Tools)
	for _, t := range agent.Types() {
		names = append(names, t.Tools...)
	}
	return names
}

// chainLimitsTools reports whether a level above an agent's definition sets any of its tool_config.
func (c *content) chainLimitsTools(w work) bool {
	below := len(c.definitionLevels(w.definition))
	for key, level := range w.from {
		if strings.HasPrefix(key, "tool_config") && level >= below {
			return true
		}
	}
	return false
}

func plannedToolConfig(t config.ToolConfig) plan.ToolConfig {
	out := plan.ToolConfig{
		Enabled: t.EnabledTools, Disabled: notEmpty(t.DisabledTools), Access: t.AccessLevel,
		ConfirmDestructive: value(t.ConfirmDestructive), ApprovalTimeout: t.ApprovalTimeout,
		QuickUnder: value(t.QuickUnder), Approvers: plannedApprovals(t.Approvals),
		TaintedWrites: t.TaintedWrites, Repeats: t.Repeats, Remember: notEmpty(t.Remember),
	}
	// any order: risks differ
	for risk, approvals := range t.RiskApprovals {
		if out.ByRisk == nil {
			out.ByRisk = map[agent.Risk]plan.Approvers{}
		}
		out.ByRisk[agent.Risk(risk)] = plannedApprovals(approvals)
	}
	for name, permission := range t.ToolPermissions {
		if out.Permissions == nil {
			out.Permissions = map[string]plan.Permission{}
		}
		out.Permissions[name] = plannedToolPermission(permission)
	}
	return out
}

func plannedToolPermission(t config.ToolPermission) plan.Permission {
	out := plan.Permission{
		MaxResults:       value(t.MaxResults),
		Timeout:          plan.Duration(time.Duration(value(t.TimeoutSeconds)) * time.Second),
		RatePerMinute:    max(value(t.RateLimitPerMinute), value(t.RateLimit)), // at most one of them is set
		RequiresApproval: value(t.RequiresApproval), Approvers: plannedApprovals(t.Approvals), Remember: t.Remember,
		Repeats: t.Repeats,
	}
	if len(t.Allowed) > 0 {
		out.Allowed = t.Allowed
	}
	return out
}

func checkApprovals(a config.Approvals, p path, v *validator) {
	for key, names := range map[string][]string{"approvers": a.Approvers, "escalate_to": a.EscalateTo} {
		for i, name := range names {
			if strings.TrimPrefix(name, agent.Person) == "" || agent.CheckBy(name) != nil {
				v.Errorf(p.Key(key).Index(i), "expected the name of a group or a role, or @NAME for a person")
			}
		}
	}
	if len(a.EscalateTo) > 0 && len(a.Approvers) == 0 {
		v.Errorf(p.Key("escalate_to"), "escalate_to requires approvers")
	}
}

func plannedApprovals(a config.Approvals) plan.Approvers {
	out := plan.Approvers{Who: a.Approvers, NotOwn: a.ApproveOwn != nil && !*a.ApproveOwn, EscalateTo: a.EscalateTo}
	if n := value(a.ApprovalsNeeded); n > 1 {
		out.Needed = n
	}
	return out
}

func validateShell(s config.Shell, p path, v *validator) {
	for i, command := range s.Allow {
		if command == "" || strings.ContainsAny(command, " \t\r\n/") {
			v.Errorf(p.Key("allow").Index(i), "must be the bare name of a command, got %q", command)
		}
	}
	if !v.BuiltIn(p) {
		warnShell(s, p, v)
	}
}

// shell returns the shell's part of a plan, or nil unless it is enabled.
func (c *content) shell(s config.Shell) *plan.Shell {
	if !value(s.Enabled) {
		return nil
	}
	return &plan.Shell{
		Allow: s.Allow, AllOptions: s.AllowOptions == optionsAll, Timeout: s.Timeout, MaxOutput: value(s.MaxOutput),
		Dir: s.Dir, Risk: s.Risk, Confine: s.Confine, Offline: isOffline(s),
		Masking: plannedAlertMasking(c.Defaults.AlertMasking),
	}
}

// The values of allow_options.
const (
	optionsChecked = "checked"
	optionsAll     = "all"
)

// warnShell reports the dangers of the shell, and the limits that this host cannot enforce.
func warnShell(s config.Shell, p path, v *validator) {
	options := cmp.Or(s.AllowOptions, v.Defaults.Shell.AllowOptions)
	for i, command := range s.Allow {
		if command == "" || strings.ContainsAny(command, "/\\ ") {
			continue // it can never run, which is reported elsewhere
		}
		if _, known := programs.Find(command); !known {
			v.Add(config.SeverityWarning, p.Key("allow").Index(i), "Inquest does not know the command %s and cannot check its options, so "+
				"agents can use all of them (docs/reference/shell.md)", command)
			continue
		}
		text, open := programs.Warning(command, options == optionsAll)
		severity := config.SeverityWarning
		if open {
			severity = config.SeverityDanger
		}
		if text != "" {
			v.Add(severity, p.Key("allow").Index(i), "%s; allow only the commands that are needed (docs/reference/shell.md)", text)
		}
	}
	if err := sandbox.CheckFolder(s.Dir); s.Dir != "" && err != nil && !errors.Is(err, fs.ErrNotExist) {
		v.Add(config.SeverityDanger, p.Key("dir"), "commands are refused here: %v", err)
	}
	for key, err := range unkept(s) {
		v.Add(config.SeverityWarning, p.Key(key), "%v", err)
	}
}

// unkept returns the limits that this host cannot enforce, by key.
func unkept(s config.Shell) map[string]error {
	lacking := map[string]error{}
	if s.Confine == plan.ConfineIfPossible || s.Confine == plan.ConfineRequired {
		lacking["confine"] = sandbox.Confinement()
	}
	if isOffline(s) {
		lacking["network"] = sandbox.Offline()
	}
	maps.DeleteFunc(lacking, func(_ string, err error) bool { return err == nil })
	return lacking
}

func isOffline(s config.Shell) bool { return s.Network != nil && !*s.Network }

// Unkept returns the limits in a configuration's shells that this host cannot enforce. On such a host, commands run
// unconfined, or are refused if confinement is required.
func (c *Config) Unkept() (lacking []error) {
	shells := []config.Shell{c.Defaults.Shell}
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		shells = append(shells, c.Agents[name].Shell)
	}
	for _, s := range shells {
		for _, key := range slices.Sorted(maps.Keys(unkept(s))) {
			err := unkept(s)[key]
			if !slices.ContainsFunc(lacking, func(other error) bool { return other.Error() == err.Error() }) {
				lacking = append(lacking, err)
			}
		}
	}
	return lacking
}
