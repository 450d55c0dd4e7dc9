package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/workflows"
)

func decideCommand(c *cli) *cobra.Command {
	var d workflows.Decide
	var approve, deny bool
	cmd := &cobra.Command{
		Use:   "decide ID CALL --approve|--deny",
		Short: "Approve or deny a tool call that waits for a person",
		Long: `Approve or deny a tool call that waits for a person. CALL is as approvals prints
it, <execution>/<call>, or its last part alone if only one call has it. A call is
decided once; a denied one is not made, and the agent is told the reason. With
--digest, as approvals prints it, only the call is decided that was seen there: where
another one has taken its place, the decision is refused. Its first 12 characters
are enough.`,
		Example: `  starter decide lab dig/Alpha/c1_0 --digest 5f2c09ab77d1 --approve
  starter decide lab c1_1 --deny --reason "not on a Friday"`,
		Args: exactly("ID", "CALL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if approve == deny {
				return usagef("exactly one of --approve and --deny is needed")
			}
			d.CallID, d.Approved = args[1], &approve
			return decide(cmd.Context(), c, args[0], d)
		},
		ValidArgsFunction: completeWaiting(c, callChoices),
	}
	set := cmd.Flags()
	set.BoolVar(&approve, "approve", false, "have the call made")
	set.BoolVar(&deny, "deny", false, "do not have it made")
	set.StringVar(&d.Reason, "reason", "", "why; the agent is told")
	set.StringVar(&d.By, "by", userName(), "who decides")
	set.StringVar(&d.Digest, "digest", "", "digest of the call that was seen, or its first 12 characters")
	set.BoolVar(&c.json, "json", false, "print the decision as JSON")
	return cmd
}

func decide(ctx context.Context, c *cli, id string, d workflows.Decide) error {
	out, err := c.client().Decide(ctx, id, d)
	return answered(ctx, c, err, "the decision about "+out.Call, "starter approvals", out, decisionLine(out))
}

// decided is decide, and returns the line.
func decided(ctx context.Context, c *cli, id string, d workflows.Decide) (string, error) {
	out, err := c.client().Decide(ctx, id, d)
	_, line, err := outcome(ctx, err, "the decision about "+out.Call, "starter approvals", out, decisionLine(out))
	return line, err
}

func decisionLine(out client.Decided) string {
	return fmt.Sprintf("%s: %s of %s %s", out.ID, out.Call, out.Tool, out.Decision)
}
