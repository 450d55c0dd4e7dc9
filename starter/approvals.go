package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/clip"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/reveal"
	"github.com/inquest-dev/inquest/internal/terminal"
)

func approvalsCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "approvals [ID]",
		Short: "List the tool calls that wait for a person: of one investigation, or of all that run",
	}
	return waitingCommand(c, cmd, "print the calls as JSON", callsIn, printCalls)
}

// waitingCall is a tool call that waits for a person.
type waitingCall struct {
	// ID is the workflow id of the investigation; that of the approval is the agent's.
	ID   string `json:"id"`
	Call string `json:"call"` // <execution>/<call_id>: what decide is given
	record.Approval
}

func (w waitingCall) order() (time.Time, string) { return w.Expires, w.ID + " " + w.Call }

func callsIn(w record.Waiting) (out []waitingCall) {
	for _, a := range w.Approvals {
		out = append(out, waitingCall{ID: w.WorkflowID, Call: a.Name(), Approval: a})
	}
	return out
}

func printCalls(ctx context.Context, c *cli, all []waitingCall) error {
	lacking := fetchArguments(ctx, c, all) // which hides nothing of what is there
	if c.json {
		return errors.Join(lacking, c.printJSON(append([]waitingCall{}, all...))) // never null
	}
	err := printTable(c, "ID\tCALL\tTOOL\tRISK\tARGUMENTS\tEXPIRES IN", all, func(call waitingCall) []any {
		return []any{call.ID, call.Call, reveal.Name(call.Tool), call.Risk, size(call.Approval), expiresIn(call.Expires)}
	})
	if err != nil {
		return err
	}
	for _, call := range all {
		fmt.Fprintf(c.out, "\n%s%s %s\n  digest %s\n%s\n", call.HiddenNote(), terminal.CleanLine(call.Call),
			terminal.CleanLine(reveal.Name(call.Tool)), call.Digest, indented(call.Approval))
	}
	return lacking
}

// size is how much a person has to read of a call, which stands below the table.
func size(a record.Approval) string {
	text := fmt.Sprintf("%d bytes", a.Bytes())
	if a.Hidden > 0 {
		text += fmt.Sprintf(", %d hidden", a.Hidden)
	}
	return text
}

// fetchArguments puts the arguments that are too long for a status in the place of their
// beginnings, from the store.
func fetchArguments(ctx context.Context, c *cli, all []waitingCall) (lacking error) {
	for n := range all {
		err := c.client().Text(ctx, &all[n].Arguments, all[n].ArgumentsRef)
		if errors.Is(err, client.ErrNoStore) {
			c.sayNoStore()
			return nil
		}
		if err != nil {
			lacking = errors.Join(lacking, fmt.Errorf("the arguments of %s: %w", all[n].Call, err))
		}
	}
	return lacking
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
	if at.IsZero() {
		return "paused"
	}
	return max(time.Until(at), 0).Round(time.Second).String()
}
