package main

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"strings"

	"github.com/spf13/cobra"
	"go.temporal.io/api/serviceerror"

	"github.com/inquest-dev/inquest/workflows"
)

func (c *cli) guideCommand() *cobra.Command {
	var agentName string
	cmd := &cobra.Command{
		Use:   "guide ID TEXT",
		Short: "Put words before the agents' next model call",
		Long: `Put words before the agents' next model call. TEXT is a text, @file, or - for
standard input. Without --agent it is for all agents that run now, else the next.`,
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
			guide := workflows.Guide{Text: text, Agent: agentName, By: userName()}
			return c.signal(cmd.Context(), args[0], workflows.SignalGuide, guide)
		},
	}
	cmd.Flags().StringVar(&agentName, "agent", "", "only for this agent")
	return cmd
}

func (c *cli) concludeCommand() *cobra.Command {
	var agentName string
	cmd := &cobra.Command{
		Use:   "conclude ID",
		Short: "Finish now, with what is known",
		Args:  exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.signal(cmd.Context(), args[0], workflows.SignalConclude, workflows.Conclude{Agent: agentName, By: userName()})
		},
	}
	cmd.Flags().StringVar(&agentName, "agent", "", "only this agent, and not the whole investigation")
	return cmd
}

func (c *cli) pauseCommand() *cobra.Command {
	return c.plainSignal("pause ID", "Make no further model call until resume; running calls finish", workflows.SignalPause)
}

func (c *cli) resumeCommand() *cobra.Command {
	return c.plainSignal("resume ID", "Go on after a pause", workflows.SignalResume)
}

func (c *cli) plainSignal(use, short, name string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.signal(cmd.Context(), args[0], name, nil) },
	}
}

// signal sends a signal to an investigation that runs, and says if it found nobody.
func (c *cli) signal(ctx context.Context, id, name string, payload any) error {
	conn, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	t, err := findRunning(ctx, conn, id)
	if err != nil {
		return err
	}
	before := t.undelivered(ctx)
	sending, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err = conn.SignalWorkflow(sending, t.workflow, "", name, payload)
	if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
		return fmt.Errorf("investigation %s has ended", t.id())
	}
	if err != nil {
		return fmt.Errorf("send %s to %s: %w", name, t.id(), err)
	}
	if after := t.undelivered(ctx); len(after) > len(before) {
		return fmt.Errorf("not delivered: %s", strings.Join(after[len(before):], "; "))
	}
	_, err = fmt.Fprintf(c.out, "%s sent to %s\n", name, t.id())
	return err
}

// undelivered is what found nobody so far. Without a worker nobody knows: none.
func (t target) undelivered(ctx context.Context) []string {
	var status workflows.Status
	if t.query(ctx, workflows.QueryStatus, &status) != nil {
		return nil
	}
	return status.Undelivered
}

// userName says who steers; it is shown to the agents.
func userName() string {
	me, err := user.Current()
	if err != nil {
		return ""
	}
	return me.Username
}
