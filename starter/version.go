package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/app"
	"github.com/inquest-dev/inquest/internal/store"
)

func versionCommand(c *cli) *cobra.Command {
	var check bool
	var patience time.Duration
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, or check what fits together",
		Long: `Print the version, and the commit that it was built from.

With --check, compare this program, the store, Temporal and the running workers, before, during
and after an upgrade. Nothing is changed. The exit code is 1 if two of them do not fit.`,
		Example: `  starter version
  starter version --check --store STORE`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if check {
				return c.checkVersions(cmd.Context(), patience)
			}
			info, _ := debug.ReadBuildInfo()
			b := buildOf(info)
			if c.json {
				return c.printJSON(b)
			}
			_, err := fmt.Fprintln(c.out, b)
			return err
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "check that this program, the store, Temporal and the workers fit together")
	cmd.Flags().DurationVar(&patience, "wait", 5*time.Second, "with --check: how long each answer is waited for")
	cmd.Flags().BoolVar(&c.json, "json", false, "print it as JSON")
	return cmd
}

func (c *cli) checkVersions(ctx context.Context, patience time.Duration) error {
	switch {
	case c.remote():
		return usagef("--check looks at Temporal and the store themselves, and does not work by --server (INQUEST_SERVER)")
	case patience <= 0:
		return usagef("--wait %s: give more than 0", patience)
	}
	opts, keys, err := c.temporal()
	if err != nil {
		return err
	}
	keys.Protect(&opts)
	path, _ := c.storePath() // an empty path is a store that does not exist
	return c.reportFindings(app.CheckVersions(ctx, app.Examination{
		Temporal: opts, TaskQueue: c.taskQueue, Store: store.At(path), Patience: patience,
	}))
}

// build is the build information that Go embeds in the program.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Date     string `json:"date,omitempty"`     // of the commit
	Modified bool   `json:"modified,omitempty"` // there were uncommitted changes
	Go       string `json:"go,omitempty"`
}

func buildOf(info *debug.BuildInfo) build {
	if info == nil {
		return build{Version: "built without module information"}
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	return build{
		Version: cmp.Or(info.Main.Version, "(devel)"), Go: info.GoVersion,
		Commit: settings["vcs.revision"], Date: settings["vcs.time"], Modified: settings["vcs.modified"] == "true",
	}
}

func (b build) String() string {
	text := "inquest " + b.Version
	if b.Commit != "" {
		text += fmt.Sprintf(" (commit %s of %s)", b.Commit, b.Date)
	}
	if b.Modified {
		text += ", modified"
	}
	if b.Go != "" {
		text += ", " + b.Go
	}
	return text
}
