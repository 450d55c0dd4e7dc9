// Package app is the composition root: the only place that builds concrete types (store, models, tool servers, workers) and wires
// them together.
package app

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/sample"
	"github.com/inquest-dev/inquest/internal/sandbox"
	"github.com/inquest-dev/inquest/internal/store"
)

// PrepareSample extracts the files of the sample incident to where its chain expects them.
func PrepareSample(data string) error {
	if err := sample.Extract(data); err != nil {
		return fmt.Errorf("extract the sample incident: %w", err)
	}
	return nil
}

// SampleCommand serves the sample incident over MCP on stdin and stdout. The built-in server "incident" runs it, as another process
// of this program.
func SampleCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: "mcp-sample", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return sample.ServeMCP(cmd.Context(), dir) },
	}
	cmd.Flags().StringVar(&dir, "dir", "", "folder of the sample incident")
	return cmd
}

// KeeperCommand is the process that an agent's shell runs, with this program. It ensures that a command and its descendants do not
// outlive the call.
func KeeperCommand() *cobra.Command {
	var rules sandbox.Rules
	cmd := &cobra.Command{
		Use: keeperName, Hidden: true, Args: cobra.ExactArgs(1),
		Run: func(_ *cobra.Command, args []string) { os.Exit(sandbox.Keep(args[0], rules)) }, // the command's own exit code
	}
	cmd.Flags().StringVar(&rules.Write, "write", "", "the only folder where it may write")
	cmd.Flags().BoolVar(&rules.Offline, "offline", false, "it may open no socket")
	return cmd
}

const keeperName = "keep-command"

// Keeper returns the command line of KeeperCommand, for programs that have it. It names the running program, even if its file has
// been replaced.
func Keeper() []string {
	if !sandbox.CanKeep {
		return nil
	}
	return []string{"/proc/self/exe", keeperName}
}

// WarnOfPassword warns users who put an address with a password into --store that others can read it.
func WarnOfPassword(cmd *cobra.Command) {
	flag := cmd.Flags().Lookup("store")
	if flag != nil && flag.Changed && store.HasPassword(flag.Value.String()) {
		fmt.Fprintln(cmd.ErrOrStderr(), "warning: a password on the command line can be read by everybody on this host (ps): use INQUEST_STORE")
	}
}
