package configure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/remote"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/kit/ratelimit"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/tool"
)

// toolRunFlags are the flags of the tool run command.
type toolRunFlags struct {
	agent, args string
	yes         bool
}

// NewToolRun returns the command tool run.
func NewToolRun(c *base.CLI) *cobra.Command {
	var f toolRunFlags
	cmd := &cobra.Command{
		Use:   "run NAME",
		Short: "Run one tool from here, under the policy of an agent",
		Long: `Run one tool from here, under the policy of an agent's definition: enabled and disabled
tools, access level, and limits on arguments, rate and time. Without --agent, the policy
allows all servers and uses tool_config and shell of the configuration's defaults, without
rate limits. If a call needs approval, because of the configuration or its risk, the
command asks on a terminal; elsewhere, add --yes. Calls made here appear in no transcript,
but the audit trail records them if there is a store.

Exit codes: 0 the tool succeeded, 1 the tool failed or the policy denied the call,
2 unknown tool, invalid arguments or a missing approval, 130 after Ctrl-C, which cancels the
call.`,
		Example: `  starter tool run incident.list_services
  starter tool run cluster.restart --args '{"pod":"db-1"}' --agent Mender --yes`,
		Args:              base.Exactly("NAME"),
		ValidArgsFunction: completeTools(c),
		RunE:              func(cmd *cobra.Command, args []string) error { return toolRun(cmd.Context(), c, args[0], f) },
	}
	c.ConfigFlag(cmd)
	set := cmd.Flags()
	set.StringVar(&f.args, "args", "{}", "the arguments, a JSON object: text, @file, or - for standard input")
	set.StringVar(&f.agent, "agent", "", "agent whose policy applies")
	set.BoolVar(&f.yes, "yes", false, "approve the call if it needs approval")
	set.BoolVar(&c.JSON, "json", false, "print status, result and error as JSON")
	_ = cmd.RegisterFlagCompletionFunc("agent", base.Complete(c, base.AgentNames))
	return cmd
}

func toolRun(ctx context.Context, c *base.CLI, name string, f toolRunFlags) error {
	args, err := c.Text("--args", f.args)
	if err != nil {
		return err
	}
	if r, ok := c.API(); ok {
		return toolRunThere(ctx, c, r, name, args, f)
	}
	cfg, err := c.LoadConfig()
	if err != nil {
		return err
	}
	box, err := c.Toolbox(ctx, cfg)
	if err != nil {
		return err
	}
	defer box.Close()
	call, err := box.Prepare(ctx, f.agent, name, args)
	if err != nil {
		return refused(c, err)
	}
	if err := approve(c, call, f); err != nil {
		return err
	}
	result, err := call.Make(ctx, base.Identity())
	if err != nil {
		return refused(c, err)
	}
	return ranTool(c, call.Spec.Name, result)
}

// toolRunThere runs a tool on the API's host.
func toolRunThere(ctx context.Context, c *base.CLI, r *remote.Client, name, args string, f toolRunFlags) error {
	if !json.Valid([]byte(args)) {
		return base.Usagef("--args is not valid JSON")
	}
	result, err := r.RunTool(ctx, name, f.agent, args, f.yes)
	if errors.Is(err, system.ErrNeedsApproval) {
		return base.Usagef("a call to %s needs approval: add --yes", name)
	}
	if err != nil {
		return refused(c, err)
	}
	return ranTool(c, name, result)
}

// ranTool prints the result of a call.
func ranTool(c *base.CLI, name string, result tool.Result) error {
	err := printResult(c, result)
	if result.Status == tool.StatusError {
		err = errors.Join(err, fmt.Errorf("%s failed (%s)", name, result.ErrorType))
	}
	return err
}

// approve asks the user to approve a call that needs approval.
func approve(c *base.CLI, call base.ToolCall, f toolRunFlags) error {
	name := call.Spec.Name
	if !call.NeedsApproval {
		return nil
	}
	if err := call.MayApprove(base.Identity()); err != nil || f.yes {
		return err
	}
	if file, ok := c.In.(*os.File); f.args == "-" || !ok || !terminal.IsTerminal(file) {
		return base.Usagef("a call to %s needs approval (risk %s): add --yes", name, call.Spec.Risk)
	}
	if c.SaysYes(fmt.Sprintf("Call %s %s (risk %s)?", terminal.CleanLine(reveal.Name(name)),
		terminal.CleanLine(reveal.JSON(string(call.Arguments))), call.Spec.Risk)) {
		return nil
	}
	return fmt.Errorf("the call to %s was not approved and was not made", name)
}

// ran is the JSON output of tool run.
type ran struct {
	Status    string          `json:"status"` // success, error or denied
	Result    string          `json:"result,omitempty"`
	Error     *ranError       `json:"error,omitempty"`
	Artifacts []tool.Artifact `json:"artifacts,omitempty"` // parts of the result other than text
}

type ranError struct {
	Type    string `json:"error_type"`
	Message string `json:"message"`
	agent.Fault
}

// statusDenied is the status of a call that the policy forbids, permanently or at the moment.
const statusDenied = "denied"

// refused prints why a call was not made, in JSON mode, and distinguishes forbidden calls from malformed ones.
func refused(c *base.CLI, err error) error {
	out := ran{Status: statusDenied}
	refusal, _ := errors.AsType[*tool.Refusal](err)
	limited, _ := errors.AsType[*ratelimit.Error](err)
	switch {
	case refusal != nil:
		out.Error = &ranError{Type: refusal.Type, Message: refusal.Message, Fault: refusal.Result().Fault}
	case limited != nil:
		fault := agent.Fault{Recoverable: true, RetryAfter: limited.RetryAfter.Seconds()}
		out.Error = &ranError{Type: tool.ErrorRateLimited, Message: limited.Error(), Fault: fault}
	default:
		return toolError(err)
	}
	switch out.Error.Type {
	case tool.ErrorUnknownTool:
		out.Status, err = string(tool.StatusError), base.Usagef("%w Run `starter tools` to list them.", err)
	case tool.ErrorInvalidArguments:
		out.Status, err = string(tool.StatusError), base.Usagef("%w", err)
	}
	if c.JSON {
		err = errors.Join(c.PrintJSON(out), err)
	}
	return err
}

func printResult(c *base.CLI, r tool.Result) error {
	if !c.JSON {
		_, err := fmt.Fprintln(c.Out, strings.TrimSuffix(terminal.Clean(r.Content), "\n"))
		return err
	}
	out := ran{Status: string(r.Status), Result: r.Content, Artifacts: r.Artifacts}
	if r.Status == tool.StatusError {
		out.Result, out.Error = "", &ranError{Type: r.ErrorType, Message: r.Content, Fault: r.Fault}
	}
	return c.PrintJSON(out)
}
