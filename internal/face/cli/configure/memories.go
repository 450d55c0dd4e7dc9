package configure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/knowledge/learning"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
)

// NewMemories returns the command memories.
func NewMemories(c *base.CLI) *cobra.Command {
	cmd := base.Group("memories", "Show, change and withdraw learnings from investigations",
		memoriesListCommand(c), memoriesShowCommand(c), memoriesEditCommand(c), memoriesDeleteCommand(c), memoriesWithdrawCommand(c))
	cmd.Long = `Show, change and withdraw the learnings from a project's investigations, which later ones use
(see docs/how-to/learn-from-incidents.md). LEARNING is the ID of a learning, such as L17.
For the notes that agents keep for themselves, see "starter memory".`
	return cmd
}

// learningFlags are shared by the commands for learnings.
type learningFlags struct{ project, by string }

func (f *learningFlags) add(c *base.CLI, cmd *cobra.Command, changes bool) *cobra.Command {
	set := cmd.Flags()
	if !strings.Contains(cmd.Use, " ID") { // an investigation has a project
		set.StringVar(&f.project, "project", "", "project of the learnings (default: "+agent.DefaultProject+")")
	}
	set.BoolVar(&c.JSON, "json", false, "print as JSON")
	if changes {
		set.StringVar(&f.by, "by", base.UserName(), "name recorded with the change")
	}
	return cmd
}

func (f *learningFlags) path(name string) system.LearningIn {
	return system.LearningIn{ProjectIn: system.ProjectIn{Project: f.project}, Learning: name}
}

func (f *learningFlags) who() agent.Identity {
	return base.Person(f.by)
}

// learningError explains an error of a command about a learning.
func learningError(name string, err error) error {
	switch {
	case errors.Is(err, record.ErrNotFound):
		return base.Usagef("no learning %s in this project: run `starter memories list --withdrawn` to see all", terminal.CleanLine(name))
	case errors.Is(err, system.ErrNoStore):
		return base.Usagef("learnings are in the workers' store, and no store was found here: set --store")
	}
	return err
}

func memoriesListCommand(c *base.CLI) *cobra.Command {
	var f learningFlags
	var in system.LearningsIn
	cmd := &cobra.Command{
		Use: "list", Short: "List or search learnings, newest first", Args: base.Exactly(),
		Example: "  starter memories list --project payments --find 'connection pool'",
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			ctx := cmd.Context()
			in.Project = f.project
			if in.Limit < 1 {
				return base.Usagef("--limit must be at least 1")
			}
			if in.Investigation, err = c.Meant(ctx, in.Investigation); err != nil {
				return err
			}
			all, err := listLearnings(ctx, c, in)
			if err != nil {
				return learningError("", err)
			}
			if c.JSON {
				return c.PrintJSON(all)
			}
			return printLearnings(c, all)
		},
	}
	set := cmd.Flags()
	set.StringVar(&in.Search, "find", "", "only learnings that contain at least one of these words")
	set.StringVar(&in.Investigation, "from", "", "only learnings from this investigation")
	set.BoolVar(&in.Withdrawn, "withdrawn", false, "also list withdrawn learnings")
	set.IntVar(&in.Limit, "limit", 50, "maximum number of learnings")
	return f.add(c, cmd, false)
}

// learningsPage is the largest page that the API returns.
const learningsPage = 200

// listLearnings reads pages until it has as many learnings as in.Limit. The result is never nil.
func listLearnings(ctx context.Context, c *base.CLI, in system.LearningsIn) ([]system.Learning, error) {
	all := []system.Learning{}
	for most := in.Limit; ; {
		in.Limit = min(most-len(all), learningsPage)
		page, err := c.Client().Learnings(ctx, in)
		all = append(all, page.Items...)
		if in.Cursor = page.Next; err != nil || page.Next == "" || len(all) >= most {
			return all, err
		}
	}
}

func printLearnings(c *base.CLI, all []system.Learning) error {
	return base.PrintTable(c, "LEARNING\tKIND\tPOLARITY\tCONFIDENCE\tTEXT", all, func(l system.Learning) []any {
		text := strings.Join(strings.Fields(l.Text), " ")
		if l.Withdrawn != nil {
			text = "[" + withdrawnLine(*l.Withdrawn) + "] " + text
		}
		return []any{l.ID, l.Kind, l.Polarity, fmt.Sprintf("%.2f", l.Confidence), text}
	})
}

// withdrawnLine says who withdrew a learning, when and why.
func withdrawnLine(w learning.Withdrawn) string {
	line := "withdrawn by " + w.By + " on " + w.At.Local().Format(base.DateTime)
	if w.Why != "" {
		line += ": " + w.Why
	}
	return line
}

