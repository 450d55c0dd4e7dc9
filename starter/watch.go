package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/terminal"
)

func (c *cli) watchCommand() *cobra.Command {
	var verbose bool
	cmd := &cobra.Command{
		Use:   "watch ID",
		Short: "Show an investigation from its beginning, live until it has ended",
		Args:  exactly("ID"),
		RunE:  func(cmd *cobra.Command, args []string) error { return c.watch(cmd.Context(), args[0], verbose) },
	}
	cmd.Flags().BoolVar(&verbose, "verbose", false, "show prompts, tool calls and results whole")
	return cmd
}

// watch needs Temporal only for an investigation that has not ended.
func (c *cli) watch(ctx context.Context, id string, verbose bool) error {
	st, err := c.client().Store(ctx)
	if err != nil {
		return err
	}
	if st != nil {
		r, err := st.FindInvestigation(ctx, id)
		switch {
		case err == nil && r.Status.Closed():
			if r, err = terminal.Watch(ctx, st, r.ID, c.options(verbose)); err != nil {
				return err
			}
			return verdict(r.ID, r.Status, r.Error)
		case err != nil && !errors.Is(err, record.ErrNotFound):
			return err
		}
	}
	h, err := c.client().Find(ctx, id)
	if err != nil {
		return err
	}
	return c.follow(ctx, h, verbose)
}
