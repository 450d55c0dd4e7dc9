package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/spell"
	"github.com/inquest-dev/inquest/internal/terminal"
	"github.com/inquest-dev/inquest/internal/transcript"
)

func showCommand(c *cli) *cobra.Command {
	var only part
	var found bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Print all that there is: the transcript, then the report",
		Long: `Print all that there is of an investigation: the whole transcript, prompts and
results included, and the report last. The report alone is printed by report.
With --evidence, print what tools and agents have found instead: each piece with its
number, the row of the journal that it stands in, and who named it; then what the
report says of it, and whether code has found that there.`,
		Example: `  starter show lab
  starter show lab --evidence
  starter show lab --stage dig --agent LogAgent --tail 5`,
		Args: exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if only.tail < 0 {
				return usagef("--tail %d: give 1 or more, or 0 for all", only.tail)
			}
			if found && only != (part{}) {
				return usagef("--evidence is that of the whole investigation: leave out --agent, --stage and --tail")
			}
			return show(cmd.Context(), c, args[0], only, found)
		},
	}
	set := cmd.Flags()
	set.StringVar(&only.agent, "agent", "", "only the transcript of this agent")
	set.StringVar(&only.stage, "stage", "", "only the transcript of this stage (of a stage that runs again, NAME#2)")
	set.IntVar(&only.tail, "tail", 0, "only the last so many entries of the transcript")
	set.BoolVar(&found, "evidence", false, "print what was found, and whether the report's claims stand in it")
	set.BoolVar(&c.json, "json", false, "print record, stages, executions and entries as JSON")
	c.pagerFlag(cmd)
	return cmd
}

func show(ctx context.Context, c *cli, id string, only part, found bool) error {
	id, err := c.meant(ctx, id)
	if err != nil {
		return err
	}
	w, err := c.client().Whole(ctx, id)
	switch {
	case errors.Is(err, client.ErrNoStore):
		c.sayNoStore()
		return showRemote(ctx, c, id)
	case errors.Is(err, record.ErrNotFound):
		c.say("this store does not know %s: showing what Temporal knows", id)
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
	if c.json {
		return c.printJSON(w)
	}
	var text bytes.Buffer
	if words := labelWords(w.Investigation.Labels); len(words) > 0 {
		about := []string{w.Investigation.ID}
		if by := w.Investigation.Envelope.By; by != "" {
			about = append(about, "requested by "+by)
		}
		fmt.Fprintln(&text, terminal.CleanLine(strings.Join(append(about, words...), " · ")))
	}
	opts := c.options(true)
	opts.Out = &text
	if err := terminal.Show(w.Investigation, w.Stages, w.Executions, w.Entries, opts); err != nil {
		return err
	}
	if s := w.Score(); s != nil {
		fmt.Fprint(&text, "\n"+terminal.Score(*s))
	}
	n := 0
	for _, e := range w.Entries {
		n += len(e.Artifacts)
	}
	if n > 0 {
		fmt.Fprintf(&text, "%s: `starter artifacts %s`\n", terminal.Count(n, "artifact"), command.ShellWord(id))
	}
	text.WriteString(c.openLines(w.Investigation.ID, w.Questions))
	return c.page(text.String())
}

// part selects a part of a transcript.
type part struct {
	agent, stage string
	tail         int // zero means all
}

// of reduces an investigation to the selected part.
func (p part) of(w *client.Whole) error {
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
		return usagef("%s has no stage %q%s", w.Investigation.ID, p.stage, spell.DidYouMean(p.stage, stages))
	case len(names) == 0:
		return usagef("%s has no agent %q there%s", w.Investigation.ID, p.agent, spell.DidYouMean(p.agent, agents))
	}
	w.Stages = slices.DeleteFunc(w.Stages, func(s record.Stage) bool { return p.stage != "" && s.Name != p.stage || p.agent != "" })
	w.Entries = slices.DeleteFunc(w.Entries, func(e transcript.Entry) bool { return !slices.Contains(names, e.Execution) })
	if p.tail > 0 {
		w.Entries = w.Entries[max(len(w.Entries)-p.tail, 0):]
	}
	return nil
}

// showRemote prints the result or the status, which are known without the store.
func showRemote(ctx context.Context, c *cli, id string) error {
	s, err := c.client().Status(ctx, id)
	switch {
	case err != nil:
		return err
	case s.Result == nil:
		return printStatus(c, s)
	case c.json:
		return c.printJSON(s.Result)
	}
	return errors.Join(printStatus(c, s), terminal.End(endOf(*s.Result), c.options(true)))
}
