package main

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/terminal"
)

// completeTimeout is how long a shell may hang when somebody presses Tab.
const completeTimeout = 2 * time.Second

// completeWaiting proposes the investigations that wait for people, and then what
// such an investigation waits for.
func completeWaiting(c *cli, wanted func(thing) bool) completions {
	return func(cmd *cobra.Command, args []string, _ string) (words []string, _ cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completeTimeout)
		defer cancel()
		if len(args) > 1 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		waiting, _ := c.client().Waiting(ctx, first(args)) // who does not answer in time is not proposed
		for _, w := range waiting {
			for _, one := range thingsIn(w) {
				switch {
				case !wanted(one):
				case len(args) == 0:
					words = append(words, terminal.CleanLine(one.ID))
				case one.Approval != nil:
					words = append(words, terminal.CleanLine(one.Name)+"\t"+shorten(one.Tool))
				default:
					words = append(words, terminal.CleanLine(one.Name)+"\t"+one.Kind+": "+shorten(one.Text))
				}
			}
		}
		slices.Sort(words)
		return slices.Compact(words), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeOne is completeWaiting for commands that take nothing but an investigation.
func completeOne(c *cli, wanted func(thing) bool) completions {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completeWaiting(c, wanted)(cmd, args, word)
	}
}

func isCall(one thing) bool     { return one.Approval != nil }
func isQuestion(one thing) bool { return one.Approval == nil }
func isThing(thing) bool        { return true }
