// Package app is the composition root: the only place that builds concrete
// things (store, models, tool servers, workers) and plugs them together.
package app

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/sample"
)

// PrepareSample puts the files of the sample incident where its chain expects them.
func PrepareSample(data string) error {
	if err := sample.Extract(data); err != nil {
		return fmt.Errorf("extract the sample incident: %w", err)
	}
	return nil
}

// SampleCommand serves the sample incident over MCP on stdin and stdout: it is
// what the built-in server "incident" runs, this program once more.
func SampleCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: "mcp-sample", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return sample.ServeMCP(cmd.Context(), dir) },
	}
	cmd.Flags().StringVar(&dir, "dir", "", "folder of the sample incident")
	return cmd
}
