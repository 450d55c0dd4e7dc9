package look

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/eval"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/report"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/system"
)

// NewCompare returns the command compare.
func NewCompare(c *base.CLI) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "Compare two investigations: cause, cost, plans, transcripts",
		Long: `Compare two investigations side by side: how they ended, what they cost, the settings of
their plans that differ (prompts, models, tools, limits; skills are shown by hash), and for each
agent the first row at which B differs from A. Agents are paired by stage and name, sub-agents also
by the number of their dispatch, and their replies by order. Texts beside tool calls are not
compared, and judges are left out.

--json also has all pairs of replies, and whole values of settings.`,
		Example: "  starter compare lab-0a1b2c3d lab-4e5f6a7b",
		Args:    base.Exactly("A", "B"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			for n, id := range args {
				if args[n], err = c.Meant(cmd.Context(), id); err != nil {
					return err
				}
			}
			found, err := report.Compare(cmd.Context(), c.Client(), args[0], args[1])
			if err != nil {
				return err
			}
			if c.JSON {
				return c.PrintJSON(found)
			}
			return printCompared(c, found)
		},
	}
	cmd.Flags().BoolVar(&c.JSON, "json", false, "print the comparison as JSON")
	return cmd
}

// printCompared prints a row for each compared part, in 80 columns, and below what differs.
func printCompared(c *base.CLI, found system.Comparison) error {
	const label, cell = 12, 32
	row := func(name string, of func(system.Compared) string) {
		left, right := inCell(of(found.A), cell), inCell(of(found.B), cell)
		for n := range max(len(left), len(right), 1) {
			line := terminal.Pad(name, label+base.ColumnGap) + terminal.Pad(at(left, n), cell+base.ColumnGap) + at(right, n)
			fmt.Fprintln(c.Out, strings.TrimRight(line, " "))
			name = ""
		}
	}
	row("", func(one system.Compared) string { return one.ID })
	row("status", func(one system.Compared) string { return statusOf(one.Status, one.EndReason) })
	if found.A.Error != "" || found.B.Error != "" {
		row("error", func(one system.Compared) string { return cmp.Or(one.Error, "-") })
	}
	row("chain", func(one system.Compared) string { return cmp.Or(one.Chain, "-") })
	if len(found.A.Brief.Caveats)+len(found.B.Brief.Caveats) > 0 {
		row("caveats", func(one system.Compared) string { return cmp.Or(strings.Join(one.Brief.Caveats, "; "), "-") })
	}
	row("cause", func(one system.Compared) string { return cmp.Or(one.Brief.Cause, "-") })
	row("confidence", func(one system.Compared) string { return cmp.Or(one.Brief.Confidence, "-") })
	if found.A.Brief.Proof != "" || found.B.Brief.Proof != "" {
		row("proof", func(one system.Compared) string { return cmp.Or(one.Brief.Proof, "-") })
	}
	row("models", func(one system.Compared) string { return cmp.Or(strings.Join(one.Models, ", "), "-") })
	row("tokens", func(one system.Compared) string { return tokensOf(one.Usage) })
	row("model calls", func(one system.Compared) string { return fmt.Sprint(one.Usage.ModelCalls) })
	row("cost", func(one system.Compared) string { return terminal.Cost(one.Usage) })
	row("started", func(one system.Compared) string { return one.Started.Local().Format(base.DateTime) })
	row("took", func(one system.Compared) string { return took(one.Started, one.Ended) })
	tools := slices.Collect(maps.Keys(found.A.Calls))
	tools = slices.AppendSeq(tools, maps.Keys(found.B.Calls))
	slices.Sort(tools)
	for n, tool := range slices.Compact(tools) {
		row(map[bool]string{true: "calls"}[n == 0], func(one system.Compared) string { return fmt.Sprintf("%d× %s", one.Calls[tool], tool) })
	}
	return c.Print(append(planLines(found), differenceLines(found)...)...)
}

// maxValue limits the values of settings, in characters.
const maxValue = 300

func planLines(found system.Comparison) []string {
	switch {
	case found.PlanProblem != "":
		return []string{"", "The plans could not be compared: " + terminal.CleanLine(found.PlanProblem)}
	case len(found.Plan) == 0:
		return []string{"", "The plans are the same."}
	}
	lines := []string{"", "Settings that differ (- A, + B):"}
	for _, one := range found.Plan {
		lines = append(lines, "  "+terminal.CleanLine(one.Path))
		a, b := changed(valueOf(one.A), valueOf(one.B))
		lines = append(lines, signed("    - ", a)...)
		lines = append(lines, signed("    + ", b)...)
	}
	return lines
}

func signed(sign string, text []string) (lines []string) {
	for _, line := range text {
		lines = append(lines, sign+clip.Line(terminal.Clean(line), maxValue))
	}
	return lines
}

// changed returns two texts from the first line that differs to the last one. A long beginning that both share is left out, too.
func changed(a, b string) (inA, inB []string) {
	inA, inB = textLines(a), textLines(b)
	for len(inA) > 0 && len(inB) > 0 && inA[0] == inB[0] {
		inA, inB = inA[1:], inB[1:]
	}
	for len(inA) > 0 && len(inB) > 0 && inA[len(inA)-1] == inB[len(inB)-1] {
		inA, inB = inA[:len(inA)-1], inB[:len(inB)-1]
	}
	if len(inA) > 0 && len(inB) > 0 {
		inA[0], inB[0] = sinceChange(inA[0], inB[0])
	}
	return inA, inB
}

// sinceChange cuts the beginning that two lines share, if it is long.
func sinceChange(a, b string) (sinceA, sinceB string) {
	const shown = maxValue / 4
	same := 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		same++
	}
	if same < 2*shown {
		return a, b
	}
	from := same - shown
	for !utf8.RuneStart(a[from]) {
		from--
	}
	return "…" + a[from:], "…" + b[from:]
}

// textLines returns the lines of a text, or nil if it is empty.
func textLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// valueOf returns a text as it is, and other values as JSON.
func valueOf(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case string:
		return value
	}
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(value) // it was read from JSON
	return strings.TrimSpace(text.String())
}

func differenceLines(found system.Comparison) []string {
	first := eval.First(found.Steps)
	if len(first) == 0 {
		return []string{"", "No agent differs in its calls, their results, or its report."}
	}
	lines := []string{"", "First difference of each agent (rows of A and B):"}
	for _, s := range first {
		what := terminal.CleanLine(fmt.Sprintf("%s, iteration %d: %s", s.At().Agent, s.At().Iteration, s.Difference))
		lines = append(lines, fmt.Sprintf("  %s, %s · %s", rowOf(s.RowA), rowOf(s.RowB), what))
	}
	return lines
}

// rowOf formats the number of a row, or "-" if there is none.
func rowOf(seq int64) string {
	if seq == 0 {
		return "-"
	}
	return fmt.Sprint(seq)
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
