package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/terminal"
)

// statuses are those that an investigation can have.
func statuses() []agent.Status { return append(agent.Open(), agent.Ends()...) }

// completeStatuses proposes them.
func completeStatuses(*cobra.Command, []string, string) (words []string, _ cobra.ShellCompDirective) {
	for _, s := range statuses() {
		words = append(words, string(s))
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

func listCommand(c *cli) *cobra.Command {
	var filter store.Filter
	var status string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List investigations, newest first",
		Args:  exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			filter.Status = agent.Status(status)
			return list(cmd.Context(), c, filter, asJSON)
		},
	}
	cmd.Flags().StringVar(&status, "status", "", fmt.Sprintf("only those with this status: %v", statuses()))
	_ = cmd.RegisterFlagCompletionFunc("status", completeStatuses)
	cmd.Flags().StringVar(&filter.Chain, "chain", "", "only those of this chain")
	cmd.Flags().IntVar(&filter.Limit, "limit", 20, "at most so many; 0 = all")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print records as JSON, without reports")
	return cmd
}

func list(ctx context.Context, c *cli, filter store.Filter, asJSON bool) error {
	if filter.Status != "" && !slices.Contains(statuses(), filter.Status) {
		return usagef("--status %q: use one of %v", filter.Status, statuses())
	}
	if filter.Limit < 0 {
		return usagef("--limit %d: give 1 or more, or 0 for all", filter.Limit)
	}
	l, err := c.client().List(ctx, filter)
	if l.Remote {
		c.sayNoStore()
	}
	if err != nil {
		return err
	}
	sayStale(ctx, c, l.Stale)
	if asJSON {
		return c.printJSON(withoutReports(l.All))
	}
	return printTable(c, l.All)
}

// sayStale says that Temporal might know better.
func sayStale(ctx context.Context, c *cli, err error) {
	if err != nil && ctx.Err() == nil {
		c.say("Temporal does not answer: an investigation that somebody has terminated may not say so yet")
	}
}

// withoutReports keeps a list small; it is never null in JSON.
func withoutReports(all []record.Investigation) []record.Investigation {
	out := append([]record.Investigation{}, all...)
	for i := range out {
		out[i].Report = ""
	}
	return out
}

func printTable(c *cli, all []record.Investigation) error {
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tSTATUS\tCHAIN\tSTARTED\tTOOK\t"+usageTitles)
	for _, r := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", terminal.CleanLine(r.ID), r.Status, cmp.Or(terminal.CleanLine(r.Chain), "-"),
			r.StartedAt.Local().Format(time.DateTime), took(r), usageCells(r.Usage))
	}
	return w.Flush()
}

// usageTitles are the columns of a usage: tokens, calls of models, calls of tools, and their price.
const usageTitles = "TOKENS\tCALLS\tTOOLS\tCOST"

// usageCells are those columns' cells; "-" is what is not known.
func usageCells(u agent.Usage) string {
	if u == (agent.Usage{}) {
		return "-\t-\t-\t-"
	}
	return fmt.Sprintf("%d\t%d\t%d\t%s", u.Tokens(), u.ModelCalls, u.ToolCalls, terminal.Cost(u))
}

func took(r record.Investigation) string {
	if r.EndedAt == nil {
		return "-"
	}
	return r.EndedAt.Sub(r.StartedAt).Round(time.Second / 10).String()
}
