package start

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/cli/look"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
)

// NewRerun returns the command rerun.
func NewRerun(c *base.CLI) *cobra.Command {
	var s system.Start
	var l look.Look
	var asked requestFlags
	cmd := &cobra.Command{
		Use:   "rerun ID",
		Short: "Repeat an investigation with the current configuration",
		Long: `Start a new investigation with the chain, alert type and data of an investigation in the
workers' store, using the current configuration. The data is the stored copy, in which
masked secrets stay masked. The project, tenant, session, priority, metadata, tools and
budgets are kept unless you set others. A model or runbook set for the earlier investigation is not
kept: set it again.`,
		Example: `  starter rerun lab --provider openai:gpt-4o
  starter rerun lab --data @alert.json --detach`,
		Args: base.Exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := rerun(cmd.Context(), c, args[0], &s, cmd.Flags().Changed); err != nil {
				return err
			}
			if err := asked.read(&s.Request); err != nil {
				return err
			}
			return launch(cmd.Context(), c, s, asked.detach, l)
		},
	}
	set := cmd.Flags()
	set.StringVar(&s.Data, "data", "", "data to use instead of the stored data: text, @file, or - for standard input")
	asked.flags(c, cmd, &s)
	l.Flags(c, cmd)
	return cmd
}

// rerun makes s the request of an earlier investigation, with the changes in the flags.
func rerun(ctx context.Context, c *base.CLI, id string, s *system.Start, changed func(flag string) bool) error {
	w, err := c.Client().Outcome(ctx, id)
	if errors.Is(err, record.ErrNotFound) {
		err = c.Client().Meant(ctx, id, err)
	}
	if err != nil {
		return err
	}
	if err := complement(c, s); err != nil {
		return err
	}
	s.Request.Chain, s.Request.AlertType = w.Investigation.Chain, w.Investigation.AlertType
	s.Request.Again = true
	keep(&s.Request, w.Investigation, changed)
	if changed("data") {
		return nil
	}
	if hash := w.Investigation.DataHash; hash != "" {
		data, err := c.Local().Blob(ctx, hash)
		if err != nil {
			return err
		}
		s.Data = string(data)
	}
	s.Request.Attach, s.Request.AllowEmpty = true, s.Data == "" // the data was accepted before
	c.Say("using the stored data of %s, in which masked secrets stay masked", w.Investigation.ID)
	return nil
}
