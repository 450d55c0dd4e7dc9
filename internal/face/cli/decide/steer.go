package decide

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/workflows"
)

// SteerCommands returns the commands that send signals.
func SteerCommands(c *base.CLI) (all []*cobra.Command) {
	for _, signal := range system.Signals {
		if signal.Help != "" {
			all = append(all, steerCommand(c, signal))
		}
	}
	return all
}

func steerCommand(c *base.CLI, signal system.Signal) *cobra.Command {
	var to system.Target
	cmd := &cobra.Command{
		Use: signal.Name + " ID", Short: signal.Help, Long: signal.Long, Example: signal.Example, Args: base.Exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			text := ""
			if signal.HasText() {
				if text, err = guidance(c, args[1]); err != nil {
					return err
				}
			}
			return steer(cmd.Context(), c, args[0], signal.Name, signal.Payload(text, to, base.UserName()))
		},
	}
	if signal.HasText() {
		cmd.Use, cmd.Args = cmd.Use+" TEXT", base.Exactly("ID", "TEXT")
	}
	if signal.HasTarget() {
		cmd.Flags().StringVar(&to.Agent, "agent", "", "only this agent")
		cmd.Flags().StringVar(&to.Stage, "stage", "", "only this stage (NAME#2 for the second run of a stage)")
	}
	cmd.Flags().BoolVar(&c.JSON, "json", false, "print the affected agents as JSON")
	return cmd
}

// guidance reads the argument TEXT.
func guidance(c *base.CLI, arg string) (string, error) {
	text, err := c.Text("TEXT", arg)
	switch {
	case err != nil:
		return "", err
	case strings.TrimSpace(text) == "":
		return "", base.Usagef("TEXT is empty")
	case len(text) > workflows.MaxGuide:
		return "", base.Usagef("TEXT has %d bytes; the maximum is %d", len(text), workflows.MaxGuide)
	}
	return text, nil
}

// steer sends a signal to a running investigation.
func steer(ctx context.Context, c *base.CLI, id, name string, in any) error {
	s, err := c.Client().Steer(ctx, id, name, in)
	out := struct {
		ID     string       `json:"id"`
		For    []string     `json:"for"`
		Signal bool         `json:"signal"` // no worker answered, so the signal waits for one
		Was    agent.Status `json:"was,omitempty"`
	}{s.ID, append([]string{}, s.For...), s.Signal, s.Was}
	return answered(ctx, c, err, name, statusCommand(id), out, steerLine(s, name))
}

// statusCommand is the command that shows what became of a request.
func statusCommand(id string) string { return "starter status " + command.ShellWord(id) }

func steerLine(s system.Steered, name string) string {
	line := s.ID + ": " + name + " accepted, "
	switch {
	case s.Signal:
		return fmt.Sprintf("%s sent to %s as a signal, because no worker is responding: run `starter status %s` later to see whether it arrived",
			name, s.ID, command.ShellWord(s.ID))
	case name == workflows.SignalPause && s.Was == agent.StatusPaused:
		return s.ID + ": already paused"
	case name == workflows.SignalResume && s.Was != "" && s.Was != agent.StatusPaused:
		return s.ID + ": was not paused"
	case len(s.For) > 0:
		return line + "for " + strings.Join(s.For, ", ")
	case name == workflows.SignalGuide:
		return line + "for the next agent that calls its model"
	}
	return line + "no agent is running now"
}

// NewResumeAll returns the command resume-all.
func NewResumeAll(c *base.CLI) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "resume-all",
		Short: "Resume all paused investigations and conversations",
		Long: `Resume all paused investigations and conversations, for example after worker --hold has paused them
following a restore (docs/how-to/back-up.md). To resume one of them, use starter resume ID.`,
		Example: "  starter resume-all",
		Args:    command.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return resumeAll(cmd.Context(), c) },
	}
	cmd.Flags().BoolVar(&c.JSON, "json", false, "print the affected agents as JSON, one value for each investigation and conversation")
	return cmd
}

