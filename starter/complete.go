package main

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/terminal"
	"github.com/inquest-dev/inquest/workflows"
)

// completeTimeout is how long a shell may hang when somebody presses Tab.
const completeTimeout = 2 * time.Second

// choice is something that waits for a person, as a shell proposes it.
type choice struct {
	workflow, name, about string
}

// completeWaiting proposes the investigations that wait for people, and then what
// such an investigation waits for.
func (c *cli) completeWaiting(waiting func(client.Handle, workflows.Status) []choice) completions {
	return func(cmd *cobra.Command, args []string, _ string) (words []string, _ cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completeTimeout)
		defer cancel()
		switch len(args) {
		case 0:
			all, _ := askRunning(ctx, c, waiting) // who does not answer in time is not proposed
			for _, w := range all {
				words = append(words, terminal.CleanLine(w.workflow))
			}
		case 1:
			all, _ := askOne(ctx, c, args[0], waiting)
			for _, w := range all {
				words = append(words, terminal.CleanLine(w.name)+"\t"+w.about)
			}
		}
		slices.Sort(words)
		return slices.Compact(words), cobra.ShellCompDirectiveNoFileComp
	}
}

func questionChoices(t client.Handle, status workflows.Status) (out []choice) {
	for _, q := range status.Questions {
		out = append(out, choice{t.Workflow, q.ID, q.Kind + ": " + shorten(q.Question)})
	}
	return out
}

func callChoices(t client.Handle, status workflows.Status) (out []choice) {
	for _, a := range status.Waiting {
		out = append(out, choice{t.Workflow, client.CallName(a), shorten(a.Tool)})
	}
	return out
}
