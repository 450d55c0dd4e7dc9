package start

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/kit/spell"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
)

// requestFlags are the flags of run and rerun. Repeatable flags are kept as written.
type requestFlags struct {
	meta, mcp, native, budgets []string
	detach                     bool
}

// flags declares the flags that run and rerun share.
func (f *requestFlags) flags(c *base.CLI, cmd *cobra.Command, s *system.Start) {
	set := cmd.Flags()
	set.StringVar(&s.Workflow, "workflow-id", "", "workflow ID (default: the chain or alert type and 8 random characters)")
	set.BoolVar(&f.detach, "detach", false, "print the workflow ID and do not wait")
	set.StringVar(&s.Request.Session, "session", "", "session of the investigation, for list --session")
	f.common(c, cmd, s)
}

// target declares the flags that select what runs.
func (f *requestFlags) target(cmd *cobra.Command, s *system.Start) {
	set := cmd.Flags()
	set.StringVar(&s.Request.Chain, "chain", "", "chain to run")
	set.StringVar(&s.Request.AlertType, "alert-type", "", "alert type, which selects the chain")
	set.StringVar(&s.Data, "data", "", "what to investigate: text, @file, or - for standard input")
	set.BoolVar(&s.Request.AllowEmpty, "allow-empty", false, "start without data, if the chain needs none")
	set.BoolVar(&s.Request.UseMock, "mock", false, "replace agents with the mocks defined in the configuration")
}

// common declares the flags of everything that starts investigations.
func (f *requestFlags) common(c *base.CLI, cmd *cobra.Command, s *system.Start) {
	set, req := cmd.Flags(), &s.Request
	set.StringVar(&req.Provider, "provider", "", `model for every agent: an llm_providers entry or "provider:model"`)
	set.StringVar(&req.Runbook, "runbook", "", "runbook to use instead of the chain's: text, @file or an https URL")
	set.StringVar(&req.By, "by", base.UserName(), "name of the requester")
	set.StringVar(&req.Project, "project", "",
		"project of the investigation (default: "+agent.DefaultProject+"; rerun: the earlier investigation's)")
	set.StringVar(&req.Tenant, "tenant", "", "tenant of the investigation; tenants share capacity if Temporal's fairness is enabled")
	set.IntVar(&req.Priority, "priority", 0, "priority from 1 (first) to 5 (default: Temporal's, 3)")
	set.StringArrayVar(&f.meta, "meta", nil, "metadata KEY=VALUE, for list --meta, prompts and hooks; may be repeated")
	set.StringArrayVar(&f.mcp, "mcp", nil,
		"SERVER or SERVER=TOOL,TOOL: limit agents to this configured MCP server, or to the given tools of it; may be repeated")
	set.StringArrayVar(&f.native, "native-tool", nil, "NAME=on or NAME=off, for a native tool of Gemini models; may be repeated")
	set.StringArrayVar(&f.budgets, "budget", nil, "KEY=VALUE, a limit instead of the chain's; higher ones only if requests.budgets allows "+
		"them: "+strings.Join(agent.BudgetKeys, ", ")+"; may be repeated")
	nativeTools := slices.Sorted(maps.Keys(new(agent.NativeTools).Named()))
	const more = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	for flag, words := range map[string][]string{
		"budget": suffixed(agent.BudgetKeys, "="), "native-tool": suffixed(nativeTools, "=on", "=off"), "priority": {"1", "2", "3", "4", "5"},
	} {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, more))
	}
	servers := func(cfg *configuration.Config) []string { return slices.Sorted(maps.Keys(cfg.MCPServers)) }
	_ = cmd.RegisterFlagCompletionFunc("mcp", base.Complete(c, servers))
}

func suffixed(words []string, ends ...string) (out []string) {
	for _, word := range words {
		for _, end := range ends {
			out = append(out, word+end)
		}
	}
	return out
}

// read applies the flags to the request. They replace existing values.
func (f *requestFlags) read(req *agent.Request) (err error) {
	if len(f.meta) > 0 {
		if req.Metadata, err = base.Pairs("--meta", f.meta); err != nil {
			return err
		}
	}
	if len(f.mcp) > 0 {
		req.MCP.Servers = nil
	}
	for _, one := range f.mcp {
		name, tools, some := strings.Cut(one, "=")
		server := agent.MCPServer{Name: name}
		if some {
			server.Tools = strings.Split(tools, ",")
		}
		req.MCP.Servers = append(req.MCP.Servers, server)
	}
	if err := f.nativeTools(req); err != nil || len(f.budgets) == 0 {
		return err
	}
	given, err := base.Pairs("--budget", f.budgets)
	if err != nil {
		return err
	}
	fields := map[string]json.RawMessage{}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		value := given[key]
		if !slices.Contains(agent.BudgetKeys, key) {
			return base.Usagef("--budget: unknown key %q%s (available: %s)",
				key, spell.DidYouMean(key, agent.BudgetKeys), strings.Join(agent.BudgetKeys, ", "))
		}
		n, err := strconv.ParseFloat(value, 64)
		if value == "" || err == nil && n == 0 {
			return base.Usagef("--budget %s=%s sets no limit: give more than 0, or omit it", key, value)
		}
		if fields[key] = json.RawMessage(value); key == "max_duration" || err != nil {
			fields[key], _ = json.Marshal(value)
		}
	}
	body, _ := json.Marshal(fields)
	if json.Unmarshal(body, &req.Budgets) != nil {
		return base.Usagef("--budget %s: the value must be a number, or a duration such as 30m for max_duration", strings.Join(f.budgets, " "))
	}
	return nil
}

func (f *requestFlags) nativeTools(req *agent.Request) error {
	given, err := base.Pairs("--native-tool", f.native)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		state := given[name]
		if state != "on" && state != "off" {
			return base.Usagef("--native-tool %s=%s: expected NAME=on or NAME=off", name, state)
		}
		if err := req.MCP.NativeTools.Set(name, state == "on"); err != nil {
			return base.Usagef("--native-tool: %v", err)
		}
	}
	return nil
}

// keep copies the labels and options of an earlier request, except for those that flags have changed.
func keep(req *agent.Request, was record.Investigation, changed func(flag string) bool) {
	labels := was.Labels
	labels.Fingerprint = ""
	if was.Envelope.Schedule != nil { // its session is for what the schedule itself starts
		labels.Session = ""
	}
	if changed("project") {
		labels.Project = req.Project
	}
	if changed("tenant") {
		labels.Tenant = req.Tenant
	}
	if changed("session") {
		labels.Session = req.Session
	}
	if changed("priority") {
		labels.Priority = req.Priority
	}
	req.Labels, req.Overrides = labels, was.Overrides
}
