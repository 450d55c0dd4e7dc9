package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/memory"
	"github.com/inquest-dev/inquest/internal/store"
)

func (c *cli) memoryExportCommand() *cobra.Command {
	return &cobra.Command{
		Use: "export AGENT > FILE", Short: "Print an agent's whole memory as JSON: blocks and archival entries", Args: exactly("AGENT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			saved, err := c.exported(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return c.printJSON(saved)
		},
	}
}

func (c *cli) memoryImportCommand() *cobra.Command {
	var replace bool
	cmd := &cobra.Command{
		Use: "import AGENT < FILE", Short: "Read a memory that was exported, all of it or nothing", Args: exactly("AGENT"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.memoryImport(cmd.Context(), args[0], replace) },
	}
	cmd.Flags().BoolVar(&replace, "replace", false, "in place of the memory that the agent has")
	return cmd
}

func (c *cli) memoryImport(ctx context.Context, name string, replace bool) error {
	snapshot, err := memory.ReadSnapshot(c.in)
	if err != nil {
		return usagef("%w", err)
	}
	return c.loadMemory(ctx, name, snapshot, replace)
}

// loadMemory makes a snapshot the memory of an agent, all of it or nothing.
func (c *cli) loadMemory(ctx context.Context, name string, snapshot memory.Snapshot, replace bool) error {
	err := c.withMemories(ctx, func(st *store.Store) error { return st.ImportMemory(ctx, name, snapshot, replace) })
	if errors.Is(err, store.ErrMemoryExists) {
		return usagef("%w; --replace puts this one in its place", err)
	}
	if err != nil {
		return err
	}
	c.say("%d blocks and %d archival entries imported for %s", len(snapshot.Blocks), len(snapshot.Archival), name)
	return nil
}
