package look

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/report"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// NewCompare returns the command compare.
func NewCompare(c *base.CLI) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "compare A B",
		Short:   "Compare two investigations: cause, models, cost, tools",
		Example: "  starter compare lab-0a1b2c3d lab-4e5f6a7b",
		Args:    base.Exactly("A", "B"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var both [2]compared
			for n, id := range args {
				one, err := comparedOf(cmd.Context(), c, id)
				if err != nil {
					return err
				}
				both[n] = one
			}
			if c.JSON {
				return c.PrintJSON(both)
			}
			return printCompared(c, both)
		},
	}
	cmd.Flags().BoolVar(&c.JSON, "json", false, "print both as JSON")
	return cmd
}

// compared holds the parts of an investigation that are compared.
type compared struct {
	ID      string         `json:"id"`
	Status  agent.Status   `json:"status"`
	Chain   string         `json:"chain"`
	Started time.Time      `json:"started_at"`
	Took    string         `json:"took"`
	Brief   system.Brief   `json:"brief,omitzero"`
	Models  []string       `json:"models"`
	Usage   agent.Usage    `json:"usage,omitzero"`
	Calls   map[string]int `json:"tool_calls"` // by tool
}

func comparedOf(ctx context.Context, c *base.CLI, id string) (out compared, err error) {
	if id, err = c.Meant(ctx, id); err != nil {
		return out, err
	}
	w, err := c.Client().Whole(ctx, id)
	if err != nil {
		return out, err
	}
	proof, err := proofOf(ctx, c, w)
	if err != nil {
		return out, err
	}
	r := w.Investigation
	out = compared{
		ID: r.ID, Status: r.Status, Chain: r.Chain, Started: r.StartedAt, Took: took(r), Brief: report.BriefOf(r, proof),
		Models: []string{}, Usage: r.Usage, Calls: map[string]int{},
	}
	for _, e := range w.Executions {
		if e.Model != "" && !slices.Contains(out.Models, e.Model) {
			out.Models = append(out.Models, e.Model)
		}
	}
	for _, e := range w.Entries {
		if e.Kind == transcript.KindResult && e.Call != nil && !e.Superseded {
			out.Calls[e.Call.Name]++
		}
	}
	return out, nil
}

// printCompared prints a row for each compared part, in 80 columns.
func printCompared(c *base.CLI, both [2]compared) error {
	const label, cell = 12, 32
	row := func(name string, of func(compared) string) {
		left, right := inCell(of(both[0]), cell), inCell(of(both[1]), cell)
		for n := range max(len(left), len(right), 1) {
			line := terminal.Pad(name, label+base.ColumnGap) + terminal.Pad(at(left, n), cell+base.ColumnGap) + at(right, n)
			fmt.Fprintln(c.Out, strings.TrimRight(line, " "))
			name = ""
		}
	}
	row("", func(one compared) string { return one.ID })
	row("status", func(one compared) string { return string(one.Status) })
	row("chain", func(one compared) string { return cmp.Or(one.Chain, "-") })
	if len(both[0].Brief.Caveats)+len(both[1].Brief.Caveats) > 0 {
		row("caveats", func(one compared) string { return cmp.Or(strings.Join(one.Brief.Caveats, "; "), "-") })
	}
	row("cause", func(one compared) string { return cmp.Or(one.Brief.Cause, "-") })
	row("confidence", func(one compared) string { return cmp.Or(one.Brief.Confidence, "-") })
	row("models", func(one compared) string { return cmp.Or(strings.Join(one.Models, ", "), "-") })
	row("tokens", func(one compared) string { return tokensOf(one.Usage) })
	row("model calls", func(one compared) string { return fmt.Sprint(one.Usage.ModelCalls) })
	row("cost", func(one compared) string { return terminal.Cost(one.Usage) })
	row("started", func(one compared) string { return one.Started.Local().Format(base.DateTime) })
	row("took", func(one compared) string { return one.Took })
	tools := slices.Collect(maps.Keys(both[0].Calls))
	tools = slices.AppendSeq(tools, maps.Keys(both[1].Calls))
	slices.Sort(tools)
	for n, tool := range slices.Compact(tools) {
		row(map[bool]string{true: "calls"}[n == 0], func(one compared) string { return fmt.Sprintf("%d× %s", one.Calls[tool], tool) })
	}
	return nil
}

// inCell wraps a text between words. It truncates words that are wider than the cell.
func inCell(text string, cell int) []string {
	words := strings.Fields(terminal.CleanLine(text))
	for n, word := range words {
		words[n] = ansi.Truncate(word, cell, "…")
	}
	return terminal.Wrap(strings.Join(words, " "), cell)
}

func at(lines []string, n int) string {
	if n < len(lines) {
		return lines[n]
	}
	return ""
}

// tokensOf formats token counts for a row with the title "tokens".
func tokensOf(u agent.Usage) string {
	return strings.Replace(strings.TrimPrefix(terminal.Tokens(u), "tokens "), " tokens", "", 1)
}
