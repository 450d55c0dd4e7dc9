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
		one := []record.Investigation{r}
		c.correct(ctx, one)
		if r = one[0]; asJSON {
			return c.showJSON(ctx, st, r)
		}
		if err := terminal.Show(ctx, corrected{st, r}, r.ID, c.options(true)); err != nil {
			return err
		}
		c.printOpen(r.ID, c.openQuestions(ctx, r))
		return nil
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

// corrected is a store that says of one investigation what Temporal knows better.
type corrected struct {
	*store.Store
	record record.Investigation
}

// Investigation implements terminal.Records.
func (c corrected) Investigation(context.Context, string) (record.Investigation, error) {
	return c.record, nil
}

// whole is an investigation as JSON.
type whole struct {
	Investigation record.Investigation `json:"investigation"`
	Stages        []record.Stage       `json:"stages"`
	Executions    []record.Execution   `json:"executions"`
	Entries       []transcript.Entry   `json:"entries"`
	// Status is that of an investigation that has ended.
	Status *workflows.Status `json:"status,omitempty"`
	// Questions wait for people.
	Questions []workflows.Interrupt `json:"questions,omitempty"`
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
	if r.Status.Closed() {
		status := statusFrom(r, out.Stages, out.Executions)
		out.Status = &status
	}
	out.Questions = c.openQuestions(ctx, r)
	return c.printJSON(out)
}

// openQuestions are those of an investigation that runs; the store does not know
// them. It says so if the investigation cannot be asked.
func (c *cli) openQuestions(ctx context.Context, r record.Investigation) []workflows.Interrupt {
	if r.Status.Closed() {
		return nil
	}
	asked := func(_ target, status workflows.Status) []workflows.Interrupt { return status.Questions }
	questions, err := askOne(ctx, c, r.ID, asked)
	if err != nil && ctx.Err() == nil {
		c.say("starter: %v; whether it asks people something is not known", err)
	}
	return questions
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
		agents := t.agents(ctx, status)
		if err := c.withNumbers(ctx, &status, agents); err != nil {
			return err
		}
		return c.printStatus(status, agents, asJSON)
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
