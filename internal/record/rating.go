package record

import (
	"slices"
	"time"
)

// Verdict is a person's judgement of the result of an investigation.
type Verdict string

// The verdicts.
const (
	Accurate   Verdict = "accurate"
	Partly     Verdict = "partly"
	Inaccurate Verdict = "inaccurate"
)

// Verdicts returns all verdicts.
func Verdicts() []Verdict { return []Verdict{Accurate, Partly, Inaccurate} }

// Rating is a person's rating of an ended investigation. The last one of each person counts. Texts are masked.
type Rating struct {
	Investigation string        `json:"-"`
	By            string        `json:"by,omitempty" doc:"the person's name; absent means that the request had no authentication"`
	At            time.Time     `json:"at"`
	Rating        Verdict       `json:"rating" enum:"accurate,partly,inaccurate"`
	Note          string        `json:"note,omitempty"`
	ActionTaken   string        `json:"action_taken,omitempty" doc:"what people did about the incident"`
	Claims        []ClaimRating `json:"claims,omitempty" doc:"ratings of single claims of the report, by number"`
}

// ClaimRating is a person's rating of one claim of the report.
type ClaimRating struct {
	Claim  int     `json:"claim" doc:"number of the claim, from 1, in the evidence at the time of the rating"`
	Text   string  `json:"text" doc:"beginning of the claim"`
	Rating Verdict `json:"rating" enum:"accurate,partly,inaccurate"`
}

// AnyInaccurate reports whether any person rates an investigation inaccurate.
func AnyInaccurate(all []Rating) bool {
	return slices.ContainsFunc(all, func(r Rating) bool { return r.Rating == Inaccurate })
}
