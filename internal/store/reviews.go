package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/knowledge/learning"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/trust/audit"
	"github.com/inquest-dev/inquest/internal/trust/mask"
)

// ratingRow is a person's rating of the result of a run or, with a claim, of one claim of its report. A claim is its number and its text.
type ratingRow struct {
	record.Rating
	claim, run string
}

const ratingColumns = `investigation, author, claim, at, rating, note, action_taken, run`

func ratingFields(r *ratingRow) []any {
	return []any{&r.Investigation, textColumn{&r.By}, textColumn{&r.claim}, timeColumn{&r.At}, &r.Rating.Rating, textColumn{&r.Note},
		textColumn{&r.ActionTaken}, &r.run}
}

// Ratings returns people's ratings of an investigation, oldest first.
func (s outcomes) Ratings(ctx context.Context, investigation string) ([]record.Rating, error) {
	all, err := ratingsOf(ctx, s.db.reader, investigation)
	return all, doing(s.db.explain(err), "read the ratings of %s", investigation)
}

func ratingsOf(ctx context.Context, q querier, investigation string) (all []record.Rating, err error) {
	const query = `SELECT ` + ratingColumns + ` FROM ratings WHERE investigation = $1 ORDER BY claim <> '', at, author`
	rows, err := selectAll(ctx, q, ratingFields, query, investigation)
	for _, row := range rows {
		if row.claim == "" {
			all = append(all, row.Rating)
			continue
		}
		n := slices.IndexFunc(all, func(r record.Rating) bool { return r.By == row.By })
		if n < 0 {
			continue
		}
		number, text, _ := strings.Cut(row.claim, " ")
		claim := record.ClaimRating{Text: text, Rating: row.Rating.Rating}
		claim.Claim, _ = strconv.Atoi(number)
		all[n].Claims = append(all[n].Claims, claim)
	}
	for _, r := range all {
		slices.SortFunc(r.Claims, func(a, b record.ClaimRating) int { return cmp.Compare(a.Claim, b.Claim) })
	}
	return all, err
}

