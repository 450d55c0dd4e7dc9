package main

import (
	"cmp"
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
		Use:   "decide N|ID CALL --approve|--deny",
		Short: "Approve or deny a tool call that waits for a person",
		Long: `Approve or deny a tool call that waits for a person. N is its number in the inbox;
only what was seen there under it is decided. Else CALL is <execution>/<call>, as inbox
prints it, or its last part alone if only one call has it. A call is decided once; a
denied one is not made, and the agent is told the reason. With --digest only the call
with that digest is decided; its first 12 characters are enough.`,
		Example: `  starter decide 1 --approve
  starter decide lab dig/Alpha/c1_0 --digest 5f2c09ab77d1 --approve
  starter decide lab c1_1 --deny --reason "not on a Friday"`,
		Args: numberOr("CALL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if approve == deny {
				return usagef("exactly one of --approve and --deny is needed")
			}
			d.Approved = &approve
			found, numbered, err := c.asListed(cmd.Context(), args)
			switch {
			case err != nil:
				return err
			case numbered && found.Kind != kindApproval:
				return usagef("number %s is a question (%s): use starter answer %[1]s", args[0], found.Kind)
			case numbered:
				d.CallID, d.Digest = found.Name, cmp.Or(d.Digest, found.Digest)
				return decide(cmd.Context(), c, found.Investigation, d)
			case len(args) == 1:
				return usagef("which call of %s? `starter inbox %[1]s` lists them", args[0])
			}
			d.CallID = args[1]
			return decide(cmd.Context(), c, args[0], d)
		},
		ValidArgsFunction: completeWaiting(c, isCall),
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
	return answered(ctx, c, err, "the decision about "+out.Call, "starter inbox", out, decisionLine(out))
}

func decisionLine(out client.Decided) string {
	return fmt.Sprintf("%s: %s of %s %s", out.ID, out.Call, out.Tool, out.Decision)
}

// numberOr takes a number of the inbox, or an id and the name of something that waits there.
func numberOr(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < 1 || len(args) > 2 {
			return usagef("%d arguments given, needed is a number of the inbox, or ID and %s", len(args), name)
		}
		return nil
	}
}
