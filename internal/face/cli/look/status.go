package look

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/cli/decide"
	"github.com/inquest-dev/inquest/internal/face/report"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
)

// NewStatus returns the command status.
func NewStatus(c *base.CLI) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "status ID",
		Short:   "Show the progress: stages, agents, tokens, pending decisions",
		Example: "  starter status lab",
		Args:    base.Exactly("ID"),
		RunE:    func(cmd *cobra.Command, args []string) error { return showStatus(cmd.Context(), c, args[0]) },
	}
	cmd.Flags().BoolVar(&c.JSON, "json", false, "print the status as JSON")
	return cmd
}

func showStatus(ctx context.Context, c *base.CLI, id string) error {
	id, err := c.Meant(ctx, id)
	if err != nil {
		return err
	}
	s, err := c.Client().Status(ctx, id)
	if err != nil {
		return err
	}
	if s.Stale != nil {
		c.Say("showing only what Temporal knows: %v", s.Stale)
	}
	return printStatus(c, s)
}

func printStatus(c *base.CLI, s system.Status) error {
	if c.JSON {
		return c.PrintJSON(s.Status)
	}
	words := []string{s.ID, s.Chain, string(s.Status.Status), s.EndReason.Words(s.Status.Status), terminal.Usage(s.Usage)}
	if s.By != "" {
		words = append(words, "requested by "+s.By)
	}
	words = append(words, labelWords(s.Labels)...)
	if s.WaitingFor != "" {
		words = append(words, "waiting for "+s.WaitingFor)
	}
	lines := []string{terminal.CleanLine(strings.Join(base.Present(words), " · "))}
	if s.Score != nil {
		lines = append(lines, "  "+terminal.ScoreLine(*s.Score))
	}
	for _, r := range s.Ratings {
		for _, line := range terminal.RatingLines(r) {
			lines = append(lines, "  "+line)
		}
	}
	if s.Review != nil {
		lines = append(lines, "  "+terminal.ReviewLine(*s.Review))
	}
	for _, line := range (record.Envelope{NotChecked: s.NotChecked, NoToolResult: s.NoToolResult}).Caveats() {
		lines = append(lines, "! "+terminal.CleanLine(line))
	}
	lines = append(lines, alertNotes(s.Labels)...)
	for line := range strings.Lines(s.Summary) {
		lines = append(lines, "  "+terminal.CleanLine(line))
	}
	var wrong []string
	for _, line := range s.Undelivered {
		wrong = append(wrong, "not delivered: "+line)
	}
	wrong = append(wrong, s.Error)
	for _, notice := range s.Notices {
		wrong = append(wrong, strings.Split(notice, "\n")...)
	}
	if s.SummaryError != "" {
		wrong = append(wrong, "no executive summary: "+s.SummaryError)
	}
	for _, line := range wrong {
		if line != "" {
			lines = append(lines, "! "+terminal.CleanLine(line))
		}
	}
	if len(s.Bounds) > 0 {
		lines = append(lines, terminal.CleanLine("bounds: "+boundsLine(s.Bounds)))
	}
	if err := c.Print(lines...); err != nil {
		return err
	}
	fmt.Fprint(c.Out, decide.OpenLines(c, s.ID, s.Questions))
	var rows [][]string
	once := func(problem string) string {
		if report.Said(wrong, problem) {
			return ""
		}
		wrong = append(wrong, problem)
		return problem
	}
	for _, stage := range s.Stages {
		why := strings.Join(base.Present([]string{once(stage.Error), stage.Partial}), " · ")
		rows = append(rows, []string{stage.Name, string(stage.Status), "", terminal.CleanLine(why)})
		for _, a := range stage.Agents {
			what := strings.Join(base.Present([]string{doing(a, s.Agents), terminal.Actions(a.ActionsExecuted), once(a.Error)}), " · ")
			rows = append(rows, []string{treeName(a.Name), string(a.Status), a.Model, terminal.CleanLine(what)})
		}
	}
	return base.PrintColumns(c, rows)
}

// alertNotes lists what the sender of an alert reported and could not be read.
func alertNotes(l agent.Labels) (lines []string) {
	for note := range strings.SplitSeq(l.Metadata[agent.AlertNotes], "\n") {
		if note != "" {
			lines = append(lines, "! alert: "+terminal.CleanLine(note))
		}
	}
	return lines
}

// labelWords lists the labels of a request, without those in alertNotes.
func labelWords(l agent.Labels) (words []string) {
	for _, label := range [][2]string{{"project", l.Project}, {"tenant", l.Tenant}, {"session", l.Session}, {"fingerprint", l.Fingerprint}} {
		if label[1] != "" {
			words = append(words, label[0]+" "+label[1])
		}
	}
	if l.Priority > 0 {
		words = append(words, fmt.Sprintf("priority %d", l.Priority))
	}
	for _, key := range slices.Sorted(maps.Keys(l.Metadata)) {
		if key != agent.AlertNotes {
			words = append(words, key+"="+l.Metadata[key])
		}
	}
	return words
}

// treeName returns an agent's name, indented below its stage or its parent.
func treeName(name string) string {
	return strings.Repeat("  ", strings.Count(name, "/")+1) + terminal.CleanLine(name[strings.LastIndexByte(name, '/')+1:])
}

// boundsLine lists limits and their sources.
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
