package main

import (
	"cmp"
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func versionCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Example: "  starter version",
		Short:   "Print the version, and the commit that it was built from",
		Args:    exactly(),
		RunE: func(*cobra.Command, []string) error {
			info, _ := debug.ReadBuildInfo()
			b := buildOf(info)
			if c.json {
				return c.printJSON(b)
			}
			_, err := fmt.Fprintln(c.out, b)
			return err
		},
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print it as JSON")
	return cmd
}

// build is what the Go toolchain wrote into the program.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Date     string `json:"date,omitempty"`     // of the commit
	Modified bool   `json:"modified,omitempty"` // there was more than the commit has
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
