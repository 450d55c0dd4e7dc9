package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/audit"
	"github.com/inquest-dev/inquest/internal/memory"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/terminal"
)

func memoryCommand(c *cli) *cobra.Command {
	cmd := group("memory", "Show and change what agents remember",
		memoryShowCommand(c), memorySetCommand(c), memoryDeleteCommand(c), memoryExportCommand(c), memoryImportCommand(c))
	cmd.Long = `Show and change what agents remember, in the workers' store. AGENT is the name of an
agent's definition: its memory is the same in every investigation and conversation.`
	return cmd
}

func memoryShowCommand(c *cli) *cobra.Command {
	var words string
	cmd := &cobra.Command{
		Use: "show AGENT", Short: "Print memory blocks; count archival entries, or find some", Args: exactly("AGENT"),
		Example: "  starter memory show Memo\n  starter memory show Memo --find 'node 7'",
		RunE: func(cmd *cobra.Command, args []string) error {
			saved, err := exported(cmd.Context(), c, args[0])
			switch {
			case err != nil:
				return err
			case cmd.Flags().Changed("find"):
				return showEntries(c, saved.Archival, words)
			}
			return showMemory(c, saved)
		},
	}
	cmd.Flags().StringVar(&words, "find", "", "list the archival entries that have all of these words in them; '' lists all")
	cmd.Flags().BoolVar(&c.json, "json", false, "print as JSON")
	return cmd
}

// showEntries lists the archival entries that contain all words.
func showEntries(c *cli, all []memory.Entry, words string) error {
	found := []memory.Entry{} // not null in JSON
	for _, e := range all {
		lacks := func(word string) bool { return !strings.Contains(strings.ToLower(e.Content), word) }
		if !slices.ContainsFunc(strings.Fields(strings.ToLower(words)), lacks) {
			found = append(found, e)
		}
	}
	if c.json {
		return c.printJSON(found)
	}
	return printTable(c, "N\tAT\tTEXT", found, func(e memory.Entry) []any {
		return []any{e.ID, e.At.Local().Format(dateTime), e.Content}
	})
}

func showMemory(c *cli, saved memory.Snapshot) error {
	if c.json {
		return c.printJSON(struct {
			Agent    string         `json:"agent"`
			Blocks   []memory.Block `json:"blocks"`
			Archival int            `json:"archival_entries"`
		}{saved.Agent, append([]memory.Block{}, saved.Blocks...), len(saved.Archival)})
	}
	for _, b := range saved.Blocks {
		words := []string{b.Label, fmt.Sprintf("%d of %d characters", b.Size(), b.Limit), "", b.Description}
		if b.ReadOnly {
			words[2] = "read-only"
		}
		lines := []string{terminal.CleanLine(strings.Join(present(words), " · "))}
		for line := range strings.Lines(b.Value) {
			lines = append(lines, terminal.Clean("  "+strings.TrimRight(line, "\r\n")))
		}
		if err := c.print(lines...); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(c.out, "%d archival entries\n", len(saved.Archival))
	return err
}

func memorySetCommand(c *cli) *cobra.Command {
	var b memory.Block
	cmd := &cobra.Command{
		Use: "set AGENT LABEL VALUE|@FILE|-", Short: "Write a memory block, also one that is read-only to the agent",
		Example: `  starter memory set Memo human "on call this week: Ada"`,
		Long: `Write a memory block: a new one, or in place of what it holds. What no flag is given
for stays as it is. A block that the configuration has as read-only is written as it
is there again when the agent works the next time.`,
		Args: setArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			b.Label, b.Value = args[1], args[2]
			return memorySet(cmd.Context(), c, args[0], b, cmd.Flags().Changed)
		},
	}
	cmd.Flags().StringVar(&b.Description, "description", "", "what the agent is told that the block is for")
	cmd.Flags().IntVar(&b.Limit, "limit", agent.DefaultMemoryLimit, "how long the value may be, in characters")
	cmd.Flags().BoolVar(&b.ReadOnly, "read-only", false, "the agent cannot change the block")
	return cmd
}

// setArgs is exactly, except that the value may be empty.
func setArgs(cmd *cobra.Command, args []string) error {
	if len(args) != 3 {
		return exactly("AGENT", "LABEL", "VALUE")(cmd, args)
	}
	return exactly("AGENT", "LABEL")(cmd, args[:2])
}

func memorySet(ctx context.Context, c *cli, name string, given memory.Block, changed func(flag string) bool) (err error) {
	e := memory.BlockEdit{}
	if e.Value, err = c.text("VALUE", given.Value); err != nil {
		return err
	}
	if changed("description") {
		e.Description = &given.Description
	}
	if changed("limit") {
		e.Limit = &given.Limit
	}
	if changed("read-only") {
		e.ReadOnly = &given.ReadOnly
	}
	if r, ok := c.api(); ok {
		return r.WriteBlock(ctx, name, given.Label, e)
	}
	return changeMemory(ctx, c, name, audit.Detail("block", given.Label, "change", "written"), func(tx memory.Tx) error {
		_, err := memory.Edit(ctx, tx, given.Label, e)
		if errors.Is(err, memory.ErrBlock) {
			err = usagef("%w", err)
		}
		return err
	})
}

