package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/reveal"
	"github.com/inquest-dev/inquest/internal/terminal"
)

func (c *cli) inboxCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "inbox [ID]",
		Short: "List the questions that wait for people: of one investigation, or of all that run",
		Args:  atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			waiting, err := c.client().Waiting(cmd.Context(), first(args))
			all := questionsIn(waiting)
			if err != nil && len(all) == 0 { // an empty table would say that nothing waits
				return err
			}
			if len(all) == 0 {
				c.sayStore(cmd.Context())
			}
			return errors.Join(c.printQuestions(all, asJSON), err)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the questions as JSON")
	return cmd
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
	Expires time.Time `json:"expires"`
}

// questionsIn leaves out what has expired: an investigation that was terminated cannot say so.
func questionsIn(waiting []record.Waiting) (out []question) {
	for _, w := range waiting {
		for _, q := range w.Questions {
			if !q.Expires.After(time.Now()) {
				continue
			}
			out = append(out, question{
				ID: w.WorkflowID, Name: q.ID, Text: q.Question, Data: q.Data, Kind: q.Kind, Stage: q.Stage, Expires: q.Expires,
			})
		}
	}
	return out
}

// printQuestions prints questions, the most urgent one first.
func (c *cli) printQuestions(all []question, asJSON bool) error {
	slices.SortStableFunc(all, func(a, b question) int {
		return cmp.Or(a.Expires.Compare(b.Expires), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Name, b.Name))
	})
	if asJSON {
		return c.printJSON(append([]question{}, all...)) // never null
	}
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tQUESTION\tKIND\tSTAGE\tTEXT\tEXPIRES IN")
	for _, q := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", terminal.CleanLine(q.ID), terminal.CleanLine(q.Name), q.Kind,
			terminal.CleanLine(q.Stage), shorten(q.Text), expiresIn(q.Expires))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, q := range all {
		if len([]rune(terminal.CleanLine(q.Text))) > maxShown || len(q.Data) > 0 { // the table has not all of it
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
