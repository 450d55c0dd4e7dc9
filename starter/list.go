package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/terminal"
)

// statuses are those that an investigation can have.
func statuses() []agent.Status { return append(agent.Open(), agent.Ends()...) }

// texts are words as texts.
func texts[S ~string](words []S) (out []string) {
	for _, word := range words {
		out = append(out, string(word))
	}
	return out
}

func listCommand(c *cli) *cobra.Command {
	var filter store.Filter
	var status string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List investigations, newest first",
		Args:  exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			filter.Status = agent.Status(status)
			return list(cmd.Context(), c, filter)
		},
	}
	cmd.Flags().StringVar(&status, "status", "", fmt.Sprintf("only those with this status: %v", statuses()))
	_ = cmd.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(texts(statuses()), cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().StringVar(&filter.Chain, "chain", "", "only those of this chain")
	cmd.Flags().IntVar(&filter.Limit, "limit", 20, "at most so many; 0 = all")
	cmd.Flags().BoolVar(&c.json, "json", false, "print records as JSON, without reports")
	return cmd
}

func list(ctx context.Context, c *cli, filter store.Filter) error {
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
	if c.json {
		return c.printJSON(withoutReports(l.All))
	}
	return printTable(c, "ID\tSTATUS\tCHAIN\tSTARTED\tTOOK\t"+usageTitles, l.All, func(r record.Investigation) []any {
		return append([]any{r.ID, r.Status, cmp.Or(r.Chain, "-"), r.StartedAt.Local().Format(time.DateTime), took(r)}, usageCells(r.Usage)...)
	})
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

// usageTitles are the columns of a usage: tokens, calls of models, calls of tools, and their price.
const usageTitles = "TOKENS\tCALLS\tTOOLS\tCOST"

// usageCells are those columns' cells; "-" is what is not known.
func usageCells(u agent.Usage) []any {
	if u == (agent.Usage{}) {
		return []any{"-", "-", "-", "-"}
	}
	return []any{u.Tokens(), u.ModelCalls, u.ToolCalls, terminal.Cost(u)}
}

func took(r record.Investigation) string {
	if r.EndedAt == nil {
		return "-"
	}
	return r.EndedAt.Sub(r.StartedAt).Round(time.Second / 10).String()
}
