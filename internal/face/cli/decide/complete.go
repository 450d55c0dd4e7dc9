package decide

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
)

// completeWaiting completes the IDs of investigations that need attention, then the items pending in one.
func completeWaiting(c *base.CLI, wanted func(thing) bool) base.Completions {
	return func(cmd *cobra.Command, args []string, _ string) (words []string, _ cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), base.CompleteTimeout)
		defer cancel()
		if len(args) > 1 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		waiting, _ := c.Client().Waiting(ctx, base.First(args)) // no completions if there is no answer in time
		for _, w := range waiting {
			for _, one := range thingsIn(w) {
				switch {
				case !wanted(one):
				case len(args) == 0:
					words = append(words, terminal.CleanLine(one.ID))
				case one.Approval != nil:
					words = append(words, terminal.CleanLine(one.Name)+"\t"+base.Shorten(one.Tool))
				default:
					words = append(words, terminal.CleanLine(one.Name)+"\t"+one.Kind+": "+base.Shorten(one.Text))
				}
			}
		}
		slices.Sort(words)
		return slices.Compact(words), cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteRules completes the rules in force.
func CompleteRules(c *base.CLI) base.Completions {
	return func(cmd *cobra.Command, _ []string, _ string) (words []string, _ cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), base.CompleteTimeout)
		defer cancel()
		if st, err := rulesStore(ctx, c); err == nil {
			rules, _ := st.Rules(ctx, "", false) // no completions if the store does not answer in time
			for _, r := range rules {
				words = append(words, r.ID+"\t"+base.Shorten(reveal.Text(r.String())))
			}
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

func isCall(one thing) bool { return one.Approval != nil }

func isQuestion(one thing) bool { return one.Approval == nil }

func isThing(thing) bool { return true }
