package look

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/report"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
)

var reportFormats = []string{"md", "json", "html"}

// NewReport returns the command report.
func NewReport(c *base.CLI) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "report ID",
		Short: "Print the report, starting with cause, confidence and next steps",
		Long: `Print the report of an investigation. The output begins with the cause, the confidence
and the next steps with their commands. They are extracted by fixed rules, not by a model,
from the report's usual headings and labels ("Root cause", "Confidence", "Next"). Another
line warns you if the evidence does not support the report's citations (see show
--evidence). The full report and any problems follow. In a terminal, the Markdown is
formatted, and $PAGER shows it if it does not fit.`,
		Example: `  starter report lab
  starter report lab --format html > report.html`,
		Args: base.Exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.JSON {
				format = "json"
			}
			return printReport(cmd.Context(), c, args[0], format)
		},
	}
	cmd.Flags().StringVar(&format, "format", "", "md, json or html (one page for a browser); default: md, formatted on a terminal")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(reportFormats, cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().BoolVar(&c.JSON, "json", false, "the same as --format json")
	pagerFlag(c, cmd)
	return cmd
}

// pagerFlag adds a flag to commands with long output.
func pagerFlag(c *base.CLI, cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.NoPager, "no-pager", false, "do not use $PAGER, even if the output is longer than the screen")
}

// page prints a text that may be longer than the screen.
func page(c *base.CLI, text string) error {
	opts := c.Options(false)
	if c.NoPager {
		_, err := io.WriteString(opts.Out, text)
		return err
	}
	return terminal.Page(text, opts, os.LookupEnv)
}

func printReport(ctx context.Context, c *base.CLI, id, format string) error {
	id, err := c.Meant(ctx, id)
	if err != nil {
		return err
	}
	r, err := reportOf(ctx, c, id)
	if err != nil {
		return err
	}
	switch format {
	case "":
		if opts := c.Options(false); opts.Width > 0 {
			return page(c, terminal.Markdown(r.Markdown(), min(opts.Width, terminal.MaxProse), opts.Color))
		}
		fallthrough
	case "md":
		_, err = io.WriteString(c.Out, terminal.Clean(r.Markdown()))
		return err
	case "json":
		return c.PrintJSON(r)
	case "html":
		return r.HTML(c.Out)
	}
	return base.Usagef("--format %q: use one of %s", format, strings.Join(reportFormats, ", "))
}

// reportOf reads the report from the store or, without a store, from Temporal.
func reportOf(ctx context.Context, c *base.CLI, id string) (r report.Report, err error) {
	w, err := c.Client().Outcome(ctx, id)
	found, unproven := w.Investigation, ""
	switch {
	case errors.Is(err, system.ErrNoStore), errors.Is(err, record.ErrNotFound):
		s, err := c.Client().Status(ctx, id)
		if err != nil {
			return r, err
		}
		if s.Result != nil {
			found, w.Stages, unproven = endOf(*s.Result), stagesOf(*s.Result), s.Result.Proof
			err = c.Whole(ctx, "report", &found.Report, s.Result.ReportRef)
		} else {
			found = record.Investigation{ID: s.ID, Status: s.Status.Status}
		}
		if err != nil {
			return r, err
		}
	case err != nil:
		return r, err
	}
	if found.Report == "" && !found.Status.Closed() {
		return r, fmt.Errorf("investigation %s is %s and has no report yet: run `starter watch %s` to follow it",
			found.ID, found.Status, command.ShellWord(id))
	}
	w.Investigation = found
	r, err = report.Checked(ctx, w, terminal.Summary(found), c.Client().Evidence)
	r.Brief.Proof = cmp.Or(r.Brief.Proof, unproven)
	return r, err
}
