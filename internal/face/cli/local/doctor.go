// Package local has the commands that need Temporal, the store or the adapters themselves, and do not work through the API.
package local

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/doctor"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/store"
)

// newDoctor returns the command doctor.
func newDoctor(c *base.CLI) *cobra.Command {
	e := doctor.Examination{}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check everything that investigations need",
		Long: `Check Temporal and its task queues, the store, the configuration, the models' keys, the
MCP servers and the systems that they read (a cluster, Prometheus, Grafana), the clocks and
this terminal. Nothing is changed, and no key is printed. Most problems come with a
remedy; the exit code is 1 if a check fails. On a terminal, and with a configuration of your
own, doctor asks before it calls the models; otherwise, it calls them only with --online.`,
		Example: `  starter doctor --config inquest
  starter doctor --config inquest --online --wait 1m`,
		Args: base.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("online") && c.Config != "" && c.Typed() && !c.JSON {
				q := c.Questions(cmd.Context())
				e.Online = q.Yes("Call each model once, to check its key and name? This costs a few tokens.")
				if q.Err != nil {
					return q.Err
				}
			}
			return runDoctor(cmd.Context(), c, e)
		},
	}
	c.ConfigFlag(cmd)
	cmd.Flags().BoolVar(&e.Online, "online", false,
		"call each model once, to check its key and name (costs a few tokens; --online=false: do not call or ask)")
	cmd.Flags().DurationVar(&e.Patience, "wait", 5*time.Second, "how long to wait for each answer")
	cmd.Flags().BoolVar(&c.JSON, "json", false, "print the findings as JSON")
	return cmd
}

func runDoctor(ctx context.Context, c *base.CLI, e doctor.Examination) error {
	if e.Patience <= 0 {
		return base.Usagef("--wait %s: expected more than 0", e.Patience)
	}
	opts, keys, err := temporal(c)
	if err != nil {
		return err
	}
	keys.Protect(&opts)
	path, _ := c.StorePath() // an empty path means that there is no store
	e.Temporal, e.TaskQueue, e.Store = opts, c.TaskQueue, store.At(path)
	findings := []doctor.Finding{examineConfig(c, &e)}
	if e.Config != nil {
		e.Toolbox = doctor.NewToolbox(doctor.ToolboxOptions{Config: e.Config, Logger: slog.New(slog.DiscardHandler)})
		defer e.Toolbox.Close()
	}
	findings = append(findings, doctor.Examine(ctx, e)...)
	return reportFindings(c, append(findings, examineTerminal(c)))
}

// checkVersions checks whether this program, the store, Temporal and the workers fit together.
func checkVersions(ctx context.Context, c *base.CLI, patience time.Duration) error {
	if patience <= 0 {
		return base.Usagef("--wait %s: expected more than 0", patience)
	}
	opts, keys, err := temporal(c)
	if err != nil {
		return err
	}
	keys.Protect(&opts)
	path, _ := c.StorePath() // an empty path is a store that does not exist
	return reportFindings(c, doctor.CheckVersions(ctx, doctor.Examination{
		Temporal: opts, TaskQueue: c.TaskQueue, Store: store.At(path), Patience: patience,
	}))
}

// reportFindings prints findings and returns an error if any of them is a failure.
func reportFindings(c *base.CLI, findings []doctor.Finding) (err error) {
	if c.JSON {
		err = c.PrintJSON(findings)
	} else {
		err = printExamined(c, findings)
	}
	failed := 0
	for _, f := range findings {
		if f.Level == doctor.LevelFail {
			failed++
		}
	}
	if err == nil && failed > 0 {
		err = fmt.Errorf("%d of %s", failed, terminal.Count(len(findings), "check")+" failed")
	}
	return err
}

// examineConfig checks the configuration as validate does.
func examineConfig(c *base.CLI, e *doctor.Examination) doctor.Finding {
	f := doctor.Finding{Level: doctor.LevelOK, What: "configuration",
		Found: cmp.Or(c.Config, "built-in entries only (set --config to use yours)")}
	src, err := c.Source()
	if err != nil {
		return doctor.Finding{Level: doctor.LevelFail, What: f.What, Found: err.Error()}
	}
	cfg, all := configuration.Check(src)
	if all.Failed() {
		why := slices.IndexFunc(all, func(one config.Finding) bool { return !one.Accepted() })
		f.Level, f.Found = doctor.LevelFail, fmt.Sprintf("%s cannot be used: %s", f.Found, all[why])
		f.Remedy = "starter validate " + command.ShellWord(c.Config)
		return f
	}
	e.Config, e.ConfigPath = cfg, c.Config
	if blind := configuration.Toolless(cfg); len(blind) > 0 {
		f.Level, f.Remedy = doctor.LevelWarn, "starter validate "+c.Config
		f.Found = fmt.Sprintf("%s: %s: %s", f.Found, blind[0].Path, blind[0].Message)
	}
	if n := all.Count(config.SeverityDanger); n > 0 {
		f.Level, f.Found = doctor.LevelWarn, fmt.Sprintf("%s has dangerous settings: %s", f.Found, terminal.Count(n, "finding"))
		f.Remedy = "starter validate " + command.ShellWord(c.Config)
	}
	return f
}

func examineTerminal(c *base.CLI) doctor.Finding {
	f := doctor.Finding{Level: doctor.LevelOK, What: "terminal", Found: "none (output is plain text)"}
	opts := c.Options(false)
	switch {
	case opts.Width == 0:
	case opts.Width < 80:
		f.Level, f.Remedy = doctor.LevelWarn, "widen the terminal window"
		f.Found = fmt.Sprintf("%d columns; tables need 80", opts.Width)
	default:
		f.Found = fmt.Sprintf("%d columns, colours: %t", opts.Width, opts.Color)
	}
	return f
}

func printExamined(c *base.CLI, findings []doctor.Finding) error {
	var rows [][]string
	for _, f := range findings {
		rows = append(rows, []string{fmt.Sprintf("%-4s", f.Level), terminal.CleanLine(f.What + ": " + f.Found)})
		if f.Remedy != "" {
			rows = append(rows, []string{"", "→ " + terminal.CleanLine(f.Remedy)})
		}
	}
	return base.PrintColumns(c, rows)
}
