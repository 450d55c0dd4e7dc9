package main

import (
	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

func agentExportCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "export NAME > FILE", Short: "Print an agent as JSON: its definition and all that it remembers", Args: exactly("NAME"),
		Example: `  starter agent export Memo > memo.json`,
		Long: `Print an agent as JSON: its definition, as the configuration has it, with variables as
they were written, and all that it remembers, from the workers' store.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := exportAgent(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			return c.printJSON(f)
		},
	}
	configDir(c, cmd)
	return cmd
}

func agentImportCommand(c *cli) *cobra.Command {
	var replace, without bool
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Read an agent that was exported: definition and memory, or nothing", Args: exactly("FILE"),
		Example: `  starter agent import memo.json --config inquest`,
		Long: `Read an agent that was exported. Its definition is written to agents-NAME.yaml in the
configuration, unless that has it already; its memory goes into the workers' store.`,
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
	cmd.Flags().BoolVar(&replace, "replace", false, "put the memory in place of the one that the agent has")
	cmd.Flags().BoolVar(&without, "without-memory", false, "read the definition alone")
	return cmd
}

// configDir adds configFlag and its former name.
func configDir(c *cli, cmd *cobra.Command) {
	c.configFlag(cmd)
	cmd.Flags().StringVar(&c.config, "config-dir", c.config, "the same as --config")
	_ = cmd.Flags().MarkHidden("config-dir")
}

// remembers reports whether an agent has a memory.
func remembers(p plan.Agent) bool {
	row, _ := agent.LookupType(p.Type)
	return row.Remembers()
}
