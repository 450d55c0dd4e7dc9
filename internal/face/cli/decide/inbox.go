package decide

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/inbox"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
	"github.com/inquest-dev/inquest/internal/record"
)

// NewInbox returns the command inbox.
func NewInbox(c *base.CLI) *cobra.Command {
	return waitingCommand(c, &cobra.Command{
		Use:   "inbox [ID]",
		Short: "List what needs a person: calls to approve, questions, reviews",
		Long: `List what needs a person, in one investigation or in all running ones: tool calls to
approve, questions, and reviews, most urgent first. Pass the numbers to "starter
decide" and "starter answer". Each item keeps its number, and numbers are not reused, so you
decide only on what you have seen here. Both commands refuse an item that has changed or is
no longer pending.`,
		Example: `  starter inbox
  starter decide 1 --approve
  starter answer 2 --text "the database of the shop"`,
	}, isThing)
}

// NewApprovals returns the command approvals.
func NewApprovals(c *base.CLI) *cobra.Command {
	return waitingCommand(c, &cobra.Command{
		Use:     "approvals [ID]",
		Short:   "List only the calls to approve",
		Example: `  starter approvals lab`,
	}, isCall)
}

// waitingCommand turns cmd into a command that lists pending items, most urgent first.
func waitingCommand(c *base.CLI, cmd *cobra.Command, listed func(thing) bool) *cobra.Command {
	cmd.Args = base.AtMostOne
	cmd.ValidArgsFunction = base.AtFirst(completeWaiting(c, listed))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := c.Meant(cmd.Context(), base.First(args))
		if err != nil {
			return err
		}
		waiting, err := c.Client().Waiting(cmd.Context(), id)
		all := slices.DeleteFunc(urgent(waiting), func(one thing) bool { return !listed(one) })
		if len(all) == 0 {
			if err != nil { // an empty table would suggest that nothing is pending
				return err
			}
			c.SayStore(cmd.Context())
			if !c.JSON {
				return c.Print("Nothing needs your attention.")
			}
		}
		if failed := number(c, all); failed != nil {
			c.Say("starter: %v; use IDs instead of numbers with decide and answer", failed)
		}
		return errors.Join(printThings(cmd.Context(), c, all), err)
	}
	cmd.Flags().BoolVar(&c.JSON, "json", false, "print the items as JSON")
	return cmd
}

// thing is a question or a tool call that needs a person.
type thing struct {
	N     int             `json:"n,omitempty"` // accepted by decide and answer; zero if none could be assigned
	ID    string          `json:"id"`          // the workflow's ID
	Kind  string          `json:"kind"`        // "approval", or the kind of the question
	Name  string          `json:"name"`        // accepted by decide and answer together with the ID
	Stage string          `json:"stage"`
	Text  string          `json:"question,omitempty"`
	Data  json.RawMessage `json:"data,omitempty"`
	// Expires is zero while the investigation is paused.
	Expires time.Time `json:"expires,omitzero"`
	Call    string    `json:"call,omitempty"` // name of a call
	*record.Approval
	investigation string
}

const kindApproval = "approval"

func thingsIn(w record.Waiting) (all []thing) {
	for _, q := range w.Questions {
		all = append(all, thing{
			ID: w.WorkflowID, Kind: q.Kind, Name: q.ID, Stage: q.Stage, Text: q.Question, Data: q.Data, Expires: q.Expires,
			investigation: w.Investigation,
		})
	}
	for _, a := range w.Approvals {
		stage, _, _ := strings.Cut(a.Execution, "/")
		all = append(all, thing{
			ID: w.WorkflowID, Kind: kindApproval, Name: a.Name(), Stage: stage, Expires: a.Expires, Call: a.Name(), Approval: &a,
			investigation: w.Investigation,
		})
	}
	return all
}

