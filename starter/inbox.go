package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/reveal"
	"github.com/inquest-dev/inquest/internal/terminal"
)

func inboxCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "inbox [ID]",
		Short: "List the questions that wait for people: of one investigation, or of all that run",
	}
	return waitingCommand(c, cmd, "print the questions as JSON", questionsIn, printQuestions)
}

// waiting is a question or a call that waits for a person: until when, and what it is sorted
// by besides.
type waiting interface {
	order() (until time.Time, name string)
}

// waitingCommand makes a command of cmd that lists what waits, the most urgent first.
func waitingCommand[T waiting](
	c *cli, cmd *cobra.Command, aboutJSON string, in func(record.Waiting) []T, show func(context.Context, *cli, []T) error,
) *cobra.Command {
	cmd.Args = atMostOne
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		waiting, err := c.client().Waiting(cmd.Context(), first(args))
		all := urgent(waiting, in)
		if len(all) == 0 {
			if err != nil { // an empty table would say that nothing waits
				return err
			}
			c.sayStore(cmd.Context())
		}
		return errors.Join(show(cmd.Context(), c, all), err)
	}
	cmd.Flags().BoolVar(&c.json, "json", false, aboutJSON)
	return cmd
}

// urgent is what waits, the most urgent first and what is paused last, without what has
// expired: a conversation that was terminated cannot say so.
func urgent[T waiting](waiting []record.Waiting, in func(record.Waiting) []T) (all []T) {
	for _, w := range waiting {
		all = append(all, in(w)...)
	}
	all = slices.DeleteFunc(all, func(one T) bool {
		until, _ := one.order()
		return record.Expired(until)
	})
	slices.SortStableFunc(all, func(a, b T) int {
		until, name := a.order()
		then, other := b.order()
		return cmp.Or(paused(until)-paused(then), until.Compare(then), cmp.Compare(name, other))
	})
	return all
}

// paused is 1 for the time of what does not expire while it is paused.
func paused(until time.Time) int {
	if until.IsZero() {
		return 1
	}
	return 0
}

// first is the id that a command was given; "" = none.
func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// question waits for a person. Its ID is the workflow id of the investigation,
// its Question is what answer is given.
type question struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Text string          `json:"question"`
	Data json.RawMessage `json:"data,omitempty"`

	Kind    string    `json:"kind"`
	Stage   string    `json:"stage"`
	Expires time.Time `json:"expires,omitzero"`
}

func (q question) order() (time.Time, string) { return q.Expires, q.ID + " " + q.Name }

func questionsIn(w record.Waiting) (out []question) {
	for _, q := range w.Questions {
		out = append(out, question{
			ID: w.WorkflowID, Name: q.ID, Text: q.Question, Data: q.Data, Kind: q.Kind, Stage: q.Stage, Expires: q.Expires,
		})
	}
	return out
}

func printQuestions(_ context.Context, c *cli, all []question) error {
	if c.json {
		return c.printJSON(append([]question{}, all...)) // never null
	}
	cut, err := printFitted(c, "ID\tQUESTION\tKIND\tSTAGE\tTEXT\tEXPIRES IN", all, func(q question) []any {
		return []any{q.ID, q.Name, q.Kind, q.Stage, shorten(q.Text), expiresIn(q.Expires)}
	})
	if err != nil {
		return err
	}
	for n, q := range all {
		if cut[n] || shorten(q.Text) != terminal.CleanLine(q.Text) || len(q.Data) > 0 { // the table has not all of it
			text := strings.ReplaceAll(terminal.Clean(reveal.Text(q.Text)), "\n", "\n  ")
			fmt.Fprintf(c.out, "\n%s\n  %s\n%s\n", terminal.CleanLine(q.Name), text, indented(record.Approval{Arguments: string(q.Data)}))
		}
	}
	return nil
}

// printOpen prints the questions of an investigation, and how to answer them.
func (c *cli) printOpen(id string, questions []record.Question) {
	for _, q := range questions {
		fmt.Fprintln(c.out, "? "+questionLine(id, q))
	}
}
