package builtin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/trust/sandbox"
)

// Limits of every shell, and the defaults of limits that the configuration does not set.
const (
	defaultTimeout   = 30 * time.Second
	defaultMaxOutput = 64 << 10 // bytes
	maxCommand       = 64 << 10 // bytes; not far below the system's own limit
)

// shellSchema describes the arguments of the shell.
const shellSchema = `{"type":"object","properties":{"command":{"type":"string",` +
	`"description":"The command line to run with sh -c"}},"required":["command"]}`

// Shell returns the tool that runs commands, within the limits (spec: agents, "shell"). Commands run with sh -c in
// limits.Dir, which is also their home. Without it, each command runs in a new directory that is removed afterwards.
// Commands see only PATH, LANG and TZ of the worker's environment, and none of their processes outlives them.
//
// keeper is the command line that makes this program the keeper of a command (sandbox.Keep), where that is possible.
// Without a keeper, processes that leave a command's process group outlive it.
//
// An allow-list restricts names, and the options of programs that package programs knows. The options of other programs
// are not checked.
func Shell(limits plan.Shell, keeper ...string) Tool {
	limits.Timeout = cmp.Or(limits.Timeout, plan.Duration(defaultTimeout))
	limits.MaxOutput = cmp.Or(limits.MaxOutput, defaultMaxOutput)
	return Tool{
		Spec: tool.Spec{
			Name:        agent.ToolShell,
			Description: describe(limits),
			Schema:      json.RawMessage(shellSchema),
			Risk:        cmp.Or(limits.Risk, agent.RiskWrite),
			RiskFrom:    tool.SourceConfiguration,
		},
		Run: shell{limits, keeper}.run,
	}
}

func describe(limits plan.Shell) string {
	text := fmt.Sprintf("Runs a command line with sh -c and returns its output. Limits: %s and %d bytes of output. Standard input is empty.",
		limits.Timeout, limits.MaxOutput)
	if limits.Dir == "" {
		text += " The command starts in a new, empty directory, which is removed afterwards."
	}
	if r, err := rulesOf(limits, "its folder"); err == nil && r.Write != "" {
		text += " The command can write only to its directory."
	}
	if limits.Offline {
		text += " The command has no network access."
	}
	if len(limits.Allow) == 0 {
		return text
	}
	allow := slices.Compact(slices.Sorted(slices.Values(limits.Allow)))
	text += fmt.Sprintf(" Only these commands are allowed: %s. You can use pipes, lists, conditions, loops and $(…), but not "+
		"assignments, functions, arithmetic, here-documents or output to files.", strings.Join(allow, ", "))
	if !limits.AllOptions {
		text += " Options that start programs or write files are not allowed either."
	}
	return text
}

type shell struct {
	limits plan.Shell
	keeper []string
}

func (s shell) run(ctx context.Context, call tool.Call) tool.Result {
	command, refusal := parseCommand(call.Arguments)
	if refusal != nil {
		return *refusal
	}
	if len(s.limits.Allow) > 0 {
		names := list{s.limits.Allow, s.limits.AllOptions}
		checked, err := names.allowed(command)
		if err != nil {
			return tool.Failure(tool.ErrorPermissionDenied, "Command refused: "+tool.ValidText(err.Error()))
		}
		command = names.guarded(checked)
	}
	dir, remove, err := openFolder(s.limits.Dir)
	if err != nil {
		return unavailable(err)
	}
	defer remove()
	rules, err := rulesOf(s.limits, dir)
	if err != nil {
		return unavailable(err)
	}
	ctx, cancel := context.WithTimeout(ctx, s.limits.Timeout.D())
	defer cancel()
	out := &output{limit: s.limits.MaxOutput}
	err = job{line: command, dir: dir, rules: rules, keeper: s.keeper}.execute(ctx, out)
	return s.result(ctx, out, err)
}

func unavailable(err error) tool.Result {
	return tool.Failure(tool.ErrorUnavailable, "Command could not be run: "+err.Error())
}

// rulesOf returns the rules of a command that runs in dir. The error says which rule cannot be enforced on this host.
func rulesOf(limits plan.Shell, dir string) (r sandbox.Rules, err error) {
	r.Offline = limits.Offline
	switch limits.Confine {
	case plan.ConfineRequired:
		r.Write = dir
	case plan.ConfineIfPossible:
		if sandbox.Confinement() == nil {
			r.Write = dir
		}
	}
	return r, r.Check()
}

func parseCommand(args json.RawMessage) (string, *tool.Result) {
	var in struct {
		Command *string `json:"command"`
	}
	if len(args) > 0 {
		if err := json.Unmarshal(args, &in); err != nil {
			refusal := tool.Failure(tool.ErrorInvalidArguments, "Error: "+err.Error())
			return "", &refusal
		}
	}
	if in.Command == nil || strings.TrimSpace(*in.Command) == "" {
		refusal := tool.Failure(tool.ErrorInvalidArguments, "Error: missing required parameter 'command'")
		return "", &refusal
	}
	if len(*in.Command) > maxCommand || strings.ContainsRune(*in.Command, 0) {
		refusal := tool.Failure(tool.ErrorInvalidArguments,
			fmt.Sprintf("Error: a command must have at most %d bytes and no NUL character", maxCommand))
		return "", &refusal
	}
	return *in.Command, nil
}

// result describes the result of the command. The end of ctx takes precedence, because the exit code then only comes
// from our own kill.
func (s shell) result(ctx context.Context, out *output, err error) tool.Result {
	code, exited := sandbox.ExitCode(err)
	switch {
	case err != nil && ctx.Err() == context.DeadlineExceeded:
		return tool.Failure(tool.ErrorTimeout, headed(fmt.Sprintf("Command timed out after %s:", s.limits.Timeout), out.String()))
	case err != nil && ctx.Err() != nil:
		return tool.Failure(tool.ErrorOutcomeUnknown, headed("Command was interrupted:", out.String()))
	case !exited:
		return unavailable(err)
	case code != 0:
		return tool.Failure(tool.ErrorTool, headed(fmt.Sprintf("Command failed with exit code %d:", code), out.String()))
	case out.total == 0:
		return tool.Success("Command executed successfully (no output)")
	}
	return tool.Success(out.String())
}

func headed(head, text string) string {
	if text == "" {
		return head
	}
	return head + "\n" + text
}
