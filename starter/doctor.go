package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/app"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/terminal"
)

func doctorCommand(c *cli) *cobra.Command {
	e := app.Examination{}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check what investigations need",
		Long: `Check, all at once, Temporal and its task queues, the store, the configuration, the keys
of the models, the MCP servers and what they read (a cluster, Prometheus, Grafana), the
clocks and this terminal. Nothing is changed, and no key is printed. Each problem comes
with a remedy; the exit code is 1 if something does not work. On a terminal, doctor asks
before it sends the models a word; elsewhere, --online says so.`,
		Example: `  starter doctor --config inquest
  starter doctor --config inquest --online --wait 1m`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("online") && c.config != "" && c.typed() && !c.json {
				q := c.questions(cmd.Context())
				e.Online = q.yes("Ask each model for one word, to check its key and its name? That costs a few tokens.")
				if q.err != nil {
					return q.err
				}
			}
			return doctor(cmd.Context(), c, e)
		},
	}
	c.configFlag(cmd)
	cmd.Flags().BoolVar(&e.Online, "online", false,
		"also ask each model for one word, to check its key and its name (costs a few tokens; --online=false: do not ask)")
	cmd.Flags().DurationVar(&e.Patience, "wait", 5*time.Second, "how long each answer is waited for")
	cmd.Flags().BoolVar(&c.json, "json", false, "print the findings as JSON")
	return cmd
}

func doctor(ctx context.Context, c *cli, e app.Examination) error {
	if e.Patience <= 0 {
		return usagef("--wait %s: give more than 0", e.Patience)
	}
	opts, keys, err := c.temporal()
	if err != nil {
		return err
	}
	keys.Protect(&opts)
	path, _ := c.storePath() // an empty path means that there is no store
	e.Temporal, e.TaskQueue, e.Store = opts, c.taskQueue, store.At(path)
	findings := []app.Finding{c.examineConfig(&e)}
	if e.Config != nil {
		e.Toolbox = app.NewToolbox(app.ToolboxOptions{Config: e.Config, Logger: slog.New(slog.DiscardHandler)})
		defer e.Toolbox.Close()
	}
	findings = append(findings, app.Examine(ctx, e)...)
	return c.reportFindings(append(findings, c.examineTerminal()))
}

// reportFindings prints findings and returns an error if any of them is a failure.
func (c *cli) reportFindings(findings []app.Finding) (err error) {
	if c.json {
		err = c.printJSON(findings)
	} else {
		err = c.printExamined(findings)
	}
	failed := 0
	for _, f := range findings {
		if f.Level == app.LevelFail {
			failed++
		}
	}
	if err == nil && failed > 0 {
		err = fmt.Errorf("%d of %s", failed, terminal.Count(len(findings), "check")+" failed")
	}
	return err
}

// examineConfig checks the configuration as validate does.
func (c *cli) examineConfig(e *app.Examination) app.Finding {
	f := app.Finding{Level: app.LevelOK, What: "configuration", Found: cmp.Or(c.config, "built in (--config names one)")}
	src, err := c.source()
	if err != nil {
		return app.Finding{Level: app.LevelFail, What: f.What, Found: err.Error()}
	}
	cfg, all := config.Check(src)
	if all.Failed() {
		why := slices.IndexFunc(all, func(one config.Finding) bool { return !one.Accepted() })
		f.Level, f.Found = app.LevelFail, fmt.Sprintf("%s cannot be used: %s", f.Found, all[why])
		f.Remedy = "starter validate " + c.config
		return f
	}
	e.Config = cfg
	if n := all.Count(config.SeverityDanger); n > 0 {
		f.Level, f.Found = app.LevelWarn, fmt.Sprintf("%s allows what can do harm: %s", f.Found, terminal.Count(n, "danger"))
		f.Remedy = "starter validate " + c.config
	}
	return f
}

func (c *cli) examineTerminal() app.Finding {
	f := app.Finding{Level: app.LevelOK, What: "terminal", Found: "none: plain lines are printed"}
	opts := c.options(false)
	switch {
	case opts.Width == 0:
	case opts.Width < 80:
		f.Level, f.Remedy = app.LevelWarn, "make it wider"
		f.Found = fmt.Sprintf("%d columns; tables are made for 80", opts.Width)
	default:
		f.Found = fmt.Sprintf("%d columns, colours: %t", opts.Width, opts.Color)
	}
	return f
}

func (c *cli) printExamined(findings []app.Finding) error {
	var rows [][]string
	for _, f := range findings {
		rows = append(rows, []string{fmt.Sprintf("%-4s", f.Level), terminal.CleanLine(f.What + ": " + f.Found)})
		if f.Remedy != "" {
			rows = append(rows, []string{"", "→ " + terminal.CleanLine(f.Remedy)})
		}
	}
	return printColumns(c, rows)
}
