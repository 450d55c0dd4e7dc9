package look

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
)

// NewThreads returns the command threads.
func NewThreads(c *base.CLI) *cobra.Command {
	cmd := base.Group("threads", "List, search, show, export and delete conversations",
		threadsList(c), threadsSearch(c), threadsShow(c), threadsExport(c), threadsDelete(c))
	cmd.Long = `List, search, show, export and delete conversations, open or closed. THREAD is the name of a
conversation or its ID. To continue an open one, run "starter chat --thread NAME".`
	return cmd
}

// threadError explains an error of a command about a conversation.
func threadError(name string, err error) error {
	switch {
	case errors.Is(err, record.ErrNotFound):
		return base.Usagef("no conversation %s: run `starter threads list` to see all", terminal.CleanLine(name))
	case errors.Is(err, system.ErrNoStore):
		return base.Usagef("conversations are in the workers' store, and no store was found here: set --store")
	}
	return err
}

func threadsList(c *base.CLI) *cobra.Command {
	var in system.ThreadsIn
	var open bool
	cmd := &cobra.Command{
		Use: "list", Short: "List conversations, newest first", Args: base.Exactly(),
		Example: "  starter threads list --agent Memo",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if in.Limit < 1 {
				return base.Usagef("--limit must be at least 1")
			}
			all, err := allThreads(cmd.Context(), c, in, open)
			if err != nil {
				return threadError("", err)
			}
			if c.JSON {
				return c.PrintJSON(all)
			}
			return base.PrintTable(c, "THREAD\tAGENT\tSTATE\tTURNS\tACTIVE\tID\t"+UsageTitles, all, func(t system.Thread) []any {
				state := "open"
				if t.Closed {
					state = "closed"
				}
				cells := []any{t.Thread, t.Agent, state, t.Turns, t.Active.Local().Format(base.DateTime), t.ID}
				return append(cells, UsageCells(t.Usage)...)
			})
		},
	}
	set := cmd.Flags()
	set.StringVar(&in.Project, "project", "", "only this project (default: all)")
	set.StringVar(&in.Agent, "agent", "", "only conversations with this agent")
	set.StringVar(&in.About, "about", "", "only conversations about the investigation with this ID")
	set.BoolVar(&open, "open", false, "only open conversations")
	set.IntVar(&in.Limit, "limit", 50, "maximum number of conversations")
	set.BoolVar(&c.JSON, "json", false, "print as JSON")
	return cmd
}

// threadsPage is the largest page that the API returns.
const threadsPage = 1000

