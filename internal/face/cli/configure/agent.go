package configure

import (
	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/plan"
)

func agentExportCommand(c *base.CLI) *cobra.Command {
	cmd := &cobra.Command{
		Use: "export NAME > FILE", Short: "Print an agent as JSON: its definition and its memory", Args: base.Exactly("NAME"),
		Example: `  starter agent export Memo > memo.json`,
		Long: `Print an agent as JSON: its definition and its memory. The definition is printed as written
in the configuration, without expanding variables. The memory is read from the workers'
store.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := exportAgent(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			return c.PrintJSON(f)
		},
	}
	configDir(c, cmd)
	return cmd
}

func agentImportCommand(c *base.CLI) *cobra.Command {
	var replace, without bool
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Import an exported agent: its definition and its memory", Args: base.Exactly("FILE"),
		Example: `  starter agent import memo.json --config inquest`,
		Long: `Import an exported agent. Its definition is written to agents-NAME.yaml in the
configuration, unless the configuration already contains it. Its memory is written to the
workers' store. If either part fails, nothing is imported.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := readAgentFile(args[0])
			if err != nil {
				return err
			}
			if without {
				f.Memory = nil
			}
			return importAgent(cmd.Context(), c, f, replace)
		},
	}
	configDir(c, cmd)
	cmd.Flags().BoolVar(&replace, "replace", false, "replace the agent's existing memory")
	cmd.Flags().BoolVar(&without, "without-memory", false, "import only the definition")
	return cmd
}

// configDir adds --config and its former name, --config-dir.
func configDir(c *base.CLI, cmd *cobra.Command) {
	c.ConfigFlag(cmd)
	cmd.Flags().StringVar(&c.Config, "config-dir", c.Config, "the same as --config")
	_ = cmd.Flags().MarkHidden("config-dir")
}

// remembers reports whether an agent has a memory.
func remembers(p plan.Agent) bool {
	row, _ := agent.LookupType(p.Type)
	return row.Remembers()
}
