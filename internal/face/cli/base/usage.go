package base

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/kit/spell"
	"github.com/inquest-dev/inquest/internal/system"
)

// Flags are the flags of all commands.
type Flags struct {
	Address, Namespace, Profile string
	TaskQueue, Store            string
	Server                      string // Address of the HTTP API; empty means direct use of Temporal and the store
	Insecure                    bool
}

// NeedsStore says what to do about system.ErrNoStore. Other errors, and nil, stay as they are.
func NeedsStore(err error) error {
	if errors.Is(err, system.ErrNoStore) {
		return Usagef("%w: set --store", err)
	}
	return err
}

// Group returns a command that only contains other commands. It is hidden if all of them are.
func Group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var examples []string
	for _, one := range commands {
		examples = append(examples, one.Example)
	}
	cmd.Example = strings.Join(examples, "\n")
	cmd.Hidden = len(commands) > 0 && !slices.ContainsFunc(commands, func(one *cobra.Command) bool { return !one.Hidden })
	cmd.AddCommand(commands...)
	return cmd
}

func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, one := range cmd.Commands() {
		if one.IsAvailableCommand() {
			names = append(names, one.Name())
		}
	}
	meant := cmp.Or(spell.DidYouMean(args[0], names), "; see "+cmd.CommandPath()+" --help")
	return Usagef("unknown command %q%s", args[0], meant)
}

// Exactly is cobra.ExactArgs with an error that shows the expected arguments.
func Exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != len(names) {
			return Usagef("expected %s, got %d: %s", terminal.Count(len(names), "argument"), len(args), cmd.UseLine())
		}
		for i, name := range names {
			if args[i] == "" {
				return Usagef("%s is empty", name)
			}
		}
		return nil
	}
}

// AtLeastOne is cobra.MinimumNArgs(1) with a usage error.
func AtLeastOne(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return Usagef("expected at least one %s: %s", name, cmd.UseLine())
		}
		return nil
	}
}

// AtMostOne is cobra.MaximumNArgs(1) with a usage error.
func AtMostOne(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return Usagef("expected at most one argument, got %d: %s", len(args), cmd.UseLine())
	}
	return nil
}
