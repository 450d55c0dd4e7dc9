package look

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/artifact"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/kit/spell"
	"github.com/inquest-dev/inquest/internal/record"
)

// NewArtifacts returns the command artifacts.
func NewArtifacts(c *base.CLI) *cobra.Command {
	var to string
	var force bool
	cmd := &cobra.Command{
		Use:   "artifacts ID [NAME|N]",
		Short: "List the images and files that tools returned, or save one",
		Long: `List the images, files and structured data that an investigation's tools returned. With
a name or number, save that artifact under its name in the current directory, or to the
path of -o; "-o -" writes it to standard output. Secrets in text are masked, as
everywhere else. Images are saved as the tool returned them.`,
		Example: `  starter artifacts lab
  starter artifacts lab 1
  starter artifacts lab 2-pods.json -o - | jq .`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return base.Usagef("expected an ID and at most one artifact name or number, got %s", terminal.Count(len(args), "argument"))
			}
			if args[0] == "" {
				return base.Usagef("the ID is empty")
			}
			return nil
		},
		ValidArgsFunction: completeArtifacts(c),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := artifactsOf(cmd.Context(), c, args[0])
			switch {
			case err != nil:
				return err
			case len(args) == 1 && (to != "" || force):
				return base.Usagef("-o and --force need the name or number of an artifact")
			case len(args) == 1:
				return listArtifacts(c, all)
			}
			return fetch(cmd.Context(), c, all, args[1], to, force)
		},
	}
	set := cmd.Flags()
	set.StringVarP(&to, "output", "o", "", "file or directory to write to, or - for standard output")
	set.BoolVar(&force, "force", false, "replace an existing file")
	set.BoolVar(&c.JSON, "json", false, "print the list as JSON")
	return cmd
}

func completeArtifacts(c *base.CLI) base.Completions {
	return func(cmd *cobra.Command, args []string, word string) (words []string, _ cobra.ShellCompDirective) {
		if len(args) != 1 {
			return base.CompleteIDs(c, 1)(cmd, args, word)
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), base.CompleteTimeout)
		defer cancel()
		all, _ := c.Client().Artifacts(ctx, args[0]) // no completions if there is no answer in time
		for _, a := range all {
			words = append(words, a.Name+"\t"+base.Shorten(a.Tool))
		}
		return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

func artifactsOf(ctx context.Context, c *base.CLI, id string) ([]artifact.Artifact, error) {
	id, err := c.Meant(ctx, id)
	if err != nil {
		return nil, err
	}
	all, err := c.Client().Artifacts(ctx, id)
	if errors.Is(err, record.ErrNotFound) {
		err = c.Client().Meant(ctx, id, err)
	}
	return all, err
}

func listArtifacts(c *base.CLI, all []artifact.Artifact) error {
	if c.JSON {
		return c.PrintJSON(append([]artifact.Artifact{}, all...)) // not null in JSON
	}
	return base.PrintTable(c, "N\tNAME\tTYPE\tSIZE\tTOOL\tAGENT", all, func(a artifact.Artifact) []any {
		return []any{a.N, a.Name, a.MIMEType, terminal.Size(a.Size), a.Tool, a.Execution}
	})
}

// fetch writes one artifact, selected by name or number.
func fetch(ctx context.Context, c *base.CLI, all []artifact.Artifact, which, to string, force bool) error {
	var names []string
	var found *artifact.Artifact
	for n, a := range all {
		if names = append(names, a.Name); which == a.Name || which == strconv.Itoa(a.N) {
			found = &all[n]
		}
	}
	if found == nil {
		return base.Usagef("unknown artifact %q%s (`starter artifacts ID` lists them)", which, spell.DidYouMean(which, names))
	}
	data, err := c.Client().Artifact(ctx, found.Ref)
	if err != nil {
		return err
	}
	if to == "-" {
		return pour(c, data)
	}
	if info, err := os.Stat(to); to == "" || err == nil && info.IsDir() {
		to = filepath.Join(to, found.Name)
	}
	if err := writeNew(to, data, force); err != nil {
		return err
	}
	c.Say("%s: %s", to, terminal.Size(len(data)))
	return nil
}

// pour writes data to standard output. For a terminal, the data must be text and is sanitized.
func pour(c *base.CLI, data []byte) error {
	if terminal.IsTerminal(c.Out) {
		if !artifact.Text(data) {
			return base.Usagef("the artifact is not text and could disturb the terminal: write it to a file with -o FILE")
		}
		data = []byte(terminal.Clean(string(data)))
	}
	_, err := c.Out.Write(data)
	return err
}

// writeNew writes a file completely or not at all. It replaces an existing file or symbolic link only if force is set. It then replaces
// the link itself, not the link's target. It writes to devices and pipes and never replaces them.
func writeNew(path string, data []byte, force bool) error {
	if info, err := os.Lstat(path); err == nil && info.Mode().Type()&^fs.ModeSymlink != 0 {
		return os.WriteFile(path, data, 0o644)
	}
	into := path
	if force {
		into = filepath.Join(filepath.Dir(path), ".artifact-"+rand.Text())
	}
	file, err := os.OpenFile(into, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return base.Usagef("%s already exists: use --force to replace it, or write to another path with -o", path)
	}
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Close()); err == nil && force {
		err = os.Rename(into, path)
	}
	if err != nil {
		_ = os.Remove(into)
	}
	return err
}
