package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/inquest-dev/inquest/internal/knowledge/learning"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/trust/audit"
	"github.com/inquest-dev/inquest/internal/trust/mask"
)

// ratingRow is a person's rating of an investigation or, with a claim, of one claim of its report.
type ratingRow struct {
	record.Rating
	claim  string
	number int
}

const ratingColumns = `investigation, author, claim, at, rating, note, action_taken, claim_number`

func ratingFields(r *ratingRow) []any {
	return []any{&r.Investigation, textColumn{&r.By}, textColumn{&r.claim}, timeColumn{&r.At}, &r.Rating.Rating, textColumn{&r.Note},
		textColumn{&r.ActionTaken}, &r.number}
}

// Ratings returns people's ratings of an investigation, oldest first.
func (s outcomes) Ratings(ctx context.Context, investigation string) ([]record.Rating, error) {
	all, err := ratingsOf(ctx, s.db.reader, investigation)
	return all, doing(s.db.explain(err), "read the ratings of %s", investigation)
}

func ratingsOf(ctx context.Context, q querier, investigation string) (all []record.Rating, err error) {
	const query = `SELECT ` + ratingColumns + ` FROM ratings WHERE investigation = $1 ORDER BY claim <> '', at, author, claim_number, claim`
	rows, err := selectAll(ctx, q, ratingFields, query, investigation)
	for _, row := range rows {
		if row.claim == "" {
			all = append(all, row.Rating)
			continue
		}
		n := slices.IndexFunc(all, func(r record.Rating) bool { return r.By == row.By })
		if n >= 0 {
			one := record.ClaimRating{Claim: row.number, Text: row.claim, Rating: row.Rating.Rating, Note: row.Note}
			all[n].Claims = append(all[n].Claims, one)
		}
	}
	return all, err
}

// Rate stores a person's rating of an investigation in place of that person's last one, which completes the review. While any person
// rates it inaccurate, its judgements of earlier learnings do not count. Unless withdraw is nil, everything that it taught is withdrawn
// in the same transaction.
func (s lessons) Rate(
	ctx context.Context, r record.Investigation, rating record.Rating, withdraw *learning.Withdrawn, who audit.Act,
) error {
	rating.Investigation, rating.At = r.ID, storedTime(rating.At)
	err := s.writeRecords(ctx, r.ID, func(q querier) error {
		l, err := s.changeLearnings(ctx, q, r.Project)
		if err != nil {
			return err
		}
		if err := replaceRating(ctx, q, r.ID, rating.By, &rating); err != nil {
			return err
		}
		if _, err := changeReview(ctx, q, r, record.ReviewRate, rating.By, rating.At); err != nil {
			return err
		}
		rated := who
		rated.What = audit.Rated
		rated.Detail = audit.Detail("rating", string(rating.Rating), "note", mask.Shown(ctx, rating.Note),
			"action_taken", mask.Shown(ctx, rating.ActionTaken), "claims", claimsDetail(rating.Claims))
		acts := []audit.Act{rated}
		if withdraw != nil {
			_, withdrawn, err := l.withdraw(ctx, r.ID, *withdraw, who)
			if err != nil {
				return err
			}
			acts = append(acts, withdrawn...)
		}
		settled, err := l.settle(ctx, r.ID, who)
		if err != nil {
			return err
		}
		return s.addActs(ctx, q, append(acts, settled...))
	})
	return doing(err, "rate %s", r.ID)
}

// claimsDetail lists the claims of a rating for the audit trail: "1 accurate, 3 inaccurate".
func claimsDetail(all []record.ClaimRating) (text string) {
	for n, c := range all {
		if n > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%d %s", c.Claim, c.Rating)
	}
	return text
}

