package slack

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/trust/mask"
)

// The buttons below a report.
const (
	rateAccurate      = verbRate + string(record.Accurate)
	ratePartly        = verbRate + string(record.Partly)
	rateInaccurate    = verbRate + string(record.Inaccurate)
	reviewAcknowledge = verbReview + string(record.ReviewAcknowledge)
	reviewClaim       = verbReview + string(record.ReviewClaim)
	reviewRelease     = verbReview + string(record.ReviewRelease)
	reviewReopen      = verbReview + string(record.ReviewReopen)
)

// reviewWords say in the thread what somebody has done.
var reviewWords = map[string]string{
	rateAccurate: "rated this as accurate", ratePartly: "rated this as partly accurate", rateInaccurate: "rated this as inaccurate",
	reviewAcknowledge: "acknowledged this", reviewClaim: "is reviewing this", reviewRelease: "released the review",
	reviewReopen: "reopened the review",
}

// reviewable adds the buttons for rating and reviewing a report.
func (c content) reviewable(investigation string) content {
	return c.with(press{Investigation: investigation},
		rateAccurate, ratePartly, rateInaccurate, reviewAcknowledge, reviewClaim, reviewRelease, reviewReopen)
}

// review carries out a rating or another action of a review, and says in the thread who has done it.
func (w work) review(ctx context.Context) error {
	done, known := reviewWords[w.Kind]
	if !known {
		return nil // a button of a newer program
	}
	to, row := system.ByID{ID: w.Press.Investigation}, system.Review.Operation
	var err error
	if verdict, is := strings.CutPrefix(w.Kind, verbRate); is {
		row = system.Rate.Operation
		body := system.RateBody{Rating: record.Verdict(verdict), Note: w.Text, ActionTaken: w.Action}
		if body.Claims, err = system.ParseClaims("", strings.Fields(w.Claims)...); err == nil {
			_, err = do(ctx, w.Face, system.Rate, system.RateIn{ByID: to, Body: body})
		}
	} else {
		action := record.ReviewAction(strings.TrimPrefix(w.Kind, verbReview))
		_, err = do(ctx, w.Face, system.Review, system.ReviewIn{ByID: to, Body: system.ReviewBody{Action: action}})
	}
	if err != nil {
		return w.failed(ctx, to.ID, row.Name, err)
	}
	c := content{text: fmt.Sprintf("<@%s> %s.", w.User, done)}
	lines := append([]string{c.text}, quoted(ctx, "", w.Text)...)
	lines = append(lines, quoted(ctx, "Action taken: ", w.Action)...)
	for _, text := range sections(append(lines, quoted(ctx, "Claims: ", w.Claims)...)) {
		c.blocks = append(c.blocks, section(text))
	}
	_, err = w.post(ctx, record.ChatMessage{
		Investigation: to.ID, Kind: fmt.Sprintf("review %x", sha256.Sum256([]byte(w.id))), Channel: w.Channel, Thread: w.Thread,
		State: record.ChatDone,
	}, c)
	return err
}

// quoted returns the lines of a text as quotes. The store masks the same text in the same way. A text that grows too long when it is
// escaped is cut.
func quoted(ctx context.Context, title, text string) (lines []string) {
	if text == "" {
		return nil
	}
	text = mask.Shown(ctx, reveal.Text(text))
	if utf8.RuneCountInString(escape(text)) > maxText/2 {
		const longest = len("&amp;")
		text = clip.Runes(text, maxText/2/longest) + "…"
	}
	for line := range strings.Lines(title + text) {
		lines = append(lines, "> "+escape(strings.TrimRight(line, "\r\n")))
	}
	return lines
}