// changeMemory changes a memory and records the change in the audit log under the name of the logged-in user.
func changeMemory(ctx context.Context, c *cli, name string, detail json.RawMessage, fn func(memory.Tx) error) error {
	st, err := memories(ctx, c)
	if err != nil {
		return err
	}
	who := audit.Act{Who: identity().Named(userName()), Channel: agent.ChannelCLI, Detail: detail}
	return st.RememberAs(ctx, name, who, fn)
}

func memoryDeleteCommand(c *cli) *cobra.Command {
	var entry int64
	cmd := &cobra.Command{
		Use: "delete AGENT [LABEL]", Short: "Delete a memory block, or with --entry an archival entry",
		Example: "  starter memory delete Memo human\n  starter memory delete Memo --entry 12",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && cmd.Flags().Changed("entry") {
				return exactly("AGENT")(cmd, args)
			}
			return exactly("AGENT", "LABEL")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			detail, what := audit.Detail("entry", strconv.FormatInt(entry, 10), "change", "deleted"), fmt.Sprintf("archival entry %d", entry)
			if len(args) > 1 {
				detail, what = audit.Detail("block", args[1], "change", "deleted"), "block "+args[1]
			}
			if r, ok := c.api(); ok {
				err := r.Forget(cmd.Context(), args[0], strings.Join(args[1:], ""), entry)
				if errors.Is(err, record.ErrNotFound) {
					err = usagef("%s has no %s", args[0], what)
				}
				return err
			}
			return changeMemory(cmd.Context(), c, args[0], detail, func(tx memory.Tx) (err error) {
				there := false
				if len(args) > 1 {
					there, err = tx.DeleteBlock(cmd.Context(), args[1])
				} else {
					there, err = tx.DeleteArchival(cmd.Context(), entry)
				}
				if err == nil && !there {
					err = usagef("%s has no %s", args[0], what)
				}
				return err
			})
		},
	}
	cmd.Flags().Int64Var(&entry, "entry", 0, "the number of an archival entry")
	return cmd
}

// exported returns an agent's current memory.
func exported(ctx context.Context, c *cli, name string) (saved memory.Snapshot, err error) {
	if r, ok := c.api(); ok {
		saved, err = r.Memory(ctx, name)
	} else {
		var st *store.Store
		if st, err = memories(ctx, c); err != nil {
			return saved, err
		}
		saved, err = st.ExportMemory(ctx, name)
	}
	if errors.Is(err, record.ErrNotFound) {
		return saved, fmt.Errorf("the agent %q has no memory yet", name)
	}
	return saved, err
}

// memories returns the workers' store, which must be available.
func memories(ctx context.Context, c *cli) (*store.Store, error) {
	st, err := c.client().Store(ctx)
	if err != nil || st != nil {
		return st, err
	}
	path, err := c.storePath()
	if err != nil {
		return nil, err
	}
	return nil, usagef("no store at %s: memories are in the workers' store, --store says where it is", store.At(path))
}

func memoryExportCommand(c *cli) *cobra.Command {
	return &cobra.Command{
		Use: "export AGENT > FILE", Short: "Print a whole memory as JSON: blocks and archival entries", Args: exactly("AGENT"),
		Example: "  starter memory export Memo > memo.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			saved, err := exported(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			return c.printJSON(saved)
		},
	}
}

func memoryImportCommand(c *cli) *cobra.Command {
	var replace bool
	cmd := &cobra.Command{
		Use: "import AGENT < FILE", Short: "Read a memory that was exported, all of it or nothing", Args: exactly("AGENT"),
		Example: "  starter memory import Memo < memo.json",
		RunE:    func(cmd *cobra.Command, args []string) error { return memoryImport(cmd.Context(), c, args[0], replace) },
	}
	cmd.Flags().BoolVar(&replace, "replace", false, "in place of the memory that the agent has")
	return cmd
}

func memoryImport(ctx context.Context, c *cli, name string, replace bool) error {
	snapshot, err := memory.ReadSnapshot(c.in)
	if err != nil {
		return usagef("%w", err)
	}
	return loadMemory(ctx, c, name, snapshot, replace)
}

// loadMemory replaces the memory of an agent with a snapshot, completely or not at all.
func loadMemory(ctx context.Context, c *cli, name string, snapshot memory.Snapshot, replace bool) error {
	st, err := memories(ctx, c)
	if err == nil {
		err = st.ImportMemory(ctx, name, snapshot, replace)
	}
	if errors.Is(err, store.ErrMemoryExists) {
		return usagef("%w; --replace puts this one in its place", err)
	}
	if err != nil {
		return err
	}
	c.say("%d blocks and %d archival entries imported for %s", len(snapshot.Blocks), len(snapshot.Archival), name)
	return nil
}
