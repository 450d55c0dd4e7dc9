package configure

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
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/knowledge/memory"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// NewMemory returns the command memory.
func NewMemory(c *base.CLI) *cobra.Command {
	cmd := base.Group("memory", "Show and change what agents remember",
		memoryShowCommand(c), memorySetCommand(c), memoryDeleteCommand(c), memoryExportCommand(c), memoryImportCommand(c))
	cmd.Long = `Show and change what agents remember, in the workers' store. AGENT is the name of an
agent's definition. All investigations and conversations share the agent's memory.`
	return cmd
}

func memoryShowCommand(c *base.CLI) *cobra.Command {
	var words string
	cmd := &cobra.Command{
		Use: "show AGENT", Short: "Print memory blocks, and count or search archival entries", Args: base.Exactly("AGENT"),
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
	cmd.Flags().StringVar(&words, "find", "", "list the archival entries that contain all of these words; '' lists all")
	cmd.Flags().BoolVar(&c.JSON, "json", false, "print as JSON")
	return cmd
}

// showEntries lists the archival entries that contain all words.
func showEntries(c *base.CLI, all []memory.Entry, words string) error {
	found := []memory.Entry{} // not null in JSON
	for _, e := range all {
		lacks := func(word string) bool { return !strings.Contains(strings.ToLower(e.Content), word) }
		if !slices.ContainsFunc(strings.Fields(strings.ToLower(words)), lacks) {
			found = append(found, e)
		}
	}
	if c.JSON {
		return c.PrintJSON(found)
	}
	return base.PrintTable(c, "N\tAT\tTEXT", found, func(e memory.Entry) []any {
		return []any{e.ID, e.At.Local().Format(base.DateTime), e.Content}
	})
}

func showMemory(c *base.CLI, saved memory.Snapshot) error {
	if c.JSON {
		return c.PrintJSON(struct {
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
		lines := []string{terminal.CleanLine(strings.Join(base.Present(words), " · "))}
		for line := range strings.Lines(b.Value) {
			lines = append(lines, terminal.Clean("  "+strings.TrimRight(line, "\r\n")))
		}
		if err := c.Print(lines...); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(c.Out, "archival entries: %d\n", len(saved.Archival))
	return err
}

func memorySetCommand(c *base.CLI) *cobra.Command {
	var b memory.Block
	cmd := &cobra.Command{
		Use: "set AGENT LABEL VALUE|@FILE|-", Short: "Write a memory block, even if it is read-only to the agent",
		Example: `  starter memory set Memo human "on call this week: Ada"`,
		Long: `Create a memory block or replace its value. Properties without a flag stay unchanged. If
the configuration defines the block as read-only, the configured value is restored the
next time the agent runs.`,
		Args: setArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			b.Label, b.Value = args[1], args[2]
			return memorySet(cmd.Context(), c, args[0], b, cmd.Flags().Changed)
		},
	}
	cmd.Flags().StringVar(&b.Description, "description", "", "purpose of the block, shown to the agent")
	cmd.Flags().IntVar(&b.Limit, "limit", agent.DefaultMemoryLimit, "maximum length of the value, in characters")
	cmd.Flags().BoolVar(&b.ReadOnly, "read-only", false, "make the block read-only to the agent")
	return cmd
}

// setArgs works like exactly, but allows an empty value.
func setArgs(cmd *cobra.Command, args []string) error {
	if len(args) != 3 {
		return base.Exactly("AGENT", "LABEL", "VALUE")(cmd, args)
	}
	return base.Exactly("AGENT", "LABEL")(cmd, args[:2])
}

func memorySet(ctx context.Context, c *base.CLI, name string, given memory.Block, changed func(flag string) bool) (err error) {
	e := memory.BlockEdit{}
	if e.Value, err = c.Text("VALUE", given.Value); err != nil {
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
	if r, ok := c.API(); ok {
		return r.WriteBlock(ctx, name, given.Label, e)
	}
	return changeMemory(ctx, c, name, audit.Detail("block", given.Label, "change", "written"), func(tx memory.Tx) error {
		_, err := memory.Edit(ctx, tx, given.Label, e)
		if errors.Is(err, memory.ErrBlock) {
			err = base.Usagef("%w", err)
		}
		return err
	})
}

// changeMemory changes a memory and records the change in the audit trail under the name of the logged-in user.
func changeMemory(ctx context.Context, c *base.CLI, name string, detail json.RawMessage, fn func(memory.Tx) error) error {
	st, err := memories(ctx, c)
	if err != nil {
		return err
	}
	who := audit.Act{Who: base.Identity().Named(base.UserName()), Channel: agent.ChannelCLI, Detail: detail}
	return st.RememberAs(ctx, name, who, fn)
}

func memoryDeleteCommand(c *base.CLI) *cobra.Command {
	var entry int64
	cmd := &cobra.Command{
		Use: "delete AGENT [LABEL]", Short: "Delete a memory block, or with --entry an archival entry",
		Example: "  starter memory delete Memo human\n  starter memory delete Memo --entry 12",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && cmd.Flags().Changed("entry") {
				return base.Exactly("AGENT")(cmd, args)
			}
			return base.Exactly("AGENT", "LABEL")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			detail, what := audit.Detail("entry", strconv.FormatInt(entry, 10), "change", "deleted"), fmt.Sprintf("archival entry %d", entry)
			if len(args) > 1 {
				detail, what = audit.Detail("block", args[1], "change", "deleted"), "block "+args[1]
			}
			if r, ok := c.API(); ok {
				err := r.Forget(cmd.Context(), args[0], strings.Join(args[1:], ""), entry)
				if errors.Is(err, record.ErrNotFound) {
					err = base.Usagef("%s has no %s", args[0], what)
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
					err = base.Usagef("%s has no %s", args[0], what)
				}
				return err
			})
		},
	}
	cmd.Flags().Int64Var(&entry, "entry", 0, "the number of an archival entry")
	return cmd
}

// exported returns an agent's current memory.
func exported(ctx context.Context, c *base.CLI, name string) (saved memory.Snapshot, err error) {
	if r, ok := c.API(); ok {
		saved, err = r.Memory(ctx, name)
	} else {
		var st base.Store
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
func memories(ctx context.Context, c *base.CLI) (base.Store, error) {
	st, err := c.OpenStore(ctx)
	if err != nil || st != nil {
		return st, err
	}
	if _, err := c.StorePath(); err != nil {
		return nil, err
	}
	return nil, base.Usagef("no store at %s: memories are in the workers' store; set --store", c.Local().StoreName())
}

func memoryExportCommand(c *base.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "export AGENT > FILE", Short: "Print a whole memory as JSON: blocks and archival entries", Args: base.Exactly("AGENT"),
		Example: "  starter memory export Memo > memo.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			saved, err := exported(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			return c.PrintJSON(saved)
		},
	}
}

func memoryImportCommand(c *base.CLI) *cobra.Command {
	var replace bool
	cmd := &cobra.Command{
		Use: "import AGENT < FILE", Short: "Import an exported memory, completely or not at all", Args: base.Exactly("AGENT"),
		Example: "  starter memory import Memo < memo.json",
		RunE:    func(cmd *cobra.Command, args []string) error { return memoryImport(cmd.Context(), c, args[0], replace) },
	}
	cmd.Flags().BoolVar(&replace, "replace", false, "replace the agent's existing memory")
	return cmd
}

func memoryImport(ctx context.Context, c *base.CLI, name string, replace bool) error {
	snapshot, err := memory.ReadSnapshot(c.In)
	if err != nil {
		return base.Usagef("%w", err)
	}
	return loadMemory(ctx, c, name, snapshot, replace)
}

// loadMemory replaces the memory of an agent with a snapshot, completely or not at all.
func loadMemory(ctx context.Context, c *base.CLI, name string, snapshot memory.Snapshot, replace bool) error {
	st, err := memories(ctx, c)
	if err == nil {
		err = st.ImportMemory(ctx, name, snapshot, replace)
	}
	if errors.Is(err, memory.ErrExists) {
		return base.Usagef("%w; use --replace to replace it", err)
	}
	if err != nil {
		return err
	}
	c.Say("imported for %s: %s, archival entries: %d", name, terminal.Count(len(snapshot.Blocks), "block"), len(snapshot.Archival))
	return nil
}
