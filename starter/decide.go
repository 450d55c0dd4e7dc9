package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/workflows"
)

// decideFlags are those of the command decide.
type decideFlags struct {
	approve, deny, json bool
	reason, by, digest  string
}

func decideCommand(c *cli) *cobra.Command {
	var f decideFlags
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
		RunE: func(cmd *cobra.Command, args []string) error { return decide(cmd.Context(), c, args[0], args[1], f) },

		ValidArgsFunction: completeWaiting(c, callChoices),
	}
	set := cmd.Flags()
	set.BoolVar(&f.approve, "approve", false, "have the call made")
	set.BoolVar(&f.deny, "deny", false, "do not have it made")
	set.StringVar(&f.reason, "reason", "", "why; the agent is told")
	set.StringVar(&f.by, "by", userName(), "who decides")
	set.StringVar(&f.digest, "digest", "", "digest of the call that was seen, or its first 12 characters")
	set.BoolVar(&f.json, "json", false, "print the decision as JSON")
	return cmd
}

func decide(ctx context.Context, c *cli, id, call string, f decideFlags) error {
	if f.approve == f.deny {
		return usagef("exactly one of --approve and --deny is needed")
	}
	d, err := c.client().Decide(ctx, id, workflows.Decide{CallID: call, Approved: &f.approve, By: f.by, Reason: f.reason, Digest: f.digest})
	line := fmt.Sprintf("%s: %s of %s %s", d.ID, d.Call, d.Tool, d.Decision)
	return answered(ctx, c, err, "the decision about "+d.Call, "starter approvals", f.json, d, line)
}
