package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/terminal"
	"github.com/inquest-dev/inquest/workflows"
)

func (c *cli) statusCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status ID",
		Short: "Say where an investigation stands: stages, agents, tokens, whom it waits for",
		Args:  exactly("ID"),
		RunE:  func(cmd *cobra.Command, args []string) error { return c.status(cmd.Context(), args[0], asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the status as JSON")
	return cmd
}

// status asks an investigation that runs. That of one that has ended comes from
// its record, since it may have no worker left to ask, or from its result.
func (c *cli) status(ctx context.Context, id string, asJSON bool) error {
	conn, err := c.dial(ctx)
	if err != nil {
		saved, known, storeErr := c.savedStatus(ctx, nil, id)
		if known { // Temporal is not needed for it
			return c.printStatus(saved, nil, asJSON)
		}
		return errors.Join(err, storeErr)
	}
	defer conn.Close()
	t, err := find(ctx, conn, id)
	gone := errors.Is(err, record.ErrNotFound)
	if err != nil && !gone {
		return err
	}
	if !gone && t.running() {
		var status workflows.Status
		if err := t.ask(ctx, &status); err != nil {
			return err
		}
		addTroubles(&status, c.troubles(ctx, t))
		agents := t.agents(ctx, status)
		if err := c.numbersAtHand(ctx, &status, agents); err != nil {
			return err
		}
		return c.printStatus(status, agents, asJSON)
	}
	if !gone {
		id = t.id()
	}
	saved, known, storeErr := c.savedStatus(ctx, conn, id)
	switch {
	case storeErr != nil:
		return storeErr
	case known:
		return c.printStatus(saved, nil, asJSON)
	case gone:
		return err
	}
	out, err := t.await(ctx)
	if err != nil {
		return err
	}
	return c.printStatus(out.status(), nil, asJSON)
}

// numbersAtHand is withNumbers for a status that people ask for because the store is away.
func (c *cli) numbersAtHand(ctx context.Context, status *workflows.Status, agents map[string]workflows.AgentStatus) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	err := c.withNumbers(ctx, status, agents)
	if _, wrong := errors.AsType[*command.UsageError](err); err == nil || wrong {
		return err
	}
	c.say("the numbers are those that Temporal knows: %v", err)
	return nil
}

// ask is a query of an investigation that runs, with an error that says why it stays unanswered.
func (t target) ask(ctx context.Context, status *workflows.Status) error {
	err := t.query(ctx, workflows.QueryStatus, status)
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%s is running, but no worker answers for it: %w", t.id(), err)
	}
	return err
}

// savedStatus is the status of an investigation that has ended, from the store; nobody
// but Temporal may know yet that somebody has terminated it.
func (c *cli) savedStatus(ctx context.Context, conn client.Client, id string) (out workflows.Status, known bool, err error) {
	err = c.withStore(ctx, func(st *store.Store) error {
		r, found, err := saved(ctx, st, id)
		one := []record.Investigation{r}
		if err == nil && found && goesOn(r) && conn != nil {
			err = correctBy(ctx, conn, one)
		}
		if r = one[0]; err != nil || !found || !r.Status.Closed() {
			return err
		}
		known = true
		stages, err := st.Stages(ctx, r.ID)
		if err != nil {
			return err
		}
		executions, err := st.Executions(ctx, r.ID)
		out = statusFrom(r, stages, executions)
		return err
	})
	return out, known && err == nil, err
}

// statusFrom composes the status as the investigation itself did. Records of before
// envelopes name no agents: those are in the executions.
func statusFrom(r record.Investigation, stages []record.Stage, executions []record.Execution) workflows.Status {
	for n := range stages {
		for _, e := range executions {
			if e.Stage == stages[n].Name && stages[n].Envelope.Version == 0 {
				stages[n].Envelope.Agents = append(stages[n].Envelope.Agents, summaryOf(e))
			}
		}
	}
	out := workflows.StatusOf(r, stages)
	number(&out, executions)
	return out
}

func summaryOf(e record.Execution) workflows.AgentSummary {
	return workflows.AgentSummary{
		Name: agentName(e), Status: e.Status, StopReason: e.StopReason, Model: e.Model,
		Iterations: e.Iterations, Usage: e.Usage, Error: e.Error,
	}
}

// status is the outcome as a status.
func (o outcome) status() workflows.Status {
	return workflows.Status{
		ID: o.ID, Status: o.Status, EndReason: o.EndReason, Stages: o.Stages, Usage: o.Usage, Error: o.Error, Undelivered: o.Undelivered,
	}
}

func (c *cli) printStatus(s workflows.Status, agents map[string]workflows.AgentStatus, asJSON bool) error {
	if asJSON {
		return c.printJSON(s)
	}
	words := []string{s.ID, s.Chain, string(s.Status), string(s.EndReason), terminal.Usage(s.Usage)}
	if s.By != "" {
		words = append(words, "asked for by "+s.By)
	}
	if s.WaitingFor != "" {
		words = append(words, "waiting for "+s.WaitingFor)
	}
	fmt.Fprintln(c.out, terminal.CleanLine(strings.Join(present(words), " · ")))
	for _, line := range append(s.Undelivered, s.Error) {
		if line != "" {
			fmt.Fprintln(c.out, "! "+terminal.CleanLine(line))
		}
	}
	if len(s.Bounds) > 0 {
		fmt.Fprintln(c.out, terminal.CleanLine("bounds: "+boundsLine(s.Bounds)))
	}
	c.printOpen(s.ID, s.Questions)
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	for _, stage := range s.Stages {
		why := strings.Join(present([]string{stage.Error, stage.Partial}), " · ")
		fmt.Fprintf(w, "%s\t%s\t\t%s\n", terminal.CleanLine(stage.Name), stage.Status, terminal.CleanLine(why))
		for _, a := range stage.Agents {
			fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", terminal.CleanLine(a.Name), a.Status, terminal.CleanLine(a.Model),
				terminal.CleanLine(strings.Join(present([]string{doing(a, agents), a.Error}), " · ")))
		}
	}
	return w.Flush()
}

// boundsLine lists bounds, and where each comes from.
func boundsLine(bounds []plan.Bound) string {
	var words []string
	for _, b := range bounds {
		word := b.Name + " " + b.Limit
		if b.From != "" {
			word += " (" + b.From + ")"
		}
		words = append(words, word)
	}
	return strings.Join(words, " · ")
}

// present leaves out what is empty, and what is said twice.
func present(words []string) []string {
	var out []string
	for _, word := range words {
		if word != "" && (len(out) == 0 || out[len(out)-1] != word) {
			out = append(out, word)
		}
	}
	return out
}
