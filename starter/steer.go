package main

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"strings"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/terminal"
	"github.com/inquest-dev/inquest/workflows"
)

func guideCommand(c *cli) *cobra.Command {
	guide := workflows.Guide{By: userName()}
	cmd := &cobra.Command{
		Use:   "guide ID TEXT",
		Short: "Put words before the agents' next model call",
		Example: `  starter guide lab "look at the deploy of 14:02 first"
  starter guide lab @notes.md --agent LogAgent`,
		Long: `Put words before the agents' next model call. TEXT is a text, @file, or - for
standard input. Without --agent and --stage it is for all agents that run now, else
the next.`,
		Args: exactly("ID", "TEXT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := c.text("TEXT", args[1])
			if err != nil {
				return err
			}
			if strings.TrimSpace(text) == "" {
				return usagef("TEXT is empty")
			}
			if len(text) > workflows.MaxGuide {
				return usagef("TEXT is %d bytes; guidance may have %d", len(text), workflows.MaxGuide)
			}
			guide.Text = text
			return steer(cmd.Context(), c, args[0], workflows.SignalGuide, guide)
		},
	}
	cmd.Flags().StringVar(&guide.Agent, "agent", "", "only for this agent")
	cmd.Flags().StringVar(&guide.Stage, "stage", "", "only for this stage (of a stage that runs again, NAME#2)")
	c.steerFlags(cmd)
	return cmd
}

func concludeCommand(c *cli) *cobra.Command {
	conclude := workflows.Conclude{By: userName()}
	cmd := &cobra.Command{
		Use:   "conclude ID",
		Short: "Finish now, with what is known",
		Example: `  starter conclude lab
  starter conclude lab --agent LogAgent`,
		Args: exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return steer(cmd.Context(), c, args[0], workflows.SignalConclude, conclude)
		},
	}
	cmd.Flags().StringVar(&conclude.Agent, "agent", "", "only this agent, and not the whole investigation")
	cmd.Flags().StringVar(&conclude.Stage, "stage", "", "only this stage")
	c.steerFlags(cmd)
	return cmd
}

// plainSteer returns a command that sends a signal with only the sender's name.
func plainSteer(c *cli, verb, short, name string) *cobra.Command {
	cmd := &cobra.Command{
		Use: verb + " ID", Short: short, Args: exactly("ID"), Example: "  starter " + verb + " lab",
		RunE: func(cmd *cobra.Command, args []string) error {
			return steer(cmd.Context(), c, args[0], name, workflows.By{By: userName()})
		},
	}
	c.steerFlags(cmd)
	return cmd
}

// steerFlags adds the flags that all signal commands share.
func (c *cli) steerFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.json, "json", false, "print whom it is for as JSON")
}

// steer sends a signal to a running investigation.
func steer(ctx context.Context, c *cli, id, name string, in any) error {
	s, err := c.client().Steer(ctx, id, name, in)
	out := struct {
		ID     string       `json:"id"`
		For    []string     `json:"for"`
		Signal bool         `json:"signal"` // no worker answered, so the signal waits for one
		Was    agent.Status `json:"was,omitempty"`
	}{s.ID(), append([]string{}, s.For...), s.Left, s.Was}
	return answered(ctx, c, err, name, "starter status", out, steerLine(s, name))
}

func steerLine(s client.Steered, name string) string {
	line := s.ID() + ": " + name + " taken, "
	switch {
	case s.Left:
		return fmt.Sprintf("%s sent to %s as a signal, since no worker answers now: `starter status %s` will say if it comes to nothing",
			name, s.ID(), command.ShellWord(s.ID()))
	case name == workflows.SignalPause && s.Was == agent.StatusPaused:
		return s.ID() + ": was paused already"
	case name == workflows.SignalResume && s.Was != "" && s.Was != agent.StatusPaused:
		return s.ID() + ": was not paused"
	case len(s.For) > 0:
		return line + "for " + strings.Join(s.For, ", ")
	case name == workflows.SignalGuide:
		return line + "for the next agent that asks its model"
	}
	return line + "no agent is at work now"
}

// userName returns the name of the user who steers. Agents see it.
func userName() string {
	me, err := user.Current()
	if err != nil {
		return ""
	}
	return me.Username
}

func cancelCommand(c *cli) *cobra.Command {
	var wait bool
	cmd := &cobra.Command{
		Use:     "cancel ID",
		Short:   "Stop an investigation; what it has finished is kept",
		Example: "  starter cancel lab --wait",
		Args:    exactly("ID"),
		RunE:    func(cmd *cobra.Command, args []string) error { return cancel(cmd.Context(), c, args[0], wait) },
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until it has ended")
	cmd.Flags().BoolVar(&c.json, "json", false, "print the id, and with --wait the status, as JSON")
	return cmd
}

func cancel(ctx context.Context, c *cli, id string, wait bool) error {
	who, err := client.LocalIdentity()
	if err != nil {
		who = client.Identity{} // the audit log then names nobody
	}
	h, err := c.client().CancelAs(ctx, id, who)
	if err != nil {
		return err
	}
	line, said := fmt.Sprintf("cancellation of %s asked for", h.ID()), map[string]any{"id": h.ID()}
	if wait {
		out, err := await(ctx, c, h)
		if err != nil {
			return err
		}
		line, said["status"] = fmt.Sprintf("%s: %s", h.ID(), out.Status), out.Status
	}
	if c.json {
		return c.printJSON(said)
	}
	return c.print(line)
}

// answered prints the outcome of a request: out as JSON, or a line, or why there is none. look is the command that shows the current
// state.
func answered(ctx context.Context, c *cli, err error, what, look string, out any, line string) error {
	out, line, err = outcome(ctx, err, what, look, out, line)
	switch {
	case line == "":
		return err
	case c.json:
		return errors.Join(c.printJSON(out), err)
	}
	return errors.Join(c.print(terminal.CleanLine(line)), err)
}

// outcome returns what answered prints. An empty line means that there is only the error.
func outcome(ctx context.Context, err error, what, look string, out any, line string) (any, string, error) {
	why, _ := errors.AsType[*client.UpdateError](err)
	switch {
	case err == nil:
		return out, line, nil
	case why == nil:
		return nil, "", err
	case why.Kind == client.ErrPending: // accepted, without a result so far
		line = fmt.Sprintf("%s: %s is taken by the worker, which waits (for the store, it may be); do not repeat it: `%s` says how things stand",
			why.Handle.ID(), what, look)
		out = struct {
			ID    string `json:"id"`
			Waits bool   `json:"waits"`
		}{why.Handle.Workflow, true}
		return out, line, ctx.Err()
	case why.Kind == client.ErrRefused:
		err = fmt.Errorf("%s was refused: %w", what, why.Err)
	case why.Kind == client.ErrTooLate:
		err = fmt.Errorf("%s comes too late: nobody waits for it any more", what)
	case why.Kind == client.ErrNotTaken:
		err = fmt.Errorf("no worker has taken %s within %s; `%s` says how things stand", what, client.CallTimeout, look)
	default:
		err = fmt.Errorf("%s: %w", what, why.Err)
	}
	return nil, "", err
}
