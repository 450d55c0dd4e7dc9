package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/clip"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/reveal"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/terminal"
)

func (c *cli) approvalsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "approvals [ID]",
		Short: "List the tool calls that wait for a person: of one investigation, or of all that run",
		Args:  atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			waiting, err := c.client().Waiting(cmd.Context(), first(args))
			all := callsIn(waiting)
			if err != nil && len(all) == 0 { // an empty table would say that nothing waits
				return err
			}
			if len(all) == 0 {
				c.sayStore(cmd.Context())
			}
			whole := c.whole(cmd.Context(), all)
			return errors.Join(whole, c.printWaiting(all, asJSON), err)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the calls as JSON")
	return cmd
}

// first is the id that a command was given; "" = none.
func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// waitingCall is a tool call that waits for a person.
type waitingCall struct {
	// ID is the workflow id of the investigation; that of the approval is the agent's.
	ID   string `json:"id"`
	Call string `json:"call"` // <execution>/<call_id>: what decide is given
	record.Approval
}

// callsIn leaves out what has expired: a conversation that was terminated cannot say so.
func callsIn(waiting []record.Waiting) (out []waitingCall) {
	for _, w := range waiting {
		for _, a := range w.Approvals {
			if a.Expires.After(time.Now()) {
				out = append(out, waitingCall{ID: w.WorkflowID, Call: a.Name(), Approval: a})
			}
		}
	}
	return out
}

// printWaiting prints the calls, the most urgent one first.
func (c *cli) printWaiting(all []waitingCall, asJSON bool) error {
	slices.SortStableFunc(all, func(a, b waitingCall) int {
		return cmp.Or(a.Expires.Compare(b.Expires), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Call, b.Call))
	})
	if asJSON {
		return c.printJSON(append([]waitingCall{}, all...)) // never null
	}
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tCALL\tTOOL\tRISK\tARGUMENTS\tEXPIRES IN")
	for _, call := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", terminal.CleanLine(call.ID), terminal.CleanLine(call.Call),
			terminal.CleanLine(reveal.Name(call.Tool)), call.Risk, size(call.Approval), expiresIn(call.Expires))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, call := range all {
		fmt.Fprintf(c.out, "\n%s%s %s\n  digest %s\n%s\n", call.HiddenNote(), terminal.CleanLine(call.Call),
			terminal.CleanLine(reveal.Name(call.Tool)), call.Digest, indented(call.Approval))
	}
	return nil
}

// size is how much a person has to read of a call, which stands below the table.
func size(a record.Approval) string {
	text := fmt.Sprintf("%d bytes", a.Bytes())
	if a.Hidden > 0 {
		text += fmt.Sprintf(", %d hidden", a.Hidden)
	}
	return text
}

// whole puts the arguments that are too long for a status in the place of their
// beginnings, from the store.
func (c *cli) whole(ctx context.Context, all []waitingCall) error {
	long := func(call waitingCall) bool { return call.ArgumentsRef != "" }
	if !slices.ContainsFunc(all, long) {
		return nil
	}
	return c.withStore(ctx, func(st *store.Store) error {
		if st == nil {
			c.sayNoStore()
			return nil
		}
		for n, call := range all {
			if !long(call) {
				continue
			}
			text, err := st.Blob(ctx, call.ArgumentsRef)
			if err != nil {
				c.say("starter: the arguments of %s: %v", call.Call, err)
				continue
			}
			all[n].Arguments = string(text)
		}
		return nil
	})
}

// indented are the arguments of a call, a line for each key; they are never cut in silence.
func indented(a record.Approval) string {
	const margin = "  "
	var text bytes.Buffer
	if json.Indent(&text, []byte(reveal.JSON(a.Arguments)), margin, "  ") != nil {
		text.Reset()
		text.WriteString(reveal.JSON(a.Arguments))
	}
	return margin + terminal.Clean(text.String()) + cutNotice(a)
}

// maxShown is how much of a text fits into a table, in characters.
const maxShown = 60

// shorten makes a text fit into a table.
func shorten(text string) string {
	return clip.Fit(terminal.CleanLine(text), maxShown)
}

func expiresIn(at time.Time) string {
	return max(time.Until(at), 0).Round(time.Second).String()
}
