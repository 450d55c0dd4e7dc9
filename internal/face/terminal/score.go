package terminal

import (
	"fmt"
	"strings"

	"github.com/inquest-dev/inquest/internal/record"
)

// ScoreLine formats a score in one line.
func ScoreLine(r record.Score) string {
	words := []string{"score: " + string(r.Status)}
	if r.Score != nil {
		words[0] = fmt.Sprintf("score: %d of 100", *r.Score)
	}
	if len(r.Tags) > 0 {
		words = append(words, strings.Join(r.Tags, ", "))
	}
	if r.By != "" {
		words = append(words, "requested by "+r.By)
	}
	if r.Error != "" {
		words = append(words, r.Error)
	}
	return CleanLine(strings.Join(words, " · "))
}

// Score formats a score with its reasons.
func Score(r record.Score) string {
	out := ScoreLine(r) + "\n"
	for _, part := range []struct{ title, text string }{{"", r.Assessment}, {"Missing tools:\n", r.MissingTools}} {
		if part.text != "" {
			out += "\n" + part.title + strings.TrimSpace(Clean(part.text)) + "\n"
		}
	}
	return out
}

// RatingLines formats a person's rating, and those of single claims below it.
func RatingLines(r record.Rating) []string {
	line := "rated " + string(r.Rating)
	if r.By != "" {
		line += " by " + r.By
	}
	if r.Note != "" {
		line += ": " + r.Note
	}
	if r.ActionTaken != "" {
		line += " · action taken: " + r.ActionTaken
	}
	lines := []string{CleanLine(line)}
	for _, claim := range r.Claims {
		lines = append(lines, "  "+CleanLine(fmt.Sprintf("claim %d %s: %s", claim.Claim, claim.Rating, claim.Text)))
	}
	return lines
}

// ReviewLine formats the state of a review in one line.
func ReviewLine(r record.Review) string {
	line, who := "needs review", ""
	switch r.State {
	case record.InReview:
		line, who = "in review", r.Assignee
	case record.Reviewed:
		line, who = "reviewed", r.Reviewer
	}
	if who != "" {
		line += " by " + who
	}
	return CleanLine(line)
}
