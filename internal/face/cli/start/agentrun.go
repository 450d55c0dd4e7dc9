package start

import (
	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/cli/look"
	"github.com/inquest-dev/inquest/internal/system"
)

// NewAgentRun returns the command agent run.
func NewAgentRun(c *base.CLI) *cobra.Command {
	var s system.Start
	var l look.Look
	var asked requestFlags
	cmd := &cobra.Command{
		Use: "run NAME", Short: "Run a single agent and show it live", Args: base.Exactly("NAME"),
		Example: `  starter agent run Triage --data "checkout is slow"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := asked.read(&s.Request); err != nil {
				return err
			}
			s.Request.Chain = configuration.OfAgent + args[0]
			return start(cmd.Context(), c, s, asked.detach, l)
		},
	}
	cmd.Flags().StringVar(&s.Data, "data", "", "what to work on: text, @file, or - for standard input")
	asked.flags(c, cmd, &s)
	l.Flags(c, cmd)
	return cmd
}
