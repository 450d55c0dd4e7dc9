package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
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
	h, err := c.client().Cancel(ctx, id)
	if err != nil {
		return err
	}
	if !wait {
		_, err = fmt.Fprintf(c.out, "cancellation of %s asked for\n", h.ID())
		return err
	}
	out, err := c.await(ctx, h)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.out, "%s: %s\n", h.ID(), out.Status)
	return err
}
