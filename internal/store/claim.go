package store

import (
	"context"
	"database/sql"

	"github.com/inquest-dev/inquest/internal/transcript"
)

// claim is the right of a run to read or write a step. The run must be the newest one of the execution, and no row of another run
// may be at the step or depend on it.
type claim struct {
	transcript.Scope
	transcript.Key
	run string
}

// Conditions on a claim's args.
const (
	isNewest     = `COALESCE((SELECT run_id FROM runs WHERE investigation = $1 AND execution = $2 ORDER BY ordinal DESC LIMIT 1), '') = $3`
	isDisplacing = `EXISTS (SELECT 1 FROM entries WHERE ` + inTheWay + `)`
	// inTheWay matches an entry of another run that is at the step or depends on it. The log may be long, so the index is read from
	// the iteration on.
	inTheWay = `investigation = $1 AND execution = $2 AND superseded = 0 AND run_id <> $3
		AND iteration >= $4 AND (iteration > $4 OR position >= $5 AND position < $6)`
)

// args returns $1 to $6 of the conditions.
func (c claim) args() []any {
	return []any{c.Investigation, c.Execution, c.run, c.Iteration, c.Position, c.Until()}
}

// standing is the state of a claim before it is enforced.
type standing struct {
	known    bool // the run has been registered
	newest   bool // no later run is registered
	displace bool // rows of other runs conflict with it
	stored   bool // the run has already written the step
	live     bool // the execution has a live tail
	unread   int  // unread letters for the execution
}

func (st standing) stale() bool   { return st.known && !st.newest }
func (st standing) settled() bool { return st.newest && !st.displace }

func (st *standing) fields() []any {
	return []any{&st.known, &st.newest, &st.displace, &st.stored, &st.live, &st.unread}
}

func (c claim) standing(ctx context.Context, q querier) (st standing, err error) {
	err = c.ask(ctx, q).Scan(st.fields()...)
	return st, err
}

// ask is standing for a caller that adds queries before it scans the fields.
func (c claim) ask(ctx context.Context, q querier) *sql.Row {
	query := `SELECT
		EXISTS (SELECT 1 FROM runs WHERE investigation = $1 AND execution = $2 AND run_id = $3),
		` + isNewest + `,
		` + isDisplacing + `,
		EXISTS (SELECT 1 FROM entries WHERE investigation = $1 AND execution = $2 AND superseded = 0
			AND iteration = $4 AND position = $5 AND run_id = $3 AND step = seq),
		EXISTS (SELECT 1 FROM live WHERE investigation = $1 AND execution = $2),
		` + countUnread(7)
	return q.QueryRowContext(ctx, query, append(c.args(), reader(c.Execution)...)...)
}

// untouched reports whether the claim holds for the step and all later steps, and nothing is stored there.
func (c claim) untouched(ctx context.Context, q querier) (untouched bool, err error) {
	const query = `SELECT ` + isNewest + ` AND NOT EXISTS (SELECT 1 FROM entries WHERE investigation = $1 AND execution = $2
		AND superseded = 0 AND iteration >= $4 AND (iteration > $4 OR position >= $5))`
	if err := c.check(); err != nil {
		return false, err
	}
	err = q.QueryRowContext(ctx, query, c.Investigation, c.Execution, c.run, c.Iteration, c.Position).Scan(&untouched)
	return untouched, err
}

// enforce makes the claim hold, or returns ErrStaleRun. It needs the write lock and leaves the run's own rows unchanged.
func (c claim) enforce(ctx context.Context, q querier) (standing, error) {
	st, err := c.present(ctx, q)
	if err == nil && st.displace {
		err = c.supersede(ctx, q)
	}
	return st, err
}

// present is enforce for writes that are not steps: it supersedes no rows.
func (c claim) present(ctx context.Context, q querier) (standing, error) {
	st, err := c.standing(ctx, q)
	switch {
	case err != nil:
		return st, err
	case st.stale():
		return st, ErrStaleRun
	case st.known:
		return st, nil
	}
	return st, c.register(ctx, q)
}

// register makes the run the newest one and drops the live tail of an older run.
func (c claim) register(ctx context.Context, q querier) error {
	const query = `INSERT INTO runs (investigation, execution, ordinal, run_id)
		SELECT $1, $2, COALESCE(MAX(ordinal), 0) + 1, $3 FROM runs WHERE investigation = $1 AND execution = $2`
	if _, err := q.ExecContext(ctx, query, c.Investigation, c.Execution, c.run); err != nil {
		return err
	}
	return dropLive(ctx, q, c.Scope)
}

// supersede marks the rows of other runs at the step and the rows that depend on it, because Temporal was reset to a point before
// the step. Calls of one reply do not depend on each other: a call stays if its result is in the history that was kept.
func (c claim) supersede(ctx context.Context, q querier) error {
	now, err := advance(ctx, q, c.Investigation, cursor{struck: 1})
	if err != nil {
		return err
	}
	const query = `UPDATE entries SET superseded = $7 WHERE ` + inTheWay
	if _, err = q.ExecContext(ctx, query, append(c.args(), now.struck)...); err != nil {
		return err
	}
	return c.unsay(ctx, q, now.struck)
}
