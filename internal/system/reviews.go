package system

import (
	"context"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
)

// Reviewer stores what people think of results.
type Reviewer interface {
	// Rate stores a person's rating of an ended investigation, which completes its review.
	Rate(ctx context.Context, in RateIn, by agent.Identity) (Rated, error)
	// Review carries out a person's action on the review of an investigation.
	Review(ctx context.Context, in ReviewIn, by agent.Identity) (record.Review, error)
}

// RateIn rates an investigation.
type RateIn struct {
	ByID
	Body RateBody
}

// RateBody is a person's rating.
type RateBody struct {
	Rating      record.Verdict `json:"rating" enum:"accurate,partly,inaccurate" doc:"your rating; replaces your earlier one"`
	Note        string         `json:"note,omitempty" maxLength:"2000" doc:"what was right or wrong, such as the actual cause"`
	ActionTaken string         `json:"action_taken,omitempty" maxLength:"2000" doc:"what was done about the incident"`
	Claims      []ClaimBody    `json:"claims,omitempty" maxItems:"100" doc:"ratings of single claims of the report"`
	Withdraw    bool           `json:"withdraw,omitempty" doc:"also withdraw this investigation's learnings; only with the rating inaccurate"`
}

// ClaimBody is a person's rating of a claim.
type ClaimBody struct {
	Claim  int            `json:"claim" minimum:"1" doc:"number of the claim, from 1, in the investigation's evidence"`
	Rating record.Verdict `json:"rating" enum:"accurate,partly,inaccurate"`
	Note   string         `json:"note,omitempty" maxLength:"2000"`
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
