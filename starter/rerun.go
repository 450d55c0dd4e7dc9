package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/record"
)

func rerunCommand(c *cli) *cobra.Command {
	var s client.Start
	var l look
	var asked requestFlags
	cmd := &cobra.Command{
		Use:   "rerun ID",
		Short: "Investigate once more what an investigation was about",
		Long: `Start another investigation with the chain, the alert type and the data of one that
the workers' store knows, by the configuration as it is now. The data is the stored
form, in which what was masked stays masked. Its tenant, session, priority, metadata, tools and
budgets are kept unless others are given. Another model or runbook that the first one
was given is not kept: give it again.`,
		Example: `  starter rerun lab --provider openai:gpt-4o
  starter rerun lab --data @alert.json --detach`,
		Args: exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := again(cmd.Context(), c, args[0], &s, cmd.Flags().Changed); err != nil {
				return err
			}
			if err := asked.read(&s.Request); err != nil {
				return err
			}
			return launch(cmd.Context(), c, s, asked.detach, l)
		},
	}
	set := cmd.Flags()
	set.StringVar(&s.Data, "data", "", "other data: a text, @file, or - for standard input")
	asked.flags(c, cmd, &s)
	l.flags(c, cmd)
	return cmd
}

// again makes s the request of an earlier investigation, with the changes in the flags.
func again(ctx context.Context, c *cli, id string, s *client.Start, changed func(flag string) bool) error {
	w, err := c.client().Outcome(ctx, id)
	if errors.Is(err, record.ErrNotFound) {
		err = c.client().Meant(ctx, id, err)
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
		data, err := c.local().Blob(ctx, hash)
		if err != nil {
			return err
		}
		s.Data = string(data)
	}
	s.Request.Attach, s.Request.AllowEmpty = true, s.Data == "" // the data was accepted before
	c.say("the data of %s is used as it is stored: what was masked stays masked", w.Investigation.ID)
	return nil
}
