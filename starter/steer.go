package main

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"strings"

	"github.com/spf13/cobra"
	"go.temporal.io/api/serviceerror"

	"github.com/inquest-dev/inquest/internal/terminal"
	"github.com/inquest-dev/inquest/workflows"
)

func (c *cli) guideCommand() *cobra.Command {
	guide := workflows.Guide{By: userName()}
	cmd := &cobra.Command{
		Use:   "guide ID TEXT",
		Short: "Put words before the agents' next model call",
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
			return c.steer(cmd.Context(), args[0], workflows.SignalGuide, guide)
		},
	}
	cmd.Flags().StringVar(&guide.Agent, "agent", "", "only for this agent")
	cmd.Flags().StringVar(&guide.Stage, "stage", "", "only for this stage (of a stage that runs again, NAME#2)")
	return cmd
}

func (c *cli) concludeCommand() *cobra.Command {
	conclude := workflows.Conclude{By: userName()}
	cmd := &cobra.Command{
		Use:   "conclude ID",
		Short: "Finish now, with what is known",
		Args:  exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.steer(cmd.Context(), args[0], workflows.SignalConclude, conclude)
		},
	}
	cmd.Flags().StringVar(&conclude.Agent, "agent", "", "only this agent, and not the whole investigation")
	cmd.Flags().StringVar(&conclude.Stage, "stage", "", "only this stage")
	return cmd
}

func (c *cli) pauseCommand() *cobra.Command {
	return c.plainSteer("pause ID", "Make no further model call until resume; running calls finish", workflows.SignalPause)
}

func (c *cli) resumeCommand() *cobra.Command {
	return c.plainSteer("resume ID", "Go on after a pause", workflows.SignalResume)
}

func (c *cli) plainSteer(use, short, name string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.steer(cmd.Context(), args[0], name, workflows.By{By: userName()})
		},
	}
}

// steer has an investigation that runs take in what people ask for. A worker that is
// there is asked to take it, and answers; without one, a signal waits for it. Never
// both: an update that nobody has answered may yet be taken.
func (c *cli) steer(ctx context.Context, id, name string, in any) error {
	conn, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	t, err := findRunning(ctx, conn, id)
	if err != nil {
		return err
	}
	if err := t.query(ctx, workflows.QueryStatus, new(workflows.Status)); err != nil {
		return c.signal(ctx, t, name, in)
	}
	var taken workflows.Taken
	done, err := c.send(ctx, t, request{name: name, what: name, look: "starter status", in: in}, &taken)
	if !done {
		return err
	}
	whom := "no agent is at work now"
	switch {
	case len(taken.For) > 0:
		whom = "for " + strings.Join(taken.For, ", ")
	case name == workflows.SignalGuide:
		whom = "for the next agent that asks its model"
	}
	_, err = fmt.Fprintln(c.out, terminal.CleanLine(fmt.Sprintf("%s: %s taken, %s", t.id(), name, whom)))
	return err
}

// signal leaves a signal with Temporal.
func (c *cli) signal(ctx context.Context, t target, name string, in any) error {
	sending, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := t.client.SignalWorkflow(sending, t.workflow, "", name, in)
	if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
		return fmt.Errorf("investigation %s has ended", t.id())
	}
	if err != nil {
		return fmt.Errorf("send %s to %s: %w", name, t.id(), err)
	}
	_, err = fmt.Fprintf(c.out, "%s sent to %s as a signal, since no worker answers now: `starter status %[2]s` will say if it comes to nothing\n",
		name, t.id())
	return err
}

// userName says who steers; it is shown to the agents.
func userName() string {
	me, err := user.Current()
	if err != nil {
		return ""
	}
	return me.Username
}
