package slack

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/slack-go/slack"

	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
)

// The buttons below a report.
const (
	rateAccurate      = verbRate + string(record.Accurate)
	ratePartly        = verbRate + string(record.Partly)
	rateInaccurate    = verbRate + string(record.Inaccurate)
	reviewAcknowledge = verbReview + string(record.ReviewAcknowledge)
	reviewClaim       = verbReview + string(record.ReviewClaim)
)

// maxRating is the most characters of a note, and of an action taken: system.RateBody.
const maxRating = 2000

// reviewable adds the buttons for rating and reviewing a report.
func (c content) reviewable(investigation string) content {
	return c.with(press{Investigation: investigation}, rateAccurate, ratePartly, rateInaccurate, reviewAcknowledge, reviewClaim)
}

// review carries out a rating or another action of a review, and says in the thread who has done it.
func (w work) review(ctx context.Context) error {
	to, done := system.ByID{ID: w.Press.Investigation}, ""
	row := system.Review.Operation
	var err error
	if verdict, is := strings.CutPrefix(w.Kind, verbRate); is {
		row, done = system.Rate.Operation, "rated this "+verdict
		_, err = do(ctx, w.Face, system.Rate, system.RateIn{ByID: to, Body: system.RateBody{
			Rating: record.Verdict(verdict), Note: w.Text, ActionTaken: w.Action,
		}})
	} else if action, is := strings.CutPrefix(w.Kind, verbReview); is {
		done = map[record.ReviewAction]string{
			record.ReviewAcknowledge: "acknowledged this", record.ReviewClaim: "is reviewing this",
		}[record.ReviewAction(action)]
		_, err = do(ctx, w.Face, system.Review, system.ReviewIn{ByID: to, Body: system.ReviewBody{Action: record.ReviewAction(action)}})
	}
	switch {
	case done == "":
		return nil // a button of a newer program
	case err != nil:
		return w.failed(ctx, to.ID, row.Name, err)
	}
	lines := []string{fmt.Sprintf("<@%s> %s.", w.User, done)}
	for _, said := range []struct{ title, text string }{{"", w.Text}, {"Action taken: ", w.Action}} {
		if said.text != "" {
			lines = append(lines, "> "+escape(said.title+clip.Line(reveal.Text(said.text), maxRating/2)))
		}
	}
	text := strings.Join(lines, "\n")
	_, err = w.post(ctx, record.ChatMessage{
		Investigation: to.ID, Kind: fmt.Sprintf("review %x", sha256.Sum256([]byte(w.id))), Channel: w.Channel, Thread: w.Thread,
		State: record.ChatDone,
	}, content{text: text, blocks: []slack.Block{section(text)}})
	return err
}