// key identifies an item, even among items that used the same name at different times.
func (t thing) key() inbox.Item {
	digest := digestOf(t.Text, string(t.Data))
	if t.Approval != nil {
		digest = cmp.Or(t.Digest, digestOf(t.Tool, t.Arguments))
	}
	return inbox.Item{Investigation: t.investigation, Name: t.Name, Kind: t.Kind, Digest: digest}
}

// urgent sorts pending items, most urgent first and paused ones last. It drops expired items, because a terminated conversation cannot
// remove its own.
func urgent(waiting []record.Waiting) (all []thing) {
	for _, w := range waiting {
		all = append(all, thingsIn(w)...)
	}
	all = slices.DeleteFunc(all, func(one thing) bool { return record.Expired(one.Expires) })
	slices.SortStableFunc(all, func(a, b thing) int {
		return cmp.Or(paused(a.Expires)-paused(b.Expires), a.Expires.Compare(b.Expires), cmp.Compare(a.ID+" "+a.Name, b.ID+" "+b.Name))
	})
	return all
}

// paused returns 1 for the zero time, which means that nothing expires during a pause.
func paused(until time.Time) int {
	if until.IsZero() {
		return 1
	}
	return 0
}

func printThings(ctx context.Context, c *base.CLI, all []thing) error {
	lacking := fetchArguments(ctx, c, all) // an error does not hide the items
	if c.JSON {
		return errors.Join(lacking, c.PrintJSON(append([]thing{}, all...))) // not null in JSON
	}
	cut, err := base.PrintFitted(c.Out, c, "#\tID\tITEM\tKIND\tSTAGE\tTEXT\tEXPIRES IN", all, func(t thing) []any {
		text := base.Shorten(t.Text)
		if t.Approval != nil {
			text = fmt.Sprintf("%s · risk %s · %s", reveal.Name(t.Tool), cmp.Or(t.Risk, "-"), size(*t.Approval))
		}
		return []any{cmp.Or(strconv.Itoa(t.N), "-"), t.ID, t.Name, t.Kind, t.Stage, text, expiresIn(t.Expires)}
	})
	if err != nil {
		return err
	}
	for n, t := range all {
		switch {
		case t.Approval != nil:
			lines := []string{"", fmt.Sprintf("%d· %s%s %s: %s", t.N, t.HiddenNote(), terminal.CleanLine(t.Name),
				terminal.CleanLine(reveal.Name(t.Tool)), terminal.CleanLine(reveal.Text(t.Deadline(t.LeftAt(time.Now())))))}
			for _, line := range t.Why() {
				lines = append(lines, "  "+terminal.CleanLine(reveal.Text(line)))
			}
			lines = append(lines, "  digest "+shortDigest(*t.Approval), indented(*t.Approval))
			for _, fact := range t.Facts() {
				lines = append(lines, "  · "+terminal.CleanLine(reveal.Text(fact)))
			}
			if t.N > 0 {
				lines = append(lines, fmt.Sprintf("  Decide: starter decide %d --approve (or --deny --reason …)", t.N))
			}
			err = c.Print(lines...)
		case cut[n] || base.Shorten(t.Text) != terminal.CleanLine(t.Text) || len(t.Data) > 0: // the table does not show all of it
			text := strings.ReplaceAll(terminal.Clean(reveal.Text(t.Text)), "\n", "\n  ")
			lines := []string{"", fmt.Sprintf("%d· %s", t.N, terminal.CleanLine(t.Name)), "  " + text}
			if len(t.Data) > 0 {
				lines = append(lines, indented(record.Approval{Arguments: string(t.Data)}))
			}
			err = c.Print(lines...)
		}
		if err != nil {
			return err
		}
	}
	return lacking
}

// OpenLines lists the questions of an investigation and how to answer them.
func OpenLines(c *base.CLI, id string, questions []record.Question) (lines string) {
	for _, q := range questions {
		lines += questionNotice(id, q).Lines("? ", c.Options(false).Width) + "\n"
	}
	return lines
}
