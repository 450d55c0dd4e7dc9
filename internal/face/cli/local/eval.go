package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/app/evaluate"
	"github.com/inquest-dev/inquest/internal/bundle"
	"github.com/inquest-dev/inquest/internal/eval"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/terminal"
)

// defaultCases is the folder of cases if none is given.
const defaultCases = "evals"

func newEval(c *base.CLI) *cobra.Command {
	group := base.Group("eval", "Test a configuration against past investigations", evalAdd(c), evalRun(c))
	group.Long = `A case is a folder: the request of a finished investigation, a tape with the results of its tool
calls, and what you expect of its report. A run investigates the request again with your
configuration and models, in this process and without Temporal. Its tool calls are answered
from the tape, so no system is needed and nothing is changed.`
	return group
}

func evalAdd(c *base.CLI) *cobra.Command {
	var dir, expect string
	cmd := &cobra.Command{
		Use:   "add ID|FILE NAME",
		Short: "Make a case of a finished or exported investigation",
		Long: `Make a case of a finished investigation, or of one that "starter export" has written to a file.
The case is a new folder with case.yaml (what you expect: edit it), request.json and tape.jsonl.
Everything in it is masked as in the store. Read it before you publish it.`,
		Example: `  starter eval add checkout-7f3a crash-loop
  starter eval add lab.zip crash-loop --expect expect.yaml`,
		Args: base.Exactly("ID", "NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var definition []byte
			if expect != "" {
				text, err := os.ReadFile(expect)
				if err == nil {
					err = eval.CheckDefinition(expect, text)
				}
				if err != nil {
					return base.Usagef("--expect: %w", err)
				}
				definition = text
			}
			if name := args[1]; name != filepath.Base(name) || strings.HasPrefix(name, ".") {
				return base.Usagef("name %q: expected the name of a folder; --dir sets where it is", name)
			}
			folder := filepath.Join(dir, args[1])
			b, err := recording(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			made, draft, err := evaluate.FromBundle(cmd.Context(), b)
			if err != nil {
				return err
			}
			if definition == nil {
				definition = draft
			}
			err = made.Save(folder, definition)
			if errors.Is(err, os.ErrExist) {
				return base.Usagef("%s already exists: give another name", folder)
			}
			if err != nil {
				return err
			}
			if c.JSON {
				return c.PrintJSON(map[string]any{"case": folder, "model_calls": len(made.Tape.Replies), "tool_results": len(made.Tape.Results)})
			}
			config := ""
			if c.Config == "" {
				config = " --config DIR"
			}
			return c.Print(fmt.Sprintf("Wrote %s with %s and %s.\nEdit %s: add what you expect. Then run: starter eval run %s --provider %s%s",
				folder, terminal.Count(len(made.Tape.Replies), "model call"), terminal.Count(len(made.Tape.Results), "tool result"),
				filepath.Join(folder, "case.yaml"), folder, eval.Recorded, config))
		},
	}
	cmd.Flags().StringVar(&dir, "dir", defaultCases, "folder of the cases")
	cmd.Flags().StringVar(&expect, "expect", "", "file to use as case.yaml (default: a draft)")
	cmd.Flags().BoolVar(&c.JSON, "json", false, "print as JSON")
	return cmd
}

// recording returns the bundle in a file, or of an investigation.
func recording(ctx context.Context, c *base.CLI, from string) (bundle.Bundle, error) {
	if info, err := os.Stat(from); err == nil && info.Mode().IsRegular() {
		return bundle.Open(from)
	}
	if c.Remote() {
		return bundle.Bundle{}, base.Usagef("no file %s: with --server (INQUEST_SERVER), give a file that `starter export` has written", from)
	}
	id, err := c.Meant(ctx, from)
	if err != nil {
		return bundle.Bundle{}, err
	}
	file, _, err := systemOf(c).Export(ctx, id)
	if err != nil {
		return bundle.Bundle{}, err
	}
	return bundle.Read(file)
}
