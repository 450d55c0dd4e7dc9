package builtin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/tool"
)

// Limits of every shell, and what it is limited to where the configuration
// leaves that open.
const (
	defaultTimeout   = 30 * time.Second
	defaultMaxOutput = 64 << 10 // bytes
	maxCommand       = 64 << 10 // bytes; the system's own limit is not far above
)

// shellSchema describes the arguments of the shell.
const shellSchema = `{"type":"object","properties":{"command":{"type":"string","description":"The command line to run with sh -c"}},"required":["command"]}`

// Shell is the tool that runs commands, within the limits (spec: agents,
// "shell"). Commands run with sh -c in limits.Dir, which is also their home;
// without one they run in the directory for temporary files, because the
// worker's own may hold its configuration. They see none of the worker's
// environment but PATH, LANG and TZ, and nothing that they start in their
// process group outlives them.
//
// An allow-list is about names: a program on it that starts others (env, find,
// xargs, awk, sh) opens the door to all.
func Shell(limits agent.Shell) Tool {
	limits.Timeout = cmp.Or(limits.Timeout, agent.Duration(defaultTimeout))
	limits.MaxOutput = cmp.Or(limits.MaxOutput, defaultMaxOutput)
	limits.Dir = cmp.Or(limits.Dir, os.TempDir())
	return Tool{
		Spec: tool.Spec{
			Name:        agent.ToolShell,
			Description: describe(limits),
			Schema:      json.RawMessage(shellSchema),
			Risk:        cmp.Or(limits.Risk, agent.RiskWrite),
			RiskFrom:    tool.SourceConfiguration,
		},
		Run: shell{limits}.run,
	}
}

func describe(limits agent.Shell) string {
	text := fmt.Sprintf("Runs a command line with sh -c and returns what it prints. It may take %s and print %d bytes; it gets no input.", limits.Timeout, limits.MaxOutput)
	if len(limits.Allow) == 0 {
		return text
	}
	allow := slices.Compact(slices.Sorted(slices.Values(limits.Allow)))
	return text + fmt.Sprintf(" Only these commands are allowed: %s. Pipes, lists, conditions, loops and $(…) are; "+
		"assignments, functions, arithmetic, here-documents and output to files are not.", strings.Join(allow, ", "))
}

type shell struct{ limits agent.Shell }

func (s shell) run(ctx context.Context, call tool.Call) tool.Result {
	command, refusal := parseCommand(call.Arguments)
	if refusal != nil {
		return *refusal
	}
	if len(s.limits.Allow) > 0 {
		checked, err := allowed(s.limits.Allow, command)
		if err != nil {
			return tool.Failure(tool.ErrorPermissionDenied, "Command refused: "+tool.ValidText(err.Error()))
		}
		command = guard + checked
	}
	ctx, cancel := context.WithTimeout(ctx, s.limits.Timeout.D())
	defer cancel()
	out := &output{limit: s.limits.MaxOutput}
	err := execute(ctx, command, s.limits.Dir, out)
	return s.result(ctx, out, err)
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
		refusal := tool.Failure(tool.ErrorInvalidArguments, fmt.Sprintf("Error: a command has at most %d bytes and no NUL character", maxCommand))
		return "", &refusal
	}
	return *in.Command, nil
}

// result words what came of the command. A ctx that ended comes first: the exit
// code is then only that of our own kill.
func (s shell) result(ctx context.Context, out *output, err error) tool.Result {
	code, exited := exitCode(err)
	switch {
	case err != nil && ctx.Err() == context.DeadlineExceeded:
		return tool.Failure(tool.ErrorTimeout, headed(fmt.Sprintf("Command timed out after %s:", s.limits.Timeout), out.String()))
	case err != nil && ctx.Err() != nil:
		return tool.Failure(tool.ErrorOutcomeUnknown, headed("Command was interrupted:", out.String()))
	case !exited:
		return tool.Failure(tool.ErrorUnavailable, "Command could not be run: "+err.Error())
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
