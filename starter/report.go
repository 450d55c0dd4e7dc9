package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/report"
	"github.com/inquest-dev/inquest/internal/terminal"
	"github.com/inquest-dev/inquest/internal/transcript"
)

var reportFormats = []string{"md", "json", "html"}

func reportCommand(c *cli) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "report ID",
		Short: "Print the report: cause, confidence, what to do, then the rest",
		Long: `Print what came of an investigation. First, in at most eight lines of 80 columns,
what its report says of the cause, of how sure it is, and of what to do next; then
the report, and what did not go well. The first lines are found by rule, under the
headings or after the labels that reports have for it ("Root cause", "Confidence",
"Next"): what a report says otherwise is below. One line more says so if code has
not found in the evidence what the report cites it for: see show --evidence. On a terminal the Markdown is laid
out, and goes through $PAGER where it does not fit.`,
		Example: `  starter report lab
  starter report lab --format html > report.html`,
		Args: exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.json {
				format = "json"
			}
			return printReport(cmd.Context(), c, args[0], format)
		},
	}
	cmd.Flags().StringVar(&format, "format", "", "md, json, or html: one page for a browser (default: md, laid out on a terminal)")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(reportFormats, cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().BoolVar(&c.json, "json", false, "the same as --format json")
	c.pagerFlag(cmd)
	return cmd
}

// pagerFlag adds a flag to commands with long output.
func (c *cli) pagerFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.noPager, "no-pager", false, "do not use $PAGER where the output is longer than the screen")
}

// page prints a text that may be longer than the screen.
func (c *cli) page(text string) error {
	opts := c.options(false)
	if c.noPager {
		_, err := io.WriteString(opts.Out, text)
		return err
	}
	return terminal.Page(text, opts, os.LookupEnv)
}

// maxProse is the widest text that is comfortable to read.
const maxProse = 100

func printReport(ctx context.Context, c *cli, id, format string) error {
	id, err := c.meant(ctx, id)
	if err != nil {
		return err
	}
	r, err := reportOf(ctx, c, id)
	if err != nil {
		return err
	}
	switch format {
	case "":
		if opts := c.options(false); opts.Width > 0 {
			return c.page(terminal.Markdown(r.Markdown(), min(opts.Width, maxProse), opts.Color))
		}
		fallthrough
	case "md":
		_, err = io.WriteString(c.out, terminal.Clean(r.Markdown()))
		return err
	case "json":
		return c.printJSON(r)
	case "html":
		return r.HTML(c.out)
	}
	return usagef("--format %q: use one of %s", format, strings.Join(reportFormats, ", "))
}

// reportOf reads the report from the store or, without a store, from Temporal.
func reportOf(ctx context.Context, c *cli, id string) (r report.Report, err error) {
	w, err := c.client().Outcome(ctx, id)
	found, unproven := w.Investigation, ""
	switch {
	case errors.Is(err, client.ErrNoStore), errors.Is(err, record.ErrNotFound):
		s, err := c.client().Status(ctx, id)
		if err != nil {
			return r, err
		}
		if s.Result != nil {
			found, w.Stages, unproven = endOf(*s.Result), stagesOf(*s.Result), s.Result.Proof
			err = c.whole(ctx, "report", &found.Report, s.Result.ReportRef)
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
		return r, fmt.Errorf("investigation %s is %s and has no report yet: `starter watch %s` shows how it goes",
			found.ID, found.Status, command.ShellWord(id))
	}
	proof, err := proofOf(ctx, c, w)
	if err != nil {
		return r, err
	}
	r = report.Of(found, w.Stages, terminal.Summary(found), proof)
	r.UnknownWrites = transcript.Writes(w.UnknownCalls)
	r.Score, r.Brief.Proof = w.Score(), cmp.Or(r.Brief.Proof, unproven)
	return r, nil
}