// resumeAll resumes everything that needs a person, because the status of an investigation that is paused and waits for an approval
// shows only the approval, and all open conversations, which show no status.
func resumeAll(ctx context.Context, c *base.CLI) error {
	paused, err := c.Client().List(ctx, record.Filter{NeedsMe: true})
	if err != nil {
		return err
	}
	open, err := c.Client().Threads(ctx, "", 0)
	if err != nil {
		return err
	}
	var ids []string
	for _, r := range slices.Backward(paused.All) { // the oldest first
		ids = append(ids, r.ID)
	}
	for _, t := range slices.Backward(open) {
		ids = append(ids, t.Thread)
	}
	var failed []error
	for _, id := range ids {
		if err := steer(ctx, c, id, workflows.SignalResume, workflows.By{By: base.UserName()}); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", id, err))
		}
	}
	if len(ids) == 0 {
		c.Say("Nothing is paused.")
	}
	return errors.Join(failed...)
}

// NewCancel returns the command cancel.
func NewCancel(c *base.CLI) *cobra.Command {
	var wait bool
	cmd := &cobra.Command{
		Use:     "cancel ID",
		Short:   "Stop an investigation and keep its finished work",
		Example: "  starter cancel lab --wait",
		Args:    base.Exactly("ID"),
		RunE:    func(cmd *cobra.Command, args []string) error { return cancel(cmd.Context(), c, args[0], wait) },
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until the investigation has ended")
	cmd.Flags().BoolVar(&c.JSON, "json", false, "print the ID, and with --wait the status, as JSON")
	return cmd
}

func cancel(ctx context.Context, c *base.CLI, id string, wait bool) error {
	who, err := base.LocalIdentity()
	if err != nil {
		who = agent.Identity{} // the audit trail then names nobody
	}
	h, err := c.Client().CancelAs(ctx, id, who)
	if err != nil {
		return err
	}
	line, said := fmt.Sprintf("cancellation of %s requested", h.ID()), map[string]any{"id": h.ID()}
	if wait {
		out, err := base.Await(ctx, c, h)
		if err != nil {
			return err
		}
		line, said["status"] = fmt.Sprintf("%s: %s", h.ID(), out.Status), out.Status
	}
	if c.JSON {
		return c.PrintJSON(said)
	}
	return c.Print(line)
}

// answered prints the outcome of a request: out as JSON, or a line, or why there is none. look is the command that shows the current
// state.
func answered(ctx context.Context, c *base.CLI, err error, what, look string, out any, line string) error {
	out, line, err = outcome(ctx, err, what, look, out, line)
	switch {
	case line == "":
		return err
	case c.JSON:
		return errors.Join(c.PrintJSON(out), err)
	}
	return errors.Join(c.Print(terminal.CleanLine(line)), err)
}

// outcome returns what answered prints. An empty line means that there is only the error.
func outcome(ctx context.Context, err error, what, look string, out any, line string) (any, string, error) {
	why, _ := errors.AsType[*system.UpdateError](err)
	switch {
	case err == nil:
		return out, line, nil
	case why == nil:
		return nil, "", err
	case why.Kind == system.ErrPending: // accepted, without a result so far
		line = fmt.Sprintf("%s: the worker accepted %s but has not finished (perhaps the store is unavailable); do not repeat it: run `%s` "+
			"to check", why.Handle.ID(), what, look)
		out = struct {
			ID    string `json:"id"`
			Waits bool   `json:"waits"`
		}{why.Handle.Workflow, true}
		return out, line, ctx.Err()
	case why.Kind == system.ErrRefused:
		err = fmt.Errorf("%s was refused: %w", what, why.Err)
	case why.Kind == system.ErrTooLate:
		err = fmt.Errorf("%s came too late: the item is no longer pending", what)
	case why.Kind == system.ErrNotTaken:
		err = fmt.Errorf("no worker has accepted %s within %s; run `%s` to check", what, system.AcceptTimeout, look)
	default:
		err = fmt.Errorf("%s: %w", what, why.Err)
	}
	return nil, "", err
}