func memoriesShowCommand(c *base.CLI) *cobra.Command {
	var f learningFlags
	cmd := &cobra.Command{
		Use: "show LEARNING", Short: "Show a learning, its origin, and who received it", Args: base.Exactly("LEARNING"),
		Example: "  starter memories show L17 --project payments",
		RunE: func(cmd *cobra.Command, args []string) error {
			in := system.GetLearningIn{LearningIn: f.path(args[0])}
			out, err := c.Client().Learning(cmd.Context(), in)
			if err != nil {
				return learningError(args[0], err)
			}
			err = addOlderReads(&out.LearningReads, func(cursor string) (system.LearningReads, error) {
				in.Cursor = cursor
				page, err := c.Client().Learning(cmd.Context(), in)
				return page.LearningReads, err
			})
			if err != nil {
				return learningError(args[0], err)
			}
			if c.JSON {
				return c.PrintJSON(out)
			}
			if err := c.Print(learningLines(out.Learning)...); err != nil {
				return err
			}
			return printReads(c, out.LearningReads)
		},
	}
	return f.add(c, cmd, false)
}

func learningLines(l system.Learning) []string {
	lines := []string{
		fmt.Sprintf("%s · %s · %s · confidence %.2f", l.ID, l.Kind, l.Polarity, l.Confidence), l.Text,
		fmt.Sprintf("from %s, journal rows %v, on %s", l.Investigation, l.Rows, l.Created.Local().Format(base.DateTime)),
		fmt.Sprintf("confirmed %s, contradicted %s", terminal.Count(l.Confirmed, "time"), terminal.Count(l.Contradicted, "time")),
	}
	if len(l.Untrusted) > 0 {
		lines = append(lines, "the agents had read untrusted text from "+strings.Join(l.Untrusted, ", "))
	}
	if l.EditedBy != "" {
		lines = append(lines, "edited by "+l.EditedBy+" on "+l.Changed.Local().Format(base.DateTime))
	}
	if l.Withdrawn != nil {
		lines = append(lines, withdrawnLine(*l.Withdrawn))
	}
	for n, line := range lines {
		lines[n] = terminal.CleanLine(line)
	}
	return lines
}

// addOlderReads reads the pages after a first one, and adds their reads to it.
func addOlderReads(to *system.LearningReads, page func(cursor string) (system.LearningReads, error)) error {
	pages := [][]system.LearningRead{to.Reads}
	for to.Next != "" {
		older, err := page(to.Next)
		if err != nil {
			return fmt.Errorf("list who received learnings: %w", err)
		}
		pages = append(pages, older.Reads)
		to.MoreReads, to.Next = older.MoreReads, older.Next
	}
	if len(pages) > 1 {
		slices.Reverse(pages) // the oldest first
		to.Reads = slices.Concat(pages...)
	}
	return nil
}

// addOlderTaught adds all older reads of an investigation's learnings.
func addOlderTaught(ctx context.Context, c *base.CLI, out *system.Taught) error {
	return addOlderReads(&out.LearningReads, func(cursor string) (system.LearningReads, error) {
		in := system.TaughtIn{ByID: system.ByID{ID: out.Investigation}, ReadsIn: system.ReadsIn{Cursor: cursor}}
		page, err := c.Client().Taught(ctx, in)
		return page.LearningReads, err
	})
}

func printReads(c *base.CLI, of system.LearningReads) error {
	if len(of.Reads) == 0 {
		return c.Print("not used by any other investigation")
	}
	if of.MoreReads { // an older server does not list more
		c.Say("only the %d most recent uses are listed", len(of.Reads))
	}
	return base.PrintTable(c, "LEARNING\tINVESTIGATION\tHOW\tAT", of.Reads, func(r system.LearningRead) []any {
		return []any{r.Learning, r.Investigation, r.How, r.At.Local().Format(base.DateTime)}
	})
}