// replaceRating replaces a person's rating of an investigation and of its claims. Nil deletes it.
func replaceRating(ctx context.Context, q querier, investigation, by string, rating *record.Rating) error {
	const remove = `DELETE FROM ratings WHERE investigation = $1 AND author = $2`
	if _, err := q.ExecContext(ctx, remove, investigation, textColumn{&by}); err != nil || rating == nil {
		return err
	}
	rows := []ratingRow{{Rating: *rating}}
	for _, c := range rating.Claims {
		one := record.Rating{Investigation: investigation, By: by, At: rating.At, Rating: c.Rating, Note: c.Note}
		rows = append(rows, ratingRow{one, c.Text, c.Claim})
	}
	query := insertInto("ratings", ratingColumns) + `ON CONFLICT (investigation, author, claim) ` + overwrite("rating, note, claim_number")
	for _, row := range rows {
		if _, err := q.ExecContext(ctx, query, ratingFields(&row)...); err != nil {
			return err
		}
	}
	return nil
}

// ChangeReview carries out a person's action on the review of an investigation and returns the review, or record.ErrReviewState. An
// acknowledgement deletes the person's own rating.
func (s lessons) ChangeReview(
	ctx context.Context, r record.Investigation, action record.ReviewAction, at time.Time, who audit.Act,
) (out record.Review, err error) {
	err = s.writeRecords(ctx, r.ID, func(q querier) error {
		l, err := s.changeLearnings(ctx, q, r.Project)
		if err != nil {
			return err
		}
		if out, err = changeReview(ctx, q, r, action, who.Who, storedTime(at)); err != nil {
			return err
		}
		act := who
		act.What, act.Detail = audit.ReviewChanged, audit.Detail("action", string(action), "state", string(out.State))
		acts := []audit.Act{act}
		if action == record.ReviewAcknowledge {
			if err := replaceRating(ctx, q, r.ID, who.Who, nil); err != nil {
				return err
			}
			settled, err := l.settle(ctx, r.ID, who)
			if err != nil {
				return err
			}
			acts = append(acts, settled...)
		}
		return s.addActs(ctx, q, acts)
	})
	return out, doing(err, "%s %s", action, r.ID)
}

const reviewColumns = `investigation, assignee, assigned_at, reviewer, reviewed_at`

func reviewFields(r *record.Review) []any {
	return []any{&r.Investigation, textColumn{&r.Assignee}, endColumn{&r.AssignedAt}, textColumn{&r.Reviewer}, endColumn{&r.ReviewedAt}}
}

// changeReview carries out an action. r is the record as the caller has read it, so it says whether the investigation has ended.
func changeReview(
	ctx context.Context, q querier, r record.Investigation, action record.ReviewAction, by string, at time.Time,
) (record.Review, error) {
	stored, err := reviewsOf(ctx, q, []any{r.ID})
	if err != nil {
		return record.Review{}, err
	}
	before := record.Review{Investigation: r.ID}
	if known := record.ReviewOf(r, first(stored)); known != nil {
		before = *known
	}
	after, err := before.After(action, by, at)
	if err != nil {
		return before, err
	}
	query := insertInto("reviews", reviewColumns) + `ON CONFLICT (investigation) ` +
		overwrite("assignee, assigned_at, reviewer, reviewed_at")
	_, err = q.ExecContext(ctx, query, reviewFields(&after)...)
	return after, err
}

// reviewAgain makes an investigation whose review is complete need a new one when another run takes it over, because its result may
// change.
func reviewAgain(ctx context.Context, q querier, investigation, run string) error {
	const query = `UPDATE reviews SET assignee = '', assigned_at = NULL, reviewer = '', reviewed_at = NULL WHERE investigation = $1
		AND reviewed_at IS NOT NULL AND EXISTS (SELECT 1 FROM investigations WHERE id = $1 AND writer <> $2)`
	_, err := q.ExecContext(ctx, query, investigation, run)
	return err
}

// first returns a pointer to the first one, or nil.
func first[T any](all []T) *T {
	if len(all) == 0 {
		return nil
	}
	return &all[0]
}

