package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/terminal"
)

func showCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Print all that there is of an investigation: the whole transcript and the report",
		Args:  exactly("ID"),
		RunE:  func(cmd *cobra.Command, args []string) error { return show(cmd.Context(), c, args[0]) },
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print record, stages, executions and entries as JSON")
	return cmd
}

func show(ctx context.Context, c *cli, id string) error {
	w, err := c.client().Whole(ctx, id)
	switch {
	case errors.Is(err, client.ErrNoStore):
		c.sayNoStore()
		return showRemote(ctx, c, id)
	case errors.Is(err, record.ErrNotFound):
		c.say("this store does not know %s: showing what Temporal knows", id)
		return showRemote(ctx, c, id)
	case err != nil:
		return err
	}
	sayStale(ctx, c, w.Stale)
	if c.json {
		return c.printJSON(w)
	}
	if err := terminal.Show(w.Investigation, w.Stages, w.Executions, w.Entries, c.options(true)); err != nil {
		return err
	}
	c.printOpen(w.Investigation.ID, w.Questions)
	return nil
}

// showRemote prints what is known without the store: the result, or the status.
func showRemote(ctx context.Context, c *cli, id string) error {
	s, err := c.client().Status(ctx, id)
	switch {
	case err != nil:
		return err
	case s.Result == nil:
		return printStatus(c, s)
	case c.json:
		return c.printJSON(s.Result)
	}
	return errors.Join(printStatus(c, s), terminal.End(endOf(*s.Result), c.options(true)))
}
