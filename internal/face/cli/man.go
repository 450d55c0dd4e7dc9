package cli

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/inquest-dev/inquest/internal/face/cli/base"
)

// manCommand writes man pages, for packagers.
func manCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "Write a man page for each command into a directory", Hidden: true, Args: base.Exactly("DIR"),
		Example: "  starter man man1",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true // reproducible output
			return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "Inquest"}, args[0])
		},
	}
}
