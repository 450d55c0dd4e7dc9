package cli

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/face/cli/base"
)

func versionCommand(c *base.CLI) *cobra.Command {
	var check bool
	var patience time.Duration
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, or check that versions are compatible",
		Long: `Print the version, and the commit that it was built from.

With --check, check that this program, the store, Temporal and the running workers are
compatible, before, during and after an upgrade. The check changes nothing. The exit code is
1 if they are not compatible.`,
		Example: `  starter version
  starter version --check --store STORE`,
		Args: base.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if check {
				return checkVersions(cmd.Context(), c, patience)
			}
			info, _ := debug.ReadBuildInfo()
			b := buildOf(info)
			if c.JSON {
				return c.PrintJSON(b)
			}
			_, err := fmt.Fprintln(c.Out, b)
			return err
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "check that this program, the store, Temporal and the workers are compatible")
	cmd.Flags().DurationVar(&patience, "wait", 5*time.Second, "with --check: how long to wait for each answer")
	cmd.Flags().BoolVar(&c.JSON, "json", false, "print as JSON")
	return cmd
}

// checkVersions checks whether everything that takes part in an upgrade is compatible.
func checkVersions(ctx context.Context, c *base.CLI, patience time.Duration) error {
	switch {
	case c.Remote():
		return base.Usagef("--check connects to Temporal and the store directly and does not work with --server (INQUEST_SERVER)")
	case c.Full == nil:
		return base.NeedsFull("version --check")
	}
	return c.Full.CheckVersions(ctx, c, patience)
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
		text += fmt.Sprintf(" (commit %s, %s)", b.Commit, b.Date)
	}
	if b.Modified {
		text += ", modified"
	}
	if b.Go != "" {
		text += ", " + b.Go
	}
	return text
}
