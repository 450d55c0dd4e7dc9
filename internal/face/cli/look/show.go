package look

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/cli/decide"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/kit/spell"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// NewShow returns the command show.
func NewShow(c *base.CLI) *cobra.Command {
	var only part
	var found bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Print the whole investigation: the transcript, then the report",
		Long: `Print the whole investigation: the full transcript, including prompts and results, then
the report. To print only the report, use "starter report". With --evidence, print the evidence
from tools and agents instead: each piece with its number, its row in the transcript, and who
found it; then the claims of the report, and whether the evidence supports them.`,
		Example: `  starter show lab
  starter show lab --evidence
  starter show lab --stage dig --agent LogAgent --tail 5`,
		Args: base.Exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if only.tail < 0 {
				return base.Usagef("--tail %d: give 1 or more, or 0 for all", only.tail)
			}
			if found && only != (part{}) {
				return base.Usagef("--evidence covers the whole investigation: omit --agent, --stage and --tail")
			}
			return show(cmd.Context(), c, args[0], only, found)
		},
	}
	set := cmd.Flags()
	set.StringVar(&only.agent, "agent", "", "only the transcript of this agent")
	set.StringVar(&only.stage, "stage", "", "only the transcript of this stage (NAME#2 for the second run of a stage)")
	set.IntVar(&only.tail, "tail", 0, "only this many entries, from the end of the transcript")
	set.BoolVar(&found, "evidence", false, "print the evidence, and whether it supports the report's claims")
	set.BoolVar(&c.JSON, "json", false, "print record, stages, executions and entries as JSON")
	pagerFlag(c, cmd)
	return cmd
}

func show(ctx context.Context, c *base.CLI, id string, only part, found bool) error {
	id, err := c.Meant(ctx, id)
	if err != nil {
		return err
	}
	w, err := c.Client().Whole(ctx, id)
	switch {
	case errors.Is(err, system.ErrNoStore):
		c.SayNoStore()
		return showRemote(ctx, c, id)
	case errors.Is(err, record.ErrNotFound):
		c.Say("%s is not in this store: showing what Temporal knows", id)
		return showRemote(ctx, c, id)
	case err != nil:
		return err
	}
	sayStale(ctx, c, w.Stale)
	if found {
		return showEvidence(ctx, c, w)
	}
	if err := only.of(&w); err != nil {
		return err
	}
	if c.JSON {
		return c.PrintJSON(w)
	}
	var text bytes.Buffer
	if words := labelWords(w.Investigation.Labels); len(words) > 0 {
		about := []string{w.Investigation.ID}
		if by := w.Investigation.Envelope.By; by != "" {
			about = append(about, "requested by "+by)
		}
		fmt.Fprintln(&text, terminal.CleanLine(strings.Join(append(about, words...), " · ")))
	}
	if f := w.Investigation.Envelope.Fork; f != nil {
		fmt.Fprintln(&text, terminal.CleanLine("forked from "+f.String()))
		for _, change := range f.Changes {
			fmt.Fprintln(&text, terminal.CleanLine("changed: "+change))
		}
		for _, call := range f.Left {
			fmt.Fprintln(&text, terminal.CleanLine("not shared, do not repeat: "+call))
		}
	}
	for _, line := range alertNotes(w.Investigation.Labels) {
		fmt.Fprintln(&text, line)
	}
	opts := c.Options(true)
	opts.Out = &text
	if err := terminal.Show(w.Investigation, w.Stages, w.Executions, w.Entries, opts); err != nil {
		return err
	}
	if s := w.Score(); s != nil {
		fmt.Fprint(&text, "\n"+terminal.Score(*s))
	}
	for _, r := range w.Ratings {
		fmt.Fprintln(&text, strings.Join(terminal.RatingLines(r), "\n"))
	}
	if len(w.Forks) > 0 {
		fmt.Fprintln(&text, terminal.CleanLine("forks: "+strings.Join(w.Forks, ", ")))
	}
	if w.Review != nil {
		fmt.Fprintln(&text, terminal.ReviewLine(*w.Review))
	}
	n := 0
	for _, e := range w.Entries {
		n += len(e.Artifacts)
	}
	if n > 0 {
		fmt.Fprintf(&text, "%s: `starter artifacts %s`\n", terminal.Count(n, "artifact"), command.ShellWord(id))
	}
	text.WriteString(decide.OpenLines(c, w.Investigation.ID, w.Questions))
	return page(c, text.String())
}

// part selects a part of a transcript.
type part struct {
	agent, stage string
	tail         int // zero means all
}

// of reduces an investigation to the selected part.
func (p part) of(w *system.Record) error {
	if p == (part{}) {
		return nil
	}
	var names, agents, stages []string
	w.Executions = slices.DeleteFunc(w.Executions, func(e record.Execution) bool {
		agents, stages = append(agents, e.Agent), append(stages, e.Stage)
		_, name, _ := strings.Cut(e.Name, "/") // replicas have numbers
		other := p.stage != "" && e.Stage != p.stage || p.agent != "" && e.Agent != p.agent && name != p.agent
		if !other {
			names = append(names, e.Name)
		}
		return other
	})
	switch {
	case p.stage != "" && !slices.Contains(stages, p.stage):
		return base.Usagef("%s has no stage %q%s", w.Investigation.ID, p.stage, spell.Hint(p.stage, stages))
	case len(names) == 0:
		return base.Usagef("%s has no matching agent %q%s", w.Investigation.ID, p.agent, spell.Hint(p.agent, agents))
	}
	w.Stages = slices.DeleteFunc(w.Stages, func(s record.Stage) bool { return p.stage != "" && s.Name != p.stage || p.agent != "" })
	w.Entries = slices.DeleteFunc(w.Entries, func(e transcript.Entry) bool { return !slices.Contains(names, e.Execution) })
	if p.tail > 0 {
		w.Entries = w.Entries[max(len(w.Entries)-p.tail, 0):]
	}
	return nil
}

// showRemote prints the result or the status, which are known without the store.
func showRemote(ctx context.Context, c *base.CLI, id string) error {
	s, err := c.Client().Status(ctx, id)
	switch {
	case err != nil:
		return err
	case s.Result == nil:
		return printStatus(c, s)
	case c.JSON:
		return c.PrintJSON(s.Result)
	}
	return errors.Join(printStatus(c, s), terminal.End(endOf(*s.Result), c.Options(true)))
}
