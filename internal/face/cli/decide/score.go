package decide

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/workflows"
)

// NewScore returns the command score.
func NewScore(c *base.CLI) *cobra.Command {
	var by string
	var detach bool
	cmd := &cobra.Command{
		Use:   "score ID",
		Short: "Score a finished investigation",
		Long: `Score a finished investigation; you can repeat this. The scoring agent is the agent in
scoring.agent of the chain or of defaults, or else ScoringAgent. It gets the request, the
results and the transcripts of all agents, and returns a score from 0 to 100 with reasons.
Scoring does not change the status of the investigation. Each investigation has only one
scoring at a time. "starter show" and "starter report" print the last score; "starter show --json" prints all.`,
		Example: `  starter score lab
  starter score lab --json | jq .score`,
		Args: base.Exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error { return score(cmd.Context(), c, args[0], by, detach) },
	}
	cmd.Flags().StringVar(&by, "by", base.UserName(), "name of the requester")
	cmd.Flags().BoolVar(&detach, "detach", false, "print the ID and do not wait for the score")
	cmd.Flags().BoolVar(&c.JSON, "json", false, "print the score as JSON")
	return cmd
}

func score(ctx context.Context, c *base.CLI, id, by string, detach bool) error {
	id, err := c.Meant(ctx, id)
	if err != nil {
		return err
	}
	judging, err := c.Client().Score(ctx, id, by)
	if busy, ok := errors.AsType[*system.ScoringError](err); ok {
		return fmt.Errorf("%w: run `starter show %s` to see the score when it is ready", err, command.ShellWord(busy.ID))
	}
	switch {
	case err != nil:
		return err
	case detach && c.JSON:
		return c.PrintJSON(map[string]string{"id": judging.ID, "workflow_id": workflows.ScoringID(judging.ID)})
	case detach:
		_, err = fmt.Fprintln(c.Out, judging.ID)
		return err
	}
	out, err := c.Client().Wait(ctx, judging)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("\nStopped waiting. Scoring continues. To see the score: starter show %s", judging.ID)
	case err != nil:
		return err
	case c.JSON:
		err = c.PrintJSON(out)
	default:
		_, err = fmt.Fprint(c.Out, terminal.Score(out))
	}
	if err == nil && out.Status != agent.StatusCompleted {
		err = fmt.Errorf("scoring %s: %s: %s", judging.ID, out.Status, terminal.CleanLine(out.Error))
	}
	return err
}
