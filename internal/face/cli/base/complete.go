package base

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/record"
)

// CompleteTimeout limits how long pressing Tab can block a shell.
const CompleteTimeout = 2 * time.Second

// proposed is the maximum number of investigations in a completion.
const proposed = 50

// AtFirst completes only the first argument.
func AtFirst(words Completions) Completions {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return words(cmd, args, begun)
	}
}

// CompleteIDs completes the first arguments with the newest investigations, or with nothing if there is no answer in time.
func CompleteIDs(c *CLI, arguments int) Completions {
	return func(cmd *cobra.Command, args []string, _ string) (words []string, _ cobra.ShellCompDirective) {
		if len(args) >= arguments {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), CompleteTimeout)
		defer cancel()
		l, _ := c.Client().List(ctx, record.Filter{Limit: proposed})
		for _, r := range l.All {
			about := strings.TrimSpace(string(r.Status) + " " + Shorten(l.About[r.ID]))
			words = append(words, terminal.CleanLine(r.WorkflowID)+"\t"+about)
		}
		return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// Completions completes an argument or a flag.
type Completions = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)

// Complete completes names in a configuration.
func Complete(c *CLI, names func(*configuration.Config) []string) Completions {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		cfg, err := c.LoadConfig()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names(cfg), cobra.ShellCompDirectiveNoFileComp
	}
}

// AgentNames returns the names of the agents in a configuration, sorted.
func AgentNames(cfg *configuration.Config) []string { return slices.Sorted(maps.Keys(cfg.Agents)) }
