package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/workflows"
)

func (c *cli) cancelCommand() *cobra.Command {
	var wait bool
	cmd := &cobra.Command{
		Use:   "cancel ID",
		Short: "Stop an investigation; what it has finished is kept",
		Args:  exactly("ID"),
		RunE:  func(cmd *cobra.Command, args []string) error { return c.cancel(cmd.Context(), args[0], wait) },
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until it has ended")
	return cmd
}

func (c *cli) cancel(ctx context.Context, id string, wait bool) error {
	conn, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	t, err := findRunning(ctx, conn, id)
	if err != nil {
		return err
	}
	asking, stop := context.WithTimeout(ctx, callTimeout)
	defer stop()
	err = conn.CancelWorkflow(asking, t.workflow, "")
	if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
		return fmt.Errorf("investigation %s has ended", t.id())
	}
	if err != nil {
		return fmt.Errorf("cancel %s: %w", t.id(), err)
	}
	if !wait {
		_, err = fmt.Fprintf(c.out, "cancellation of %s asked for\n", t.id())
		return err
	}
	out, err := c.patiently(ctx, t)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.out, "%s: %s\n", t.id(), out.Status)
	return err
}

// findRunning finds an investigation, or a conversation, that can still be steered.
func findRunning(ctx context.Context, conn client.Client, id string) (target, error) {
	t, err := findOne(ctx, conn, id, investigationType, workflows.TypeConversation)
	if err == nil && !t.running() {
		return t, fmt.Errorf("investigation %s has ended (%s)", t.id(), statusOf(t.status))
	}
	return t, err
}