// Rate stores a person's rating of an ended investigation in place of that person's last one, and completes the review. Without claims,
// the person's earlier ratings of claims stay. While anyone rates the investigation inaccurate, its judgements of earlier learnings do
// not count. If withdraw is set, the same transaction withdraws all of its learnings. A rating with the key of an earlier one changes
// nothing.
func (s lessons) Rate(ctx context.Context, rating record.Rating, withdraw *learning.Withdrawn, who audit.Act) error {
	rating.At = storedTime(rating.At)
	err := s.review(ctx, who, func(q querier, r record.Investigation) error {
		l, err := s.changeLearnings(ctx, q, r.Project)
		if err != nil {
			return err
		}
		if err := saveRating(ctx, q, rating, r.Writer); err != nil {
			return err
		}
		if _, _, err := changeReview(ctx, q, r, record.ReviewRate, rating.By, rating.At); err != nil {
			return err
		}
		rated := who
		rated.What = audit.Rated
		rated.Detail = audit.Detail("rating", string(rating.Rating), "note", mask.Shown(ctx, rating.Note),
			"action_taken", mask.Shown(ctx, rating.ActionTaken), "claims", claimsDetail(rating.Claims))
		acts := []audit.Act{rated}
		who.Key = "" // it is that of the rating
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
	return doing(err, "rate %s", rating.Investigation)
}

// review runs fn on the record of an ended investigation, unless an act with the same key is recorded.
func (s lessons) review(ctx context.Context, who audit.Act, fn func(querier, record.Investigation) error) error {
	return s.writeRecords(ctx, who.Investigation, func(q querier) error {
		if recorded, err := isRecorded(ctx, q, who); err != nil || recorded {
			return err
		}
		r, err := investigationOf(ctx, q, who.Investigation)
		switch {
		case err != nil:
			return err
		case r.EndedAt == nil:
			return fmt.Errorf("%w: the investigation has not ended", record.ErrReviewState)
		}
		return fn(q, r)
	})
}

// claimsDetail lists the claims of a rating for the audit trail: "1 accurate, 3 inaccurate".
func claimsDetail(all []record.ClaimRating) string {
	var words []string
	for _, c := range all {
		words = append(words, fmt.Sprintf("%d %s", c.Claim, c.Rating))
	}
	return strings.Join(words, ", ")
}

// saveRating replaces a person's rating of an investigation and, unless the claims are nil, of its claims.
func saveRating(ctx context.Context, q querier, rating record.Rating, run string) error {
	const remove = `DELETE FROM ratings WHERE investigation = $1 AND author = $2 AND (claim = '' OR $3 = 1)`
	if _, err := q.ExecContext(ctx, remove, rating.Investigation, textColumn{&rating.By}, flagColumn{new(rating.Claims != nil)}); err != nil {
		return err
	}
	rows := []ratingRow{{Rating: rating, run: run}}
	for _, c := range rating.Claims {
		one := record.Rating{Investigation: rating.Investigation, By: rating.By, At: rating.At, Rating: c.Rating}
		rows = append(rows, ratingRow{one, fmt.Sprintf("%d %s", c.Claim, c.Text), run})
	}
	for _, row := range rows {
		if _, err := q.ExecContext(ctx, insertInto("ratings", ratingColumns), ratingFields(&row)...); err != nil {
			return err
		}
	}
	return nil
}

// ChangeReview carries out a person's action on the review of an ended investigation, and returns the review, or record.ErrReviewState.
// An action with the key of an earlier one changes nothing.
func (s lessons) ChangeReview(ctx context.Context, action record.ReviewAction, at time.Time, who audit.Act) (out record.Review, err error) {
	err = s.review(ctx, who, func(q querier, r record.Investigation) error {
		var before record.Review
		if before, out, err = changeReview(ctx, q, r, action, who.Who, storedTime(at)); err != nil {
			return err
		}
		who.What = audit.ReviewChanged
		who.Detail = audit.Detail("action", string(action), "state", string(out.State), "before", string(before.State),
			"assignee_before", before.Assignee)
		return s.addActs(ctx, q, []audit.Act{who})
	})
	if err == nil && out.State == "" { // it was recorded before
		var r record.Investigation
		if r, err = investigationOf(ctx, s.db.reader, who.Investigation); err == nil {
			out, err = reviewOf(ctx, s.db.reader, r)
		}
	}
	return out, doing(err, "%s %s", action, who.Investigation)
}

const reviewColumns = `investigation, run, assignee, assigned_at, reviewer, reviewed_at`

func reviewFields(r *record.Review) []any {
	return []any{
		&r.Investigation, &r.Run, textColumn{&r.Assignee}, endColumn{&r.AssignedAt}, textColumn{&r.Reviewer}, endColumn{&r.ReviewedAt},
	}
}

func changeReview(
	ctx context.Context, q querier, r record.Investigation, action record.ReviewAction, by string, at time.Time,
) (before, after record.Review, err error) {
	if before, err = reviewOf(ctx, q, r); err != nil {
		return before, after, err
	}
	if after, err = before.Apply(action, by, at); err != nil {
		return before, after, err
	}
	query := insertInto("reviews", reviewColumns) + `ON CONFLICT (investigation) ` +
		overwrite("run, assignee, assigned_at, reviewer, reviewed_at")
	_, err = q.ExecContext(ctx, query, reviewFields(&after)...)
	return before, after, err
}

// reviewOf returns the review of an ended investigation.
func reviewOf(ctx context.Context, q querier, r record.Investigation) (record.Review, error) {
	all, err := reviewsOf(ctx, q, []any{r.ID})
	if err != nil {
		return record.Review{}, err
	}
	return *cmp.Or(record.ReviewOf(r, all[r.ID]), &record.Review{}), nil
}

// reviewsOf returns the rows of some investigations, by ID.
func reviewsOf(ctx context.Context, q querier, ids []any) (map[string]*record.Review, error) {
	query := `SELECT ` + reviewColumns + ` FROM reviews WHERE investigation IN (` + places(len(ids)) + `)`
	all, err := selectAll(ctx, q, reviewFields, query, ids...)
	byID := map[string]*record.Review{}
	for _, one := range all {
		byID[one.Investigation] = &one
	}
	return byID, err
}

// Reviews returns the reviews of those of the given investigations that have ended, by ID.
func (s outcomes) Reviews(ctx context.Context, all []record.Investigation) (map[string]*record.Review, error) {
	ids := make([]string, len(all))
	for n, r := range all {
		ids[n] = r.ID
	}
	stored := map[string]*record.Review{}
	err := inChunks(ids, func(args []any) error {
		found, err := reviewsOf(ctx, s.db.reader, args)
		maps.Copy(stored, found)
		return err
	})
	out := map[string]*record.Review{}
	for _, r := range all {
		if review := record.ReviewOf(r, stored[r.ID]); review != nil {
			out[r.ID] = review
		}
	}
	return out, doing(s.db.explain(err), "read the reviews of investigations")
}

// reviewState is the state of an investigation's review, by the rules of record.ReviewOf. It is empty if that has not ended.
const reviewState = `CASE WHEN ended_at IS NULL THEN '' ELSE COALESCE(
	(SELECT CASE WHEN reviewed_at IS NOT NULL THEN 'reviewed' WHEN assigned_at IS NOT NULL THEN 'in_progress' ELSE 'needs_review' END
		FROM reviews WHERE investigation = investigations.id AND run = investigations.writer),
	CASE WHEN status IN ('cancelled', 'terminated') OR session <> '' AND envelope LIKE '%"check":{"changed":false%' OR ` + isTrial + `
		THEN 'reviewed' ELSE 'needs_review' END) END`

// isTrial selects the investigations of record.Envelope.Trial: quotes in texts are escaped.
const isTrial = `envelope LIKE '%"trial":true%'`

// Outcomes returns how the ended investigations that a filter selects ended, and what people think of them, in no particular order.
func (s outcomes) Outcomes(ctx context.Context, f Filter) (all []record.Outcome, err error) {
	where, args := conditionsOf(f, s.db, searched{})
	ended := ` FROM investigations WHERE ended_at IS NOT NULL AND ` + where
	err = s.read(ctx, func(q querier) error {
		fields := func(o *record.Outcome) []any {
			return []any{
				&o.ID, &o.Chain, &o.PlanHash, &o.Status, &o.EndReason, asJSON(&o.Usage), timeColumn{&o.StartedAt}, endColumn{&o.EndedAt},
				&o.Review, flagColumn{&o.NoToolResult},
			}
		}
		const noToolResult = `CASE WHEN envelope LIKE '%"no_tool_result":true%' THEN 1 ELSE 0 END` // quotes in texts are escaped
		query := `SELECT id, chain, plan_hash, status, end_reason, usage, started_at, ended_at, ` + reviewState + `, ` + noToolResult + ended
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
		among := `WHERE investigation IN (SELECT id` + ended + `)`
		const (
			current = ` AND claim = '' AND (run = '' OR (investigation, run) IN (SELECT id, writer FROM investigations))`
			worked  = ` AND model <> '' AND type NOT IN ('scoring', 'reflector') AND stage <> '` + plan.SummaryName + `'`
		)
		return errors.Join(
			add(`SELECT investigation, rating FROM ratings `+among+current+` ORDER BY at, author`, text,
				func(o *record.Outcome, f fact) { o.Rating = record.Verdict(f.text) }),
			add(`SELECT DISTINCT investigation, model FROM executions `+among+worked+` ORDER BY model`, text,
				func(o *record.Outcome, f fact) { o.Models = append(o.Models, f.text) }),
			add(`SELECT investigation, score FROM scores `+among+` AND score IS NOT NULL ORDER BY n`, score,
				func(o *record.Outcome, f fact) { o.Score = &f.score }),
		)
	})
	return all, doing(s.db.explain(err), "read the outcomes of investigations")
}

// ScheduleRuns returns the investigations of a schedule, except for one. Those that were terminated have no verdict: an earlier run, before
// a reset, may have left one.
func (s outcomes) ScheduleRuns(
	ctx context.Context, project string, of agent.Schedule, except string, since time.Time,
) (out record.ScheduleRuns, err error) {
	where, args := conditionsOf(Filter{Projects: []string{project}, Session: of.Session()}, s.db, searched{})
	args = append(args, except)
	where = fmt.Sprintf(` FROM investigations WHERE %s AND id <> $%d AND `, where, len(args))
	next := fmt.Sprintf(`$%d`, len(args)+1)
	with := func(arg any) []any { return append(slices.Clone(args), arg) }
	err = s.read(ctx, func(q querier) error {
		cost := func(c *float64) []any { return []any{costColumn{c}} }
		costs, err := selectAll(ctx, q, cost, `SELECT cost FROM execution_sums WHERE investigation IN (SELECT id`+where+`started_at >= `+next+`)`,
			with(timeColumn{&since})...)
		for _, c := range costs {
			out.CostUSD += c
		}
		if err == nil {
			out.Last, err = newestRun(ctx, q, where+`id <> `+next, with("")...)
		}
		if err == nil {
			const checked = ` AND ended_at IS NOT NULL AND status <> 'terminated' AND envelope LIKE '%"check":{"changed":%'`
			out.Check, err = newestRun(ctx, q, where+s.db.has(`envelope`, next)+checked, with(of.Mark())...)
		}
		return err
	})
	return out, doing(s.db.explain(err), "read the investigations of the schedule %s", of.Name)
}

func newestRun(ctx context.Context, q querier, from string, args ...any) (*record.ScheduleRun, error) {
	var e record.Envelope
	fields := func(r *record.ScheduleRun) []any {
		return []any{&r.ID, &r.Status, timeColumn{&r.StartedAt}, endColumn{&r.EndedAt}, asJSON(&e)}
	}
	const order = ` ORDER BY started_at DESC, id DESC LIMIT 1`
	found, err := selectAll(ctx, q, fields, `SELECT id, status, started_at, ended_at, envelope`+from+order, args...)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	found[0].Check = e.Check
	return &found[0], nil
}
