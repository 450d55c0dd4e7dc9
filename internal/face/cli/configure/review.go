package configure

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
)

// NewReview returns the commands of review.
func NewReview(c *base.CLI) *cobra.Command {
	group := base.Group("review", "Claim, release, acknowledge or reopen reviews of investigations",
		reviewCommand(c, record.ReviewClaim, "Claim reviews, or take them over from another person"),
		reviewCommand(c, record.ReviewRelease, "Release claimed reviews"),
		reviewCommand(c, record.ReviewAcknowledge, "Complete reviews without a rating"),
		reviewCommand(c, record.ReviewReopen, "Reopen completed reviews"),
	)
	group.Long = `Review finished investigations. Every investigation that has ended needs a review, unless it
was cancelled or terminated. Claim a review to show others that you are working on it. Complete
it with "starter rate", or with "starter review acknowledge" if there is nothing to rate.
"starter audit ID" lists each step.

Run "starter list --review needs_review" to see what needs a review.`
	return group
}

func reviewCommand(c *base.CLI, action record.ReviewAction, short string) *cobra.Command {
	var f learningFlags
	cmd := &cobra.Command{
		Use: string(action) + " ID...", Short: short,
		Example: fmt.Sprintf("  starter review %s lab", action),
		Args:    base.AtLeastOne("ID"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			done := map[string]record.Review{}
			for _, name := range args {
				id, review, failed := review(cmd.Context(), c, name, action, f)
				if failed != nil {
					err = errors.Join(err, failed)
					continue
				}
				if done[id] = review; !c.JSON {
					err = errors.Join(err, c.Print(terminal.CleanLine(id)+": "+terminal.ReviewLine(review)))
				}
			}
			if c.JSON {
				err = errors.Join(err, c.PrintJSON(done))
			}
			return err
		},
	}
	return f.add(c, cmd, true)
}

// review carries out an action on one investigation.
func review(
	ctx context.Context, c *base.CLI, name string, action record.ReviewAction, f learningFlags,
) (id string, out record.Review, err error) {
	if id, err = c.Meant(ctx, name); err != nil {
		return "", out, err
	}
	in := system.ReviewIn{ByID: system.ByID{ID: id}, Body: system.ReviewBody{Action: action}}
	out, err = c.Client().Review(ctx, in, f.who())
	return id, out, base.NeedsStore(err)
}
