// Package app is the composition root: the only place that builds concrete types (store, models, tool servers, workers) and wires
// them together.
package app

import (
	"fmt"
	"os"
	_ "time/tzdata" // for hosts without a database of time zones

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/sample"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/trust/sandbox"
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
	cmd.Flags().StringVar(&dir, "dir", "", "directory of the sample incident")
	return cmd
}

// PackCommand serves the demo of a toolset pack over MCP on stdin and stdout. A demo's configuration runs it.
func PackCommand() *cobra.Command {
	return &cobra.Command{
		Use: "mcp-pack", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return sample.ServePack(cmd.Context(), args[0]) },
	}
}

// KeeperCommand runs an agent's shell command in a process of this program. It ensures that the command and its descendants do not
// outlive the call.
func KeeperCommand() *cobra.Command {
	var rules sandbox.Rules
	cmd := &cobra.Command{
		Use: keeperName, Hidden: true, Args: cobra.ExactArgs(1),
		Run: func(_ *cobra.Command, args []string) { os.Exit(sandbox.Keep(args[0], rules)) }, // the command's own exit code
	}
	cmd.Flags().StringVar(&rules.Write, "write", "", "the only directory where the command may write")
	cmd.Flags().BoolVar(&rules.Offline, "offline", false, "the command may not open sockets")
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
		fmt.Fprintln(cmd.ErrOrStderr(), "warning: every user of this host can read a password on the command line (ps): use INQUEST_STORE")
	}
}
