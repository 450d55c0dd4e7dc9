package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
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
	done, err := c.watchEnded(ctx, id, verbose)
	if done || err != nil {
		return err
	}
	conn, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	t, err := find(ctx, conn, id)
	if err != nil {
		return err
	}
	return c.follow(ctx, t, verbose)
}

// watchEnded shows an investigation that the store knows to have ended.
func (c *cli) watchEnded(ctx context.Context, id string, verbose bool) (done bool, err error) {
	err = c.withStore(ctx, func(st *store.Store) error {
		r, known, err := saved(ctx, st, id)
		if err != nil || !known || !r.Status.Closed() {
			return err
		}
		done = true
		if r, err = terminal.Watch(ctx, st, r.ID, c.options(verbose)); err != nil {
			return err
		}
		return verdict(r)
	})
	return done, err
}

// saved finds the record of an investigation by its id or its workflow's.
func saved(ctx context.Context, st *store.Store, id string) (r record.Investigation, known bool, err error) {
	if st == nil {
		return r, false, nil
	}
	r, err = st.FindInvestigation(ctx, id)
	if errors.Is(err, record.ErrNotFound) {
		return r, false, nil
	}
	return r, err == nil, err
}

// verdict is the error of a record of an investigation that did not complete.
func verdict(r record.Investigation) error {
	var out outcome
	out.ID, out.Status, out.Error = r.ID, r.Status, r.Error
	return out.verdict()
}
