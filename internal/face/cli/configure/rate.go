package configure

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
)

// NewRate returns the command rate.
func NewRate(c *base.CLI) *cobra.Command {
	var f learningFlags
	var body system.RateBody
	var claims []string
	cmd := &cobra.Command{
		Use: "rate ID accurate|partly|inaccurate", Short: "Rate the result of an investigation",
		Long: `Rate the result of a finished investigation. A new rating replaces your last one, and
completes the review (see "starter review --help"). --claim rates a single claim of the
report by its number in "starter show ID --evidence".

While anyone rates the investigation inaccurate, new agents do not get its learnings, and its
judgements of earlier learnings do not count. For such a rating, the command lists these
learnings and the investigations that received one. With --withdraw, its learnings are withdrawn for good.`,
		Example: `  starter rate lab accurate --action "rolled back to 1.4.1"
  starter rate lab partly --claim 1=accurate --claim 3=inaccurate
  starter rate lab inaccurate --note "it was the network" --withdraw`,
		Args: base.Exactly("ID", "RATING"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if body.Claims, err = system.ParseClaims("--claim ", claims...); err != nil {
				return base.Usagef("%w", err)
			}
			body.Rating = record.Verdict(args[1])
			return rate(cmd.Context(), c, args[0], body, &f)
		},
	}
	cmd.Flags().StringVar(&body.Note, "note", "", "what was right or wrong, such as the actual cause")
	cmd.Flags().StringVar(&body.ActionTaken, "action", "", "what was done about the incident")
	cmd.Flags().StringArrayVar(&claims, "claim", nil, "rating of one claim, as NUMBER=RATING; may be repeated")
	cmd.Flags().BoolVar(&body.Withdraw, "withdraw", false, "withdraw all learnings from the inaccurate investigation")
	return f.add(c, cmd, true)
}

func rate(ctx context.Context, c *base.CLI, id string, body system.RateBody, f *learningFlags) error {
	id, err := c.Meant(ctx, id)
	if err != nil {
		return err
	}
	out, err := c.Client().Rate(ctx, system.RateIn{ByID: system.ByID{ID: id}, Body: body}, f.who())
	if err != nil {
		return base.NeedsStore(err)
	}
	if c.JSON || body.Rating == record.Inaccurate {
		if err := addOlderTaught(ctx, c, &out.Taught); err != nil {
			return err
		}
	}
	if c.JSON {
		return c.PrintJSON(out)
	}
	for _, r := range out.Ratings {
		if err := c.Print(terminal.RatingLines(r)...); err != nil {
			return err
		}
	}
	if body.Rating != record.Inaccurate {
		return nil
	}
	return printTaughtLines(c, out.Taught)
}
