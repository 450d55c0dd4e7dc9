package configure

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
)

// toolError marks errors in the command line as usage errors.
func toolError(err error) error {
	if _, unknown := errors.AsType[*configuration.PlanError](err); unknown {
		return base.Usagef("%w", err)
	}
	return err
}

// completeTools completes the tools in a configuration without contacting any server.
func completeTools(c *base.CLI) base.Completions {
	return base.AtFirst(func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		names, how := base.Complete(c, knownTools)(cmd, args, begun)
		return names, how | cobra.ShellCompDirectiveNoSpace
	})
}

// knownTools returns the tools that a configuration names, and prefixes for the others.
func knownTools(cfg *configuration.Config) []string {
	plan := cfg.ToolPlan()
	var out []string
	if plan.Shell != nil {
		out = append(out, "shell")
	}
	for _, server := range plan.Servers {
		out = append(out, server.Name+".")
		for name := range server.Risk {
			out = append(out, server.Name+"."+name)
		}
	}
	slices.Sort(out)
	return out
}
