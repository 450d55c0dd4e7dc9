package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/api"
	"github.com/inquest-dev/inquest/internal/app"
	"github.com/inquest-dev/inquest/internal/reveal"
	"github.com/inquest-dev/inquest/internal/terminal"
	"github.com/inquest-dev/inquest/internal/tool"
)

// toolRunFlags are the flags of the tool run command.
type toolRunFlags struct {
	agent, args string
	yes         bool
}

func toolRunCommand(c *cli) *cobra.Command {
	var f toolRunFlags
	cmd := &cobra.Command{
		Use:   "run NAME",
		Short: "Run one tool, from here, by the policy of an agent",
		Long: `Run one tool, from here, by the policy of an agent's definition: what is enabled and
disabled, access level, limits of arguments, rate and time. Without --agent, it is
that of nobody in particular: all servers, and of the configuration's defaults
tool_config and shell; there are no rate limits. A call that needs approval, as
configured or by its risk, asks on a terminal, or needs --yes. Calls made here are
in no transcript; the audit trail of the store has them.

Exit codes: 0 the tool succeeded, 1 it failed or the policy denied the call, 2 there
is no such tool or the arguments are not valid, 130 after Ctrl-C, which cancels it.`,
		Example: `  starter tool run incident.list_services
  starter tool run cluster.restart --args '{"pod":"db-1"}' --agent Mender --yes`,
		Args:              exactly("NAME"),
		ValidArgsFunction: completeTools(c),
		RunE:              func(cmd *cobra.Command, args []string) error { return toolRun(cmd.Context(), c, args[0], f) },
	}
	c.configFlag(cmd)
	set := cmd.Flags()
	set.StringVar(&f.args, "args", "{}", "the arguments, a JSON object: a text, @file, or - for standard input")
	set.StringVar(&f.agent, "agent", "", "agent whose policy applies")
	set.BoolVar(&f.yes, "yes", false, "approve the call if it needs that")
	set.BoolVar(&c.json, "json", false, "print status, result and error as JSON")
	_ = cmd.RegisterFlagCompletionFunc("agent", complete(c, agentNames))
	return cmd
}

func toolRun(ctx context.Context, c *cli, name string, f toolRunFlags) error {
	args, err := c.text("--args", f.args)
	if err != nil {
		return err
	}
	if r, ok := c.api(); ok {
		return c.toolRunThere(ctx, r, name, args, f)
	}
	cfg, err := c.loadConfig()
	if err != nil {
		return err
	}
	box, err := toolbox(ctx, c, cfg)
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
	result, err := call.Make(ctx, identity())
	if err != nil {
		return refused(c, err)
	}
	return ranTool(c, call.Spec.Name, result)
}

// toolRunThere runs a tool on the API's host.
func (c *cli) toolRunThere(ctx context.Context, r *api.Remote, name, args string, f toolRunFlags) error {
	if !json.Valid([]byte(args)) {
		return usagef("--args is not JSON")
	}
	result, err := r.RunTool(ctx, name, f.agent, args, f.yes)
	if errors.Is(err, api.ErrNeedsApproval) {
		return usagef("a call of %s needs approval: add --yes", name)
	}
	if err != nil {
		return refused(c, err)
	}
	return ranTool(c, name, result)
}

// ranTool prints the result of a call.
func ranTool(c *cli, name string, result tool.Result) error {
	err := printResult(c, result)
	if result.Status == tool.StatusError {
		err = errors.Join(err, fmt.Errorf("%s failed (%s)", name, result.ErrorType))
	}
	return err
}

// approve asks the user to approve a call that needs approval.
func approve(c *cli, call *app.ToolCall, f toolRunFlags) error {
	name := call.Spec.Name
	if !call.NeedsApproval {
		return nil
	}
	if err := call.MayApprove(identity()); err != nil || f.yes {
		return err
	}
	if file, ok := c.in.(*os.File); f.args == "-" || !ok || !terminal.IsTerminal(file) {
		return usagef("a call of %s needs approval (risk %s): add --yes", name, call.Spec.Risk)
	}
	if c.saysYes(fmt.Sprintf("Call %s %s (risk %s)?", terminal.CleanLine(reveal.Name(name)),
		terminal.CleanLine(reveal.JSON(string(call.Arguments))), call.Spec.Risk)) {
		return nil
	}
	return fmt.Errorf("the call of %s was not approved, and not made", name)
}

// saysYes asks a question and reports whether the answer is yes. The answer must be a complete line.
func (c *cli) saysYes(question string) bool {
	fmt.Fprint(c.err, question+" [y/N] ")
	line, err := bufio.NewReader(c.in).ReadString('\n')
	answer := strings.ToLower(strings.TrimSpace(line))
	return err == nil && (answer == "y" || answer == "yes")
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
func refused(c *cli, err error) error {
	out := ran{Status: statusDenied}
	refusal, _ := errors.AsType[*tool.Refusal](err)
	limited, _ := errors.AsType[*app.RateLimitError](err)
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
		out.Status, err = string(tool.StatusError), usagef("%w `starter tools` lists them.", err)
	case tool.ErrorInvalidArguments:
		out.Status, err = string(tool.StatusError), usagef("%w", err)
	}
	if c.json {
		err = errors.Join(c.printJSON(out), err)
	}
	return err
}

func printResult(c *cli, r tool.Result) error {
	if !c.json {
		_, err := fmt.Fprintln(c.out, strings.TrimSuffix(terminal.Clean(r.Content), "\n"))
		return err
	}
	out := ran{Status: string(r.Status), Result: r.Content, Artifacts: r.Artifacts}
	if r.Status == tool.StatusError {
		out.Result, out.Error = "", &ranError{Type: r.ErrorType, Message: r.Content, Fault: r.Fault}
	}
	return c.printJSON(out)
}
