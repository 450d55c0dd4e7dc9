package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/knowledge/learning"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/trust/mask"
)

// Rate stores a person's rating of an ended investigation. It returns a *system.InputError with everything that is wrong with it.
func (c *reader) Rate(ctx context.Context, in system.RateIn, by agent.Identity) (out system.Rated, err error) {
	st, o, err := c.teacher(ctx, in.ID)
	if err == nil && (o.Record == nil || o.Record.EndedAt == nil) {
		err = notEnded(o.ID)
	}
	if err != nil {
		return out, err
	}
	r := record.Rating{
		Investigation: o.ID, By: by.Name, At: time.Now(), Rating: in.Body.Rating,
		Note: mask.Shown(ctx, in.Body.Note), ActionTaken: mask.Shown(ctx, in.Body.ActionTaken),
	}
	wrong := wrongVerdicts(in.Body)
	if len(in.Body.Claims) > 0 {
		claims, err := c.claims(ctx, *o.Record, in.Body.Claims)
		if errors.As(err, new(*system.InputError)) {
			wrong = errors.Join(wrong, err)
		} else if err != nil {
			return out, err
		}
		r.Claims = claims
	}
	if wrong != nil {
		return out, &system.InputError{Err: wrong}
	}
	var withdraw *learning.Withdrawn
	if in.Body.Withdraw {
		withdraw = &learning.Withdrawn{By: r.By, At: r.At, Why: r.Note}
	}
	if err := st.Rate(ctx, *o.Record, r, withdraw, actOf(o.ID, by)); err != nil {
		return out, err
	}
	if out.Taught, err = c.Taught(ctx, system.TaughtIn{ByID: system.ByID{ID: o.ID}}); err == nil {
		out.Ratings, err = st.Ratings(ctx, o.ID)
	}
	return out, err
}

func notEnded(id string) error {
	return &system.InputError{Err: fmt.Errorf("investigation %s has not ended: only ended investigations can be rated", id)}
}

func wrongVerdicts(b system.RateBody) (wrong error) {
	check := func(what string, v record.Verdict) {
		if !slices.Contains(record.Verdicts(), v) {
			wrong = errors.Join(wrong, fmt.Errorf("%s %q is not one of %v", what, v, record.Verdicts()))
		}
	}
	check("rating", b.Rating)
	for _, claim := range b.Claims {
		check(fmt.Sprintf("rating of claim %d:", claim.Claim), claim.Rating)
	}
	if b.Withdraw && b.Rating != record.Inaccurate {
		wrong = errors.Join(wrong, errors.New("withdraw requires the rating inaccurate"))
	}
	return wrong
}

// maxClaim limits the text of a rated claim, in bytes.
const maxClaim = 500

// claims finds the claims that a person rates in the evidence of an investigation. The result is sorted by claim.
func (c *reader) claims(ctx context.Context, r record.Investigation, rated []system.ClaimBody) (out []record.ClaimRating, err error) {
	found, err := c.Evidence(ctx, system.Record{Investigation: r}) // without a report that was checked, there are no claims
	if err != nil {
		return nil, err
	}
	var wrong error
	known := map[int]bool{}
	for _, one := range rated {
		switch {
		case one.Claim < 1 || one.Claim > len(found.Claims):
			wrong = errors.Join(wrong, fmt.Errorf("claim %d: the report has %d claims, see its evidence", one.Claim, len(found.Claims)))
			continue
		case known[one.Claim]:
			wrong = errors.Join(wrong, fmt.Errorf("claim %d is rated twice", one.Claim))
			continue
		}
		known[one.Claim] = true
		out = append(out, record.ClaimRating{
			Claim: one.Claim, Text: clip.Bytes(found.Claims[one.Claim-1].Text, maxClaim), Rating: one.Rating, Note: mask.Shown(ctx, one.Note),
		})
	}
	if wrong != nil {
		return nil, &system.InputError{Err: wrong}
	}
	slices.SortFunc(out, func(a, b record.ClaimRating) int { return cmp.Compare(a.Claim, b.Claim) })
	return out, nil
}

// Review carries out a person's action on the review of an investigation. It returns record.ErrReviewState if the action does not fit.
func (c *reader) Review(ctx context.Context, in system.ReviewIn, by agent.Identity) (out record.Review, err error) {
	action := in.Body.Action
	if !slices.Contains(record.ReviewActions(), action) {
		return out, &system.InputError{Err: fmt.Errorf("action %q is not one of %v", action, record.ReviewActions())}
	}
	st, o, err := c.teacher(ctx, in.ID)
	switch {
	case err != nil:
		return out, err
	case o.Record == nil:
		return out, &system.InputError{Err: fmt.Errorf("investigation %s is not in the store yet", o.ID)}
	case action == record.ReviewAcknowledge && o.Record.EndedAt == nil:
		return out, notEnded(o.ID)
	}
	return st.ChangeReview(ctx, *o.Record, action, time.Now(), actOf(o.ID, by))
}

// statsTime is the time that statistics cover by default.
const statsTime = 30 * 24 * time.Hour

// Stats summarises the ended investigations that a filter selects; without Since, those of the last 30 days.
func (c *reader) Stats(ctx context.Context, by record.StatsKey, f record.Filter) (out system.Stats, err error) {
	if !slices.Contains(record.StatsKeys(), by) {
		return out, &system.InputError{Err: fmt.Errorf("by %q is not one of %v", by, record.StatsKeys())}
	}
	st, err := c.needStore(ctx)
	if err != nil {
		return out, err
	}
	if f.Since.IsZero() {
		f.Since = time.Now().Add(-statsTime).UTC().Truncate(time.Second)
	}
	all, err := st.Outcomes(ctx, f)
	out.Since = f.Since
	out.Items, out.Total = record.StatsOf(all, by)
	return out, err
}