func memoriesEditCommand(c *base.CLI) *cobra.Command {
	var f learningFlags
	var kind, polarity, text string
	var confidence float64
	cmd := &cobra.Command{
		Use: "edit LEARNING", Short: "Change a learning", Args: base.Exactly("LEARNING"),
		Example: "  starter memories edit L17 --text 'The pool has 40' --confidence 0.9",
		Long:    `Change a learning. Values for which you give no flag stay as they are. Running investigations keep the old text.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			in, changed := system.EditLearningIn{LearningIn: f.path(args[0])}, cmd.Flags().Changed
			if changed("kind") {
				in.Body.Kind = new(learning.Kind(kind))
			}
			if changed("polarity") {
				in.Body.Polarity = new(learning.Polarity(polarity))
			}
			if changed("confidence") {
				in.Body.Confidence = &confidence
			}
			if changed("text") {
				whole, err := c.Text("--text", text)
				if err != nil {
					return err
				}
				in.Body.Text = &whole
			}
			if in.Body == (system.LearningEdit{}) {
				return base.Usagef("nothing to change: use --text, --kind, --polarity or --confidence")
			}
			out, err := c.Client().EditLearning(cmd.Context(), in, f.who())
			if err != nil {
				return learningError(args[0], err)
			}
			if c.JSON {
				return c.PrintJSON(out)
			}
			return c.Print(learningLines(out)...)
		},
	}
	set := cmd.Flags()
	set.StringVar(&text, "text", "", "the new text, or @FILE, or - for standard input")
	set.StringVar(&kind, "kind", "", "semantic, episodic or procedural")
	set.StringVar(&polarity, "polarity", "", "positive, negative or neutral")
	set.Float64Var(&confidence, "confidence", 0, "from 0 to 1")
	return f.add(c, cmd, true)
}

func memoriesDeleteCommand(c *base.CLI) *cobra.Command {
	var f learningFlags
	cmd := &cobra.Command{
		Use: "delete LEARNING", Short: "Delete a learning", Args: base.Exactly("LEARNING"),
		Example: "  starter memories delete L17 --project payments",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.Client().DeleteLearning(cmd.Context(), f.path(args[0]), f.who()); err != nil {
				return learningError(args[0], err)
			}
			if c.JSON {
				return c.PrintJSON(map[string]string{"deleted": args[0]})
			}
			return c.Print("deleted " + terminal.CleanLine(args[0]))
		},
	}
	return f.add(c, cmd, true)
}

func memoriesWithdrawCommand(c *base.CLI) *cobra.Command {
	var f learningFlags
	var why string
	var list bool
	cmd := &cobra.Command{
		Use: "withdraw ID", Short: "Withdraw all learnings from a wrong investigation", Args: base.Exactly("ID"),
		Long: `Withdraw every learning from an investigation in one step, and list them with the
investigations that received one. Agents that start later do not get withdrawn learnings;
list shows them with --withdrawn. With --list, nothing is withdrawn.`,
		Example: `  starter memories withdraw lab --list
  starter memories withdraw lab --because "it blamed the wrong service"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			id, err := c.Meant(ctx, args[0])
			if err != nil {
				return err
			}
			in := system.WithdrawIn{ByID: system.ByID{ID: id}, Body: system.WithdrawBody{Reason: why}}
			var out system.Taught
			if list {
				out, err = c.Client().Taught(ctx, system.TaughtIn{ByID: in.ByID})
			} else {
				out, err = c.Client().WithdrawLearnings(ctx, in, f.who())
			}
			if err == nil {
				err = addOlderTaught(ctx, c, &out)
			}
			return printTaught(c, out, err)
		},
	}
	cmd.Flags().StringVar(&why, "because", "", "the reason, recorded with each learning")
	cmd.Flags().BoolVar(&list, "list", false, "list the learnings and the investigations that received them, and withdraw nothing")
	return f.add(c, cmd, true)
}

func printTaught(c *base.CLI, out system.Taught, err error) error {
	switch {
	case errors.Is(err, system.ErrNoStore):
		return learningError("", err)
	case err != nil:
		return err
	case c.JSON:
		return c.PrintJSON(out)
	case len(out.Learnings)+len(out.Deleted) == 0:
		return c.Print(append([]string{terminal.CleanLine(out.Investigation) + " produced no learnings"}, judgedLines(out.Judged)...)...)
	}
	return printTaughtLines(c, out)
}

func printTaughtLines(c *base.CLI, out system.Taught) error {
	if len(out.Learnings) > 0 {
		if err := printLearnings(c, out.Learnings); err != nil {
			return err
		}
	}
	if len(out.Deleted) > 0 {
		if err := c.Print("deleted: " + terminal.CleanLine(strings.Join(out.Deleted, ", "))); err != nil {
			return err
		}
	}
	if len(out.Learnings)+len(out.Deleted) > 0 {
		if err := printReads(c, out.LearningReads); err != nil {
			return err
		}
	}
	if len(out.Judged) == 0 {
		return nil
	}
	return c.Print(judgedLines(out.Judged)...)
}

// judgedLines says which learnings of others an investigation confirmed and contradicted.
func judgedLines(all []system.Judged) (lines []string) {
	for _, j := range all {
		line := "contradicted "
		if j.Confirms {
			line = "confirmed "
		}
		line += terminal.CleanLine(j.Learning)
		if j.Undone {
			line += " (undone)"
		}
		lines = append(lines, line)
	}
	return lines
}
