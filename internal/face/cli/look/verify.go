package look

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/bundle"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/terminal"
)

// NewVerify returns the command verify.
func NewVerify(c *base.CLI) *cobra.Command {
	var seal string
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Check an exported investigation for changes",
		Long: `Check a file that export wrote, without a server: each row, each file in it, and the archive
around them. The output names the first altered row. An attacker can also compute
new hashes: to detect that, give --seal the seal that export printed. The exit code is 1 if
the file was altered.`,
		Example: `  starter verify lab.zip
  starter verify lab.zip --seal sha256:…`,
		Args: base.Exactly("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			b, err := bundle.Open(args[0])
			if err != nil {
				return err
			}
			if seal != "" && seal != b.Seal {
				return fmt.Errorf("%s has the seal %s, not %s: it is not the file that was exported", args[0], b.Seal, terminal.CleanLine(seal))
			}
			if c.JSON {
				return c.PrintJSON(struct {
					bundle.Manifest
					Seal string `json:"seal"`
				}{b.Manifest, b.Seal})
			}
			text := "hashes are consistent (--seal detects recomputed ones)"
			if seal != "" {
				text = "unaltered"
			}
			return c.Print(terminal.CleanLine(fmt.Sprintf("%s: %s, %d rows, %s", args[0], b.Investigation, len(b.Rows), text)) + "\nSeal: " + b.Seal)
		},
	}
	cmd.Flags().StringVar(&seal, "seal", "", "the seal that export printed")
	cmd.Flags().BoolVar(&c.JSON, "json", false, "print the bundle's description as JSON")
	return cmd
}
