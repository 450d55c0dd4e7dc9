package main

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
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/spell"
	"github.com/inquest-dev/inquest/internal/terminal"
)

func artifactsCommand(c *cli) *cobra.Command {
	var to string
	var force bool
	cmd := &cobra.Command{
		Use:   "artifacts ID [NAME|N]",
		Short: "List the images and files that tools returned, or fetch one",
		Long: `List what the results of an investigation's tools hold besides text: images, files,
structured data. With a name or number, write that one into a file of its name in the
current folder, or where -o says; - is standard output. Secrets in texts are masked, as
everywhere; images are as the tool returned them.`,
		Example: `  starter artifacts lab
  starter artifacts lab 1
  starter artifacts lab 2-pods.json -o - | jq .`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 || args[0] == "" {
				return usagef("%d arguments given: give an ID, and after it at most the name or number of one artifact", len(args))
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
				return usagef("-o and --force are for one artifact: name it")
			case len(args) == 1:
				return listArtifacts(c, all)
			}
			return fetch(cmd.Context(), c, all, args[1], to, force)
		},
	}
	set := cmd.Flags()
	set.StringVarP(&to, "output", "o", "", "the file or folder to write to, or - for standard output")
	set.BoolVar(&force, "force", false, "replace a file that is there")
	set.BoolVar(&c.json, "json", false, "print the list as JSON")
	return cmd
}

func completeArtifacts(c *cli) completions {
	return func(cmd *cobra.Command, args []string, word string) (words []string, _ cobra.ShellCompDirective) {
		if len(args) != 1 {
			return completeIDs(c, 1)(cmd, args, word)
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completeTimeout)
		defer cancel()
		all, _ := c.client().Artifacts(ctx, args[0]) // no completions if there is no answer in time
		for _, a := range all {
			words = append(words, a.Name+"\t"+shorten(a.Tool))
		}
		return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

func artifactsOf(ctx context.Context, c *cli, id string) ([]artifact.Artifact, error) {
	id, err := c.meant(ctx, id)
	if err != nil {
		return nil, err
	}
	all, err := c.client().Artifacts(ctx, id)
	if errors.Is(err, record.ErrNotFound) {
		err = c.client().Meant(ctx, id, err)
	}
	return all, err
}

func listArtifacts(c *cli, all []artifact.Artifact) error {
	if c.json {
		return c.printJSON(append([]artifact.Artifact{}, all...)) // not null in JSON
	}
	return printTable(c, "N\tNAME\tTYPE\tSIZE\tTOOL\tAGENT", all, func(a artifact.Artifact) []any {
		return []any{a.N, a.Name, a.MIMEType, terminal.Size(a.Size), a.Tool, a.Execution}
	})
}

// fetch writes one artifact, selected by name or number.
func fetch(ctx context.Context, c *cli, all []artifact.Artifact, which, to string, force bool) error {
	var names []string
	var found *artifact.Artifact
	for n, a := range all {
		if names = append(names, a.Name); which == a.Name || which == strconv.Itoa(a.N) {
			found = &all[n]
		}
	}
	if found == nil {
		return usagef("there is no artifact %q%s: see `starter artifacts`", which, spell.DidYouMean(which, names))
	}
	data, err := c.client().Artifact(ctx, found.Ref)
	if err != nil {
		return err
	}
	if to == "-" {
		return c.pour(data)
	}
	if info, err := os.Stat(to); to == "" || err == nil && info.IsDir() {
		to = filepath.Join(to, found.Name)
	}
	if err := writeNew(to, data, force); err != nil {
		return err
	}
	c.say("%s: %s", to, terminal.Size(len(data)))
	return nil
}

// pour writes data to standard output. For a terminal, the data must be text and is sanitized.
func (c *cli) pour(data []byte) error {
	if terminal.IsTerminal(c.out) {
		if !artifact.Text(data) {
			return usagef("it is no text, and would upset the terminal: write it to a file with -o FILE")
		}
		data = []byte(terminal.Clean(string(data)))
	}
	_, err := c.out.Write(data)
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
		return usagef("%s is there already: give --force to replace it, or another -o", path)
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
