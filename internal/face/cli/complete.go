package cli

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/cli/configure"
	"github.com/inquest-dev/inquest/internal/face/cli/decide"
)

// completeAll adds completions to commands and flags without their own.
func completeAll(c *base.CLI, cmd *cobra.Command) {
	if _, ids, ok := strings.Cut(cmd.Use, " "); ok && cmd.ValidArgsFunction == nil {
		switch what, _, _ := strings.Cut(ids, " "); strings.Trim(what, "[]") {
		case "A":
			cmd.ValidArgsFunction = base.CompleteIDs(c, 2)
		case "ID", "N|ID":
			cmd.ValidArgsFunction = base.CompleteIDs(c, 1)
		case "AGENT":
			cmd.ValidArgsFunction = base.AtFirst(base.Complete(c, base.AgentNames))
		case "RULE":
			cmd.ValidArgsFunction = base.AtFirst(decide.CompleteRules(c))
		}
	}
	for flag, names := range map[string]func(*configuration.Config) []string{
		"chain": configure.ChainNames, "alert-type": alertTypes, "agent": base.AgentNames, "provider": providerNames,
	} {
		if _, has := cmd.GetFlagCompletionFunc(flag); !has && cmd.Flags().Lookup(flag) != nil {
			_ = cmd.RegisterFlagCompletionFunc(flag, base.Complete(c, names))
		}
	}
	for _, one := range cmd.Commands() {
		completeAll(c, one)
	}
}

func providerNames(cfg *configuration.Config) []string {
	return slices.Sorted(maps.Keys(cfg.LLMProviders))
}

func alertTypes(cfg *configuration.Config) (names []string) {
	for _, chain := range cfg.Chains() {
		names = append(names, chain.AlertTypes...)
	}
	return names
}
