package local

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/bundle"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/system"
)

// newExport returns the command export.
func newExport(c *base.CLI) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export ID FILE",
		Short: "Write a finished investigation to one file",
		Long: `Write a finished investigation to one file: request, plan, transcript, decisions, artifacts
and report, with a page for a browser (index.html). The file is a ZIP archive. Each row has
a hash that covers all rows before it. Store the printed seal separately from the file:
"starter verify --seal" needs it to detect a file that was changed and sealed again.`,
		Example: `  starter export lab lab.zip
  starter verify lab.zip`,
		Args: base.Exactly("ID", "FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := c.Meant(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			file, seal, err := systemOf(c).Export(cmd.Context(), id)
			if err != nil {
				return err
			}
			if err := writeNew(args[1], file); err != nil {
				return err
			}
			if c.JSON {
				return c.PrintJSON(map[string]string{"investigation": id, "file": args[1], "seal": seal})
			}
			return c.Print(fmt.Sprintf("Wrote %s to %s.\nSeal: %s", id, args[1], seal))
		},
	}
	cmd.Flags().BoolVar(&c.JSON, "json", false, "print the seal as JSON")
	return cmd
}

// newImport returns the command import.
func newImport(c *base.CLI) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Import an exported investigation",
		Long: `Import an exported investigation into the store of this system. The file is verified first.
Nothing is imported if the store already has the investigation.`,
		Example: `  starter import lab.zip`,
		Args:    base.Exactly("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := bundle.Open(args[0])
			if err != nil {
				return err
			}
			id, err := systemOf(c).Import(cmd.Context(), b)
			switch {
			case errors.Is(err, store.ErrExists):
				return fmt.Errorf("investigation %s is in this store already", id)
			case errors.Is(err, system.ErrNoStore):
				return errors.New("there is no store here to import into: set --store to the store of your workers")
			case err != nil:
				return err
			}
			if c.JSON {
				return c.PrintJSON(map[string]string{"investigation": id})
			}
			return c.Print(fmt.Sprintf("Imported %s: show it with `starter show %s`.", id, id))
		},
	}
	cmd.Flags().BoolVar(&c.JSON, "json", false, "print the investigation's ID as JSON")
	return cmd
}

// writeNew writes a file that must not exist. Only its owner can read it.
func writeNew(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return base.Usagef("%s already exists: give another file", path)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}
