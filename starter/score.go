package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/terminal"
	"github.com/inquest-dev/inquest/workflows"
)

func scoreCommand(c *cli) *cobra.Command {
	var by string
	var detach bool
	cmd := &cobra.Command{
		Use:   "score ID",
		Short: "Have an investigation judged that has ended",
		Long: `Have an investigation judged that has ended, once more if it was before: by the agent
that its chain names, else by ScoringAgent. The judge sees the request, the results and
the records of all agents, and gives a score from 0 to 100 with reasons. How the
investigation has ended does not change. Only one judges at a time; show and
report have the last score, and show --json all of them.`,
		Example: `  starter score lab
  starter score lab --json | jq .score`,
		Args: exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error { return score(cmd.Context(), c, args[0], by, detach) },
	}
	cmd.Flags().StringVar(&by, "by", userName(), "who asks")
	cmd.Flags().BoolVar(&detach, "detach", false, "print the id and do not wait for the score")
	cmd.Flags().BoolVar(&c.json, "json", false, "print the score as JSON")
	return cmd
}

func score(ctx context.Context, c *cli, id, by string, detach bool) error {
	id, err := c.meant(ctx, id)
	if err != nil {
		return err
	}
	judging, err := c.client().Score(ctx, id, by)
	if busy, ok := errors.AsType[*client.ScoringError](err); ok {
		return fmt.Errorf("%w: `starter show %s` has the score when it is done", err, command.ShellWord(busy.ID))
	}
	switch {
	case err != nil:
		return err
	case detach && c.json:
		return c.printJSON(map[string]string{"id": judging.ID, "workflow_id": workflows.ScoringID(judging.ID)})
	case detach:
		_, err = fmt.Fprintln(c.out, judging.ID)
		return err
	}
	out, err := c.client().Wait(ctx, judging)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("\nNot waiting any more. The judge goes on: starter show %s has the score", judging.ID)
	case err != nil:
		return err
	case c.json:
		err = c.printJSON(out)
	default:
		_, err = fmt.Fprint(c.out, terminal.Score(out))
	}
	if err == nil && out.Status != agent.StatusCompleted {
		err = fmt.Errorf("the score of %s: %s: %s", judging.ID, out.Status, terminal.CleanLine(out.Error))
	}
	return err
}
