package system

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
)

// Reviewer rates and reviews investigations, and summarises them.
type Reviewer interface {
	// Rate stores a person's rating of an ended investigation, which completes its review.
	Rate(ctx context.Context, in RateIn, by agent.Identity) (Rated, error)
	// Review carries out a person's action on the review of an investigation.
	Review(ctx context.Context, in ReviewIn, by agent.Identity) (record.Review, error)
	// Stats summarises the ended investigations that a filter selects. If Since is zero, those that started in the last 30 days count.
	Stats(ctx context.Context, by record.StatsKey, f record.Filter) (Stats, error)
}

// RateIn rates an investigation.
type RateIn struct {
	ByID
	Body RateBody
}

// MaxNote limits a note, and a text about the action taken, in characters.
const MaxNote = 2000

// RateBody is a person's rating.
type RateBody struct {
	Rating      record.Verdict `json:"rating" enum:"accurate,partly,inaccurate" doc:"your rating; replaces your earlier one"`
	Note        string         `json:"note,omitempty" maxLength:"2000" doc:"what was right or wrong, such as the actual cause"`
	ActionTaken string         `json:"action_taken,omitempty" maxLength:"2000" doc:"what was done about the incident"`
	Claims      []ClaimBody    `json:"claims,omitempty" maxItems:"1000" doc:"ratings of single claims; if absent, your earlier ones stay"`
	Withdraw    bool           `json:"withdraw,omitempty" doc:"also withdraw this investigation's learnings; only with the rating inaccurate"`
}

// ClaimBody is a person's rating of a claim.
type ClaimBody struct {
	Claim  int            `json:"claim" minimum:"1" doc:"n of the claim in the investigation's evidence"`
	Rating record.Verdict `json:"rating" enum:"accurate,partly,inaccurate"`
}

// ParseClaims reads ratings of claims, each in the form NUMBER=RATING. The error lists all that are wrong, after a prefix.
func ParseClaims(prefix string, words ...string) (all []ClaimBody, err error) {
	for _, word := range words {
		number, rating, _ := strings.Cut(word, "=")
		n, wrong := strconv.Atoi(number)
		if wrong != nil || rating == "" {
			err = errors.Join(err, fmt.Errorf("%s%q: give NUMBER=RATING, such as 3=inaccurate", prefix, word))
		}
		all = append(all, ClaimBody{Claim: n, Rating: record.Verdict(rating)})
	}
	return all, err
}

// Rated is an investigation after a rating.
type Rated struct {
	Taught
	Ratings []record.Rating `json:"ratings" doc:"all ratings of the investigation, oldest first"`
}

// ReviewIn is an action on the review of an investigation.
type ReviewIn struct {
	ByID
	Body ReviewBody
}

// ReviewBody is a person's action.
type ReviewBody struct {
	Action record.ReviewAction `json:"action" enum:"claim,release,acknowledge,reopen" doc:"acknowledge completes the review without a rating"`
}

// StatsIn selects the ended investigations to summarise.
type StatsIn struct {
	By      record.StatsKey `query:"by" enum:"chain,model,plan" default:"chain" doc:"how investigations are grouped"`
	Since   time.Time       `query:"since" doc:"only investigations started at or after this time; absent means the last 30 days"`
	Chain   string          `query:"chain" doc:"only this chain"`
	Project string          `query:"project" doc:"only this project; absent means every project that your token can read"`
}

// Stats summarises ended investigations.
type Stats struct {
	Since time.Time      `json:"since"`
	Items []record.Stats `json:"items" doc:"one for each chain, set of models or plan, the most frequent first"`
	Total record.Stats   `json:"total"`
}

// Complete is as Page.Complete.
func (s Stats) Complete() bool { return s.Items != nil }