func reviewsOf(ctx context.Context, q querier, ids []any) ([]record.Review, error) {
	query := `SELECT ` + reviewColumns + ` FROM reviews WHERE investigation IN (` + places(len(ids)) + `)`
	return selectAll(ctx, q, reviewFields, query, ids...)
}

// Reviews returns the reviews of the given investigations, by ID. Those without a review are missing.
func (s outcomes) Reviews(ctx context.Context, all []record.Investigation) (map[string]record.Review, error) {
	ids := make([]string, len(all))
	for n, r := range all {
		ids[n] = r.ID
	}
	stored := map[string]*record.Review{}
	err := inChunks(ids, func(args []any) error {
		found, err := reviewsOf(ctx, s.db.reader, args)
		for _, one := range found {
			stored[one.Investigation] = &one
		}
		return err
	})
	out := map[string]record.Review{}
	for _, r := range all {
		if review := record.ReviewOf(r, stored[r.ID]); review != nil {
			out[r.ID] = *review
		}
	}
	return out, doing(s.db.explain(err), "read the reviews of investigations")
}

// reviewState is the state of an investigation's review, by the rules of record.ReviewOf.
const reviewState = `COALESCE(
	(SELECT CASE WHEN reviewed_at IS NOT NULL THEN 'reviewed' WHEN assigned_at IS NOT NULL THEN 'in_progress'
		WHEN investigations.ended_at IS NULL THEN '' ELSE 'needs_review' END FROM reviews WHERE investigation = investigations.id),
	CASE WHEN status IN ('cancelled', 'terminated') THEN 'reviewed' WHEN ended_at IS NULL THEN '' ELSE 'needs_review' END)`

// Outcomes returns how the ended investigations that a filter selects ended, and what people think of them, in no particular order.
func (s outcomes) Outcomes(ctx context.Context, f Filter) (all []record.Outcome, err error) {
	where, args := conditionsOf(f, s.db, searched{})
	ended := ` FROM investigations WHERE ended_at IS NOT NULL AND ` + where
	among := `WHERE investigation IN (SELECT id` + ended + `)`
	err = s.read(ctx, func(q querier) error {
		fields := func(o *record.Outcome) []any {
			return []any{
				&o.ID, &o.Chain, &o.PlanHash, &o.Status, &o.EndReason, asJSON(&o.Usage), asJSON(&o.Envelope), timeColumn{&o.StartedAt},
				endColumn{&o.EndedAt}, &o.Review,
			}
		}
		query := `SELECT id, chain, plan_hash, status, end_reason, usage, envelope, started_at, ended_at, ` + reviewState + ended
		if all, err = selectAll(ctx, q, fields, query, args...); err != nil {
			return err
		}
		byID := map[string]*record.Outcome{}
		for n := range all {
			byID[all[n].ID] = &all[n]
		}
		type fact struct {
			id, text string
			score    int
		}
		add := func(query string, fields func(*fact) []any, to func(*record.Outcome, fact)) error {
			facts, err := selectAll(ctx, q, fields, query, args...)
			for _, one := range facts {
				if o := byID[one.id]; o != nil {
					to(o, one)
				}
			}
			return err
		}
		text := func(f *fact) []any { return []any{&f.id, &f.text} }
		score := func(f *fact) []any { return []any{&f.id, &f.score} }
		return errors.Join(
			add(`SELECT investigation, rating FROM ratings `+among+` AND claim = '' ORDER BY at, author`, text,
				func(o *record.Outcome, f fact) { o.Rating = record.Verdict(f.text) }),
			add(`SELECT DISTINCT investigation, model FROM executions `+among+` AND model <> '' ORDER BY model`, text,
				func(o *record.Outcome, f fact) { o.Models = append(o.Models, f.text) }),
			add(`SELECT investigation, score FROM scores `+among+` AND score IS NOT NULL ORDER BY n`, score,
				func(o *record.Outcome, f fact) { o.Score = &f.score }),
		)
	})
	return all, doing(s.db.explain(err), "read the outcomes of investigations")
}
