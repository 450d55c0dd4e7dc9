package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/knowledge/learning"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/trust/audit"
	"github.com/inquest-dev/inquest/internal/trust/evidence"
	"github.com/inquest-dev/inquest/internal/trust/mask"
)

// Rate stores a person's rating of an ended investigation. Invalid values are reported together, in one *system.InputError. Without
// claims, the person's earlier ratings of claims stay.
func (c *reader) Rate(ctx context.Context, in system.RateIn, by agent.Identity) (out system.Rated, err error) {
	st, o, err := c.ended(ctx, in.ID)
	if err != nil {
		return out, err
	}
	var claims []evidence.Claim
	if len(in.Body.Claims) > 0 {
		found, err := c.Evidence(ctx, system.Record{Investigation: *o.Record}) // no entries: only a checked report has claims
		if err != nil {
			return out, err
		}
		claims = found.Claims
	}
	if err := wrongRating(in.Body, claims); err != nil {
		return out, &system.InputError{Err: err}
	}
	r := record.Rating{
		Investigation: o.ID, By: by.Name, At: time.Now(), Rating: in.Body.Rating,
		Note: mask.Shown(ctx, in.Body.Note), ActionTaken: mask.Shown(ctx, in.Body.ActionTaken), Claims: ratedClaims(in.Body.Claims, claims),
	}
	var withdraw *learning.Withdrawn
	if in.Body.Withdraw {
		withdraw = &learning.Withdrawn{By: r.By, At: r.At, Why: r.Note}
	}
	if err := st.Rate(ctx, r, withdraw, reviewAct(ctx, o.ID, by)); err != nil {
		return out, err
	}
	if out.Taught, err = c.Taught(ctx, system.TaughtIn{ByID: system.ByID{ID: o.ID}}); err == nil {
		out.Ratings, err = st.Ratings(ctx, o.ID)
	}
	return out, err
}

// ended finds an investigation that has ended, by its ID or workflow ID.
func (c *reader) ended(ctx context.Context, id string) (*store.Store, Owned, error) {
	st, o, err := c.teacher(ctx, id)
	if err == nil && (o.Record == nil || o.Record.EndedAt == nil) {
		err = &system.InputError{Err: fmt.Errorf("investigation %s has not ended: only ended investigations can be rated or reviewed", o.ID)}
	}
	return st, o, err
}

// reviewAct is an act that is carried out once for the key of a request, if it has one.
func reviewAct(ctx context.Context, id string, by agent.Identity) audit.Act {
	act := actOf(id, by)
	if key := system.KeyOf(ctx); key != "" {
		act.Key = "review " + key
	}
	return act
}

// wrongRating returns everything that is wrong with a rating. claims are those of the report.
func wrongRating(b system.RateBody, claims []evidence.Claim) (wrong error) {
	add := func(is bool, format string, args ...any) {
		if is {
			wrong = errors.Join(wrong, fmt.Errorf(format, args...))
		}
	}
	unknown := func(v record.Verdict) bool { return !slices.Contains(record.Verdicts(), v) }
	add(unknown(b.Rating), "rating %q is not one of %v", b.Rating, record.Verdicts())
	add(b.Withdraw && b.Rating != record.Inaccurate, "withdraw requires the rating inaccurate")
	long := func(text string) bool { return utf8.RuneCountInString(text) > system.MaxNote }
	add(long(b.Note), "note has more than %d characters", system.MaxNote)
	add(long(b.ActionTaken), "action_taken has more than %d characters", system.MaxNote)
	known := map[int]bool{}
	for _, one := range b.Claims {
		add(unknown(one.Rating), "claim %d: rating %q is not one of %v", one.Claim, one.Rating, record.Verdicts())
		add(one.Claim < 1 || one.Claim > len(claims), "claim %d: the report has %d claims; its evidence lists them", one.Claim, len(claims))
		add(known[one.Claim], "claim %d is rated twice", one.Claim)
		known[one.Claim] = true
	}
	return wrong
}

// maxClaim limits the text of a rated claim, in bytes.
const maxClaim = 500

// ratedClaims adds the texts of the claims, and sorts by number. Nil stays nil.
func ratedClaims(rated []system.ClaimBody, claims []evidence.Claim) (out []record.ClaimRating) {
	if rated != nil {
		out = []record.ClaimRating{}
	}
	for _, one := range rated {
		text := clip.Bytes(claims[one.Claim-1].Text, maxClaim)
		out = append(out, record.ClaimRating{Claim: one.Claim, Text: text, Rating: one.Rating})
	}
	slices.SortFunc(out, func(a, b record.ClaimRating) int { return cmp.Compare(a.Claim, b.Claim) })
	return out
}

// Review carries out a person's action on the review of an ended investigation. It returns record.ErrReviewState if the action does not
// fit.
func (c *reader) Review(ctx context.Context, in system.ReviewIn, by agent.Identity) (out record.Review, err error) {
	action := in.Body.Action
	if !slices.Contains(record.ReviewActions(), action) {
		return out, &system.InputError{Err: fmt.Errorf("action %q is not one of %v", action, record.ReviewActions())}
	}
	st, o, err := c.ended(ctx, in.ID)
	if err != nil {
		return out, err
	}
	return st.ChangeReview(ctx, action, time.Now(), reviewAct(ctx, o.ID, by))
}

// statsPeriod is how far back statistics go unless the caller says so.
const statsPeriod = 30 * 24 * time.Hour

// Stats summarises the ended investigations that a filter selects, without trials. If Since is zero, those that started in the last 30 days
// count.
func (c *reader) Stats(ctx context.Context, by record.StatsKey, f record.Filter) (out system.Stats, err error) {
	if !slices.Contains(record.StatsKeys(), by) {
		return out, &system.InputError{Err: fmt.Errorf("by %q is not one of %v", by, record.StatsKeys())}
	}
	st, err := c.needStore(ctx)
	if err != nil {
		return out, err
	}
	if f.Since.IsZero() {
		f.Since = time.Now().Add(-statsPeriod).UTC().Truncate(time.Second)
	}
	f.NoTrials = true
	all, err := st.Outcomes(ctx, f)
	out.Since = f.Since
	out.Items, out.Total = record.StatsOf(all, by)
	return out, err
}
