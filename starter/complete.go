package main

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/reveal"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/terminal"
)

// completeTimeout limits how long pressing Tab can block a shell.
const completeTimeout = 2 * time.Second

// completeWaiting completes the IDs of investigations that need attention, then the items pending in one.
func completeWaiting(c *cli, wanted func(thing) bool) completions {
	return func(cmd *cobra.Command, args []string, _ string) (words []string, _ cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completeTimeout)
		defer cancel()
		if len(args) > 1 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		waiting, _ := c.client().Waiting(ctx, first(args)) // no completions if there is no answer in time
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

// proposed is the maximum number of investigations in a completion.
const proposed = 50

// completeAll adds completions to commands and flags without their own.
func (c *cli) completeAll(cmd *cobra.Command) {
	if _, ids, ok := strings.Cut(cmd.Use, " "); ok && cmd.ValidArgsFunction == nil {
		switch what, _, _ := strings.Cut(ids, " "); strings.Trim(what, "[]") {
		case "A":
			cmd.ValidArgsFunction = completeIDs(c, 2)
		case "ID", "N|ID":
			cmd.ValidArgsFunction = completeIDs(c, 1)
		case "AGENT":
			cmd.ValidArgsFunction = atFirst(complete(c, agentNames))
		case "RULE":
			cmd.ValidArgsFunction = atFirst(completeRules(c))
		}
	}
	for flag, names := range map[string]func(*config.Config) []string{
		"chain": chainNames, "alert-type": alertTypes, "agent": agentNames, "provider": providerNames,
	} {
		if _, has := cmd.GetFlagCompletionFunc(flag); !has && cmd.Flags().Lookup(flag) != nil {
			_ = cmd.RegisterFlagCompletionFunc(flag, complete(c, names))
		}
	}
	for _, one := range cmd.Commands() {
		c.completeAll(one)
	}
}

// atFirst completes only the first argument.
func atFirst(words completions) completions {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return words(cmd, args, begun)
	}
}

// completeRules completes the rules in force.
func completeRules(c *cli) completions {
	return func(cmd *cobra.Command, _ []string, _ string) (words []string, _ cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completeTimeout)
		defer cancel()
		if st, err := rulesStore(ctx, c); err == nil {
			rules, _ := st.Rules(ctx, "", false) // no completions if the store does not answer in time
			for _, r := range rules {
				words = append(words, r.ID+"\t"+shorten(reveal.Text(r.String())))
			}
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

func providerNames(cfg *config.Config) []string { return slices.Sorted(maps.Keys(cfg.LLMProviders)) }

func alertTypes(cfg *config.Config) (names []string) {
	for _, chain := range cfg.Chains() {
		names = append(names, chain.AlertTypes...)
	}
	return names
}

// completeIDs completes the first arguments with the newest investigations, or with nothing if there is no answer in time.
func completeIDs(c *cli, arguments int) completions {
	return func(cmd *cobra.Command, args []string, _ string) (words []string, _ cobra.ShellCompDirective) {
		if len(args) >= arguments {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completeTimeout)
		defer cancel()
		l, _ := c.client().List(ctx, store.Filter{Limit: proposed})
		for _, r := range l.All {
			about := strings.TrimSpace(string(r.Status) + " " + shorten(l.About[r.ID]))
			words = append(words, terminal.CleanLine(r.WorkflowID)+"\t"+about)
		}
		return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

func isCall(one thing) bool     { return one.Approval != nil }
func isQuestion(one thing) bool { return one.Approval == nil }
func isThing(thing) bool        { return true }
