package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/reveal"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/terminal"
	"github.com/inquest-dev/inquest/workflows"
)

func (c *cli) approvalsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "approvals [ID]",
		Short: "List the tool calls that wait for a person: of one investigation, or of all that run",
		Args:  atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return c.approvalsOf(cmd.Context(), args[0], asJSON)
			}
			return c.approvals(cmd.Context(), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the calls as JSON")
	return cmd
}

// waitingCall is a tool call that waits for a person.
type waitingCall struct {
	// ID is the workflow id of the investigation; that of the approval is the agent's.
	ID   string `json:"id"`
	Call string `json:"call"` // <execution>/<call_id>: what decide is given
	workflows.Approval
}

func waitingCalls(id string, all []workflows.Approval) []waitingCall {
	out := make([]waitingCall, 0, len(all))
	for _, a := range all {
		out = append(out, waitingCall{ID: id, Call: client.CallName(a), Approval: a})
	}
	return out
}

func (c *cli) approvalsOf(ctx context.Context, id string, asJSON bool) error {
	all, err := askOne(ctx, c, id, waitingIn)
	if err != nil {
		return err
	}
	return errors.Join(c.whole(ctx, all), c.printWaiting(all, asJSON))
}

func waitingIn(t client.Handle, status workflows.Status) []waitingCall {
	return waitingCalls(t.Workflow, status.Waiting)
}

func (c *cli) approvals(ctx context.Context, asJSON bool) error {
	all, err := askRunning(ctx, c, waitingIn)
	if err != nil && len(all) == 0 { // an empty table would say that nothing waits
		return err
	}
	whole := c.whole(ctx, all)
	return errors.Join(whole, c.printWaiting(all, asJSON), err)
}

// askOne asks an investigation that runs for what of its status is wanted.
func askOne[T any](ctx context.Context, c *cli, id string, wanted func(client.Handle, workflows.Status) []T) ([]T, error) {
	t, err := c.client().FindRunning(ctx, id)
	if err != nil {
		return nil, err
	}
	var status workflows.Status
	if err := t.Ask(ctx, &status); err != nil {
		return nil, err
	}
	return wanted(t, status), nil
}

// askRunning asks every investigation that runs. Those that do not answer hide nothing
// of the others; the error names them.
func askRunning[T any](ctx context.Context, c *cli, wanted func(client.Handle, workflows.Status) []T) (all []T, err error) {
	running, err := c.client().Running(ctx)
	if err != nil {
		return nil, err
	}
	var silent []error
	for n, answer := range askAll(ctx, running) {
		if answer.err != nil {
			silent = append(silent, answer.err)
		}
		all = append(all, wanted(running[n], answer.status)...)
	}
	if len(silent) == 0 || ctx.Err() != nil {
		return all, ctx.Err()
	}
	advice := fmt.Errorf("%d of %d running investigations could not be asked what waits in them: start a worker for them, and ask again",
		len(silent), len(running))
	return all, errors.Join(append(silent[:min(len(silent), maxSilent)], advice)...)
}

// maxSilent bounds the investigations that are named because they do not answer.
const maxSilent = 10

// answered is what an investigation says when it is asked for its status.
type answered struct {
	status workflows.Status
	err    error
}

// askedAtOnce bounds how many investigations are asked at the same time: each
// question is a task for a worker.
const askedAtOnce = 8

// askAll asks investigations for their status, in their order.
func askAll(ctx context.Context, running []client.Handle) []answered {
	out := make([]answered, len(running))
	slots := make(chan struct{}, askedAtOnce)
	var group sync.WaitGroup
	for n, t := range running {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			out[n].err = t.Ask(ctx, &out[n].status)
		})
	}
	group.Wait()
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
		fmt.Fprintf(c.out, "\n%s%s %s\n  digest %s\n%s\n", call.HiddenNote(), terminal.CleanLine(call.Call), terminal.CleanLine(reveal.Name(call.Tool)),
			call.Digest, indented(call.Approval))
	}
	return nil
}

// size is how much a person has to read of a call, which stands below the table.
func size(a workflows.Approval) string {
	text := fmt.Sprintf("%d bytes", max(a.Size, len(a.Arguments)))
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
func indented(a workflows.Approval) string {
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
	line := []rune(terminal.CleanLine(text))
	if len(line) > maxShown {
		return string(line[:maxShown-1]) + "…"
	}
	return string(line)
}

func expiresIn(at time.Time) string {
	return max(time.Until(at), 0).Round(time.Second).String()
}
