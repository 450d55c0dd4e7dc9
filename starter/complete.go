package main

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/terminal"
)

// completeTimeout is how long a shell may hang when somebody presses Tab.
const completeTimeout = 2 * time.Second

// choice is something that waits for a person, as a shell proposes it.
type choice struct{ name, about string }

// completeWaiting proposes the investigations that wait for people, and then what
// such an investigation waits for.
func completeWaiting(c *cli, choices func(record.Waiting) []choice) completions {
	return func(cmd *cobra.Command, args []string, _ string) (words []string, _ cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completeTimeout)
		defer cancel()
		if len(args) > 1 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		waiting, _ := c.client().Waiting(ctx, first(args)) // who does not answer in time is not proposed
		for _, w := range waiting {
			for _, one := range choices(w) {
				word := terminal.CleanLine(w.WorkflowID)
				if len(args) == 1 {
					word = terminal.CleanLine(one.name) + "\t" + one.about
				}
				words = append(words, word)
			}
		}
		slices.Sort(words)
		return slices.Compact(words), cobra.ShellCompDirectiveNoFileComp
	}
}

func questionChoices(w record.Waiting) (out []choice) {
	for _, q := range w.Questions {
		out = append(out, choice{q.ID, q.Kind + ": " + shorten(q.Question)})
	}
	return out
}

func callChoices(w record.Waiting) (out []choice) {
	for _, a := range w.Approvals {
		out = append(out, choice{a.Name(), shorten(a.Tool)})
	}
	return out
}
