package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/terminal"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

func (c *cli) showCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Print all that there is of an investigation: the whole transcript and the report",
		Args:  exactly("ID"),
		RunE:  func(cmd *cobra.Command, args []string) error { return c.show(cmd.Context(), args[0], asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print record, stages, executions and entries as JSON")
	return cmd
}

func (c *cli) show(ctx context.Context, id string, asJSON bool) error {
	here := false
	err := c.withStore(ctx, func(st *store.Store) error {
		r, known, err := saved(ctx, st, id)
		if here = st != nil; err != nil || !known {
			return err
		}
		id = ""
		if asJSON {
			return c.showJSON(ctx, st, r)
		}
		return terminal.Show(ctx, st, r.ID, c.options(true))
	})
	if err != nil || id == "" {
		return err
	}
	if here {
		c.say("this store does not know %s: showing what Temporal knows", id)
	} else {
		c.sayNoStore()
	}
	return c.showRemote(ctx, id, asJSON)
}

// whole is an investigation as JSON.
type whole struct {
	Investigation record.Investigation `json:"investigation"`
	Stages        []record.Stage       `json:"stages"`
	Executions    []record.Execution   `json:"executions"`
	Entries       []transcript.Entry   `json:"entries"`
}

func (c *cli) showJSON(ctx context.Context, st *store.Store, r record.Investigation) (err error) {
	out := whole{Investigation: r}
	if out.Stages, err = st.Stages(ctx, r.ID); err != nil {
		return err
	}
	if out.Executions, err = st.Executions(ctx, r.ID); err != nil {
		return err
	}
	if out.Entries, err = st.After(ctx, r.ID, 0, 0); err != nil {
		return err
	}
	return c.printJSON(out)
}

// showRemote prints what is known without the store: the result, or the status.
func (c *cli) showRemote(ctx context.Context, id string, asJSON bool) error {
	conn, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	t, err := find(ctx, conn, id)
	if err != nil {
		return err
	}
	if t.running() {
		var status workflows.Status
		if err := t.ask(ctx, &status); err != nil {
			return err
		}
		return c.printStatus(status, t.agents(ctx, status), asJSON)
	}
	out, err := t.await(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return c.printJSON(out.InvestigationResult)
	}
	if err := c.printStatus(out.status(), nil, false); err != nil {
		return err
	}
	return terminal.End(out.record(), c.options(true))
}