// allThreads reads pages until it has as many conversations as in.Limit. The result is never nil.
func allThreads(ctx context.Context, c *base.CLI, in system.ThreadsIn, open bool) ([]system.Thread, error) {
	all, most := []system.Thread{}, in.Limit
	for in.Limit = min(most, threadsPage); ; {
		page, err := c.Client().AllThreads(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, t := range page.Items {
			if len(all) < most && !(open && t.Closed) {
				all = append(all, t)
			}
		}
		if in.Cursor = page.Next; page.Next == "" || len(all) >= most {
			return all, nil
		}
	}
}

func threadsSearch(c *base.CLI) *cobra.Command {
	var in system.FindTurnsIn
	cmd := &cobra.Command{
		Use: "search WORDS", Short: "Find turns that contain all of the given words", Args: base.Exactly("WORDS"),
		Example: "  starter threads search 'node 7 disk'",
		RunE: func(cmd *cobra.Command, args []string) error {
			if in.Words = args[0]; in.Limit < 1 || in.Limit > 200 {
				return base.Usagef("--limit must be from 1 to 200")
			}
			found, err := c.Client().FindTurns(cmd.Context(), in)
			if err != nil {
				return threadError("", err)
			}
			if c.JSON {
				return c.PrintJSON(append([]system.FoundTurn{}, found.Items...)) // not null in JSON
			}
			return base.PrintTable(c, "THREAD\tTURN\tBY\tWHEN\tTEXT", found.Items, func(t system.FoundTurn) []any {
				return []any{t.Thread, t.Turn, t.Author, t.At.Local().Format(base.DateTime), t.Text}
			})
		},
	}
	set := cmd.Flags()
	set.StringVar(&in.Project, "project", "", "only this project (default: all)")
	set.StringVar(&in.Agent, "agent", "", "only conversations with this agent")
	set.IntVar(&in.Limit, "limit", 50, "maximum number of turns")
	set.BoolVar(&c.JSON, "json", false, "print as JSON")
	return cmd
}

func threadsShow(c *base.CLI) *cobra.Command {
	last := 20
	cmd := &cobra.Command{
		Use: "show THREAD", Short: "Show a conversation and its last messages", Args: base.Exactly("THREAD"),
		Example: "  starter threads show oncall",
		RunE: func(cmd *cobra.Command, args []string) error {
			in := system.ExportThreadIn{ThreadIn: system.ThreadIn{ID: args[0]}, Format: system.FormatJSON}
			content, err := c.Client().ExportThread(cmd.Context(), in)
			if err != nil {
				return threadError(args[0], err)
			}
			var t system.ThreadWhole
			if err := json.Unmarshal(content, &t); err != nil {
				return fmt.Errorf("read the conversation %s: %w", args[0], err)
			}
			if c.JSON {
				t.Entries = t.Entries[max(len(t.Entries)-last, 0):]
				return c.PrintJSON(t)
			}
			if err := c.Print(threadLines(t.Talk)...); err != nil {
				return err
			}
			return terminal.Recall(t.Entries, last, c.Options(false))
		},
	}
	cmd.Flags().IntVar(&last, "last", last, "number of messages to show (with --json: number of entries)")
	cmd.Flags().BoolVar(&c.JSON, "json", false, "print as JSON")
	return cmd
}

func threadLines(t system.Talk) []string {
	state := "closed"
	if t.Open {
		state = "open"
	}
	lines := []string{fmt.Sprintf("%s · %s · agent %s · %s", t.ID, state, t.Agent, terminal.Count(t.Turns, "turn"))}
	if t.About != "" {
		lines = append(lines, "about the investigation "+t.About)
	}
	for n, line := range lines {
		lines[n] = terminal.CleanLine(line)
	}
	return lines
}

func threadsExport(c *base.CLI) *cobra.Command {
	in, to := system.ExportThreadIn{}, ""
	cmd := &cobra.Command{
		Use: "export THREAD", Short: "Write a whole conversation as Markdown or JSON", Args: base.Exactly("THREAD"),
		Example: "  starter threads export oncall -o oncall.md",
		RunE: func(cmd *cobra.Command, args []string) error {
			in.ID, in.Format = args[0], "markdown"
			if c.JSON {
				in.Format = system.FormatJSON
			}
			content, err := c.Client().ExportThread(cmd.Context(), in)
			if err != nil {
				return threadError(args[0], err)
			}
			if to == "" || to == "-" {
				_, err = c.Out.Write(content)
				return err
			}
			return os.WriteFile(to, content, 0o600)
		},
	}
	cmd.Flags().StringVarP(&to, "output", "o", "", "file to write to (default: standard output)")
	cmd.Flags().BoolVar(&c.JSON, "json", false, "write JSON instead of Markdown")
	return cmd
}

func threadsDelete(c *base.CLI) *cobra.Command {
	var yes bool
	var by string
	cmd := &cobra.Command{
		Use: "delete THREAD", Short: "Close a conversation and delete everything that belongs to it", Args: base.Exactly("THREAD"),
		Example: "  starter threads delete oncall",
		Long: `Close a conversation and delete its messages, results, turns and workflow runs. Only the
audit trail is kept; it records who deleted the conversation. A conversation with a running
turn is not deleted.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !yes {
				if file, ok := c.In.(*os.File); !ok || !terminal.IsTerminal(file) {
					return base.Usagef("nothing was deleted: add --yes to delete without confirmation")
				}
				if !c.SaysYes("Delete the conversation " + terminal.CleanLine(args[0]) + " and all of its messages?") {
					return errors.New("nothing was deleted")
				}
			}
			out, err := c.Client().DeleteThread(cmd.Context(), args[0], base.Person(by))
			if err != nil {
				return threadError(args[0], err)
			}
			if c.JSON {
				return c.PrintJSON(out)
			}
			return c.Print(strings.TrimSpace("deleted " + terminal.CleanLine(out.ID)))
		},
	}
	set := cmd.Flags()
	set.BoolVar(&yes, "yes", false, "delete without confirmation")
	set.StringVar(&by, "by", base.UserName(), "name recorded with the deletion")
	set.BoolVar(&c.JSON, "json", false, "print as JSON")
	return cmd
}
