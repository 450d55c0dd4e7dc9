package store

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"

	"github.com/inquest-dev/inquest/internal/transcript"
)

// Lookup returns the rows of the step whose first key is key, in key order, or nil if the same run has not appended it. A run that
// is new to the execution becomes its newest one, and the rows of other runs at the key or after it are superseded. Entries then
// returns the log as this run left it. A run that was replaced gets ErrStaleRun.
func (s journal) Lookup(ctx context.Context, scope transcript.Scope, key transcript.Key, w transcript.Writer) ([]transcript.Entry, error) {
	c := claim{scope, key, w.RunID}
	stored, err := s.lookup(ctx, c)
	return stored, doing(err, "look up %s", c)
}

// lookup takes the write lock only if there is something to change or to refuse.
func (s journal) lookup(ctx context.Context, c claim) (stored []transcript.Entry, err error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	st, err := c.standing(ctx, s.db.reader)
	if err != nil {
		return nil, s.db.explain(err)
	}
	if st.owned() {
		stored, err = c.stored(ctx, s.db.reader, st)
		return stored, s.db.explain(err)
	}
	err = s.write(ctx, c.Investigation, func(q querier) error {
		st, err := c.enforce(ctx, q)
		if err != nil {
			return err
		}
		stored, err = c.stored(ctx, q, st)
		return err
	})
	return stored, err
}

// Append writes all rows of a step in one transaction and returns them as entries. If the same run has appended the step before, it
// writes nothing and returns the stored rows: the first writer wins. It treats other runs as Lookup does.
func (s journal) Append(ctx context.Context, step transcript.Step) ([]transcript.Entry, error) {
	stored, _, err := s.AppendReply(ctx, step)
	return stored, err
}

// AppendReply is Append, and also returns how many letters for the execution are then unread.
func (s journal) AppendReply(ctx context.Context, step transcript.Step) (stored []transcript.Entry, unread int, err error) {
	if len(step.Rows) == 0 {
		return nil, 0, errors.New("append step: it has no rows")
	}
	stored, unread, err = s.append(ctx, step)
	return stored, unread, doing(err, "append %s", claimOf(step))
}

func (s journal) append(ctx context.Context, step transcript.Step) (stored []transcript.Entry, unread int, err error) {
	c := claimOf(step)
	if err := errors.Join(c.check(), checkOrder(step.Rows)); err != nil {
		return nil, 0, err
	}
	step.Rows, step.Intent = s.stamped(ctx, step)
	if step.Intent != nil {
		intent := transcript.Step{Scope: step.Scope, Writer: step.Writer, Requires: step.Requires, Rows: []transcript.Row{*step.Intent}}
		stored, unread, err = s.appendNext(ctx, intent, step)
		if !errors.Is(err, errNotNext) && !errors.Is(err, errDuplicate) {
			return stored, unread, err
		}
		if _, _, err := s.append(ctx, intent); err != nil {
			return nil, 0, err
		}
	}
	stored, unread, err = s.appendNext(ctx, step)
	if errors.Is(err, errNotNext) {
		stored, unread, err = s.appendClaimed(ctx, c, step)
	}
	if errors.Is(err, errDuplicate) {
		return nil, 0, fmt.Errorf("%w: %w", ErrConflict, err)
	}
	return stored, unread, err
}

// stamped returns the rows of a step and its intent. Rows without a time get the store's time.
func (s journal) stamped(ctx context.Context, step transcript.Step) (rows []transcript.Row, intent *transcript.Row) {
	now := s.Now(ctx)
	rows = slices.Clone(step.Rows)
	for i := range rows {
		rows[i].At = cmp.Or(rows[i].At, now)
	}
	if step.Intent != nil {
		row := *step.Intent
		row.At = cmp.Or(row.At, now)
		intent = &row
	}
	return rows, intent
}

// errNotNext means that the step exists already, or that its run must first prove its right to write it.
var errNotNext = errors.New("the step is not the run's next one")

// appendNext writes steps in one transaction and returns the rows of the last one. It handles only the usual case, in which the
// first step is the run's next one; for all others it returns errNotNext. So nearly every step queries the database once and then
// only writes. The claim of the first step covers the others.
func (s journal) appendNext(ctx context.Context, steps ...transcript.Step) (stored []transcript.Entry, unread int, err error) {
	rows := 0
	for _, step := range steps {
		rows += len(step.Rows)
	}
	c := claimOf(steps[0])
	err = s.change(ctx, c.Investigation, func(q querier) error {
		// Taking the numbers locks the investigation, so the claim's standing is valid until the commit.
		last, st, err := c.next(ctx, q, rows, steps[0].Requires)
		if err != nil {
			return err
		}
		if st.stored || !st.owned() {
			return errNotNext
		}
		// The following statements need no results, except in recall: on PostgreSQL they are sent with the COMMIT.
		last -= int64(rows)
		unread = st.unread
		for _, step := range steps {
			last += int64(len(step.Rows))
			unread -= quotes(step)
			if stored, err = s.insertRows(ctx, q, step, last, st.live); err != nil {
				return err
			}
			if err := s.recall(ctx, q, step.Recall, stored); err != nil {
				return err
			}
		}
		return nil
	})
	return stored, unread, err
}

// quotes counts the letters that a step quotes.
func quotes(step transcript.Step) (n int) {
	for _, row := range step.Rows {
		if row.Mail > 0 {
			n++
		}
	}
	return n
}

func claimOf(step transcript.Step) claim {
	return claim{step.Scope, step.Rows[0].Key, step.RunID}
}

// next allocates numbers for the rows, and returns the last one and the claim's standing. If the step is not stored, the entries
// that it requires must be. All queries are sent together in one round trip.
func (c claim) next(ctx context.Context, q querier, rows int, requires []transcript.Mark) (last int64, st standing, err error) {
	var now cursor
	numbers, stands := advancing(ctx, q, c.Investigation, cursor{seq: int64(rows)}), c.ask(ctx, q)
	seen := lookFor(ctx, q, c.Investigation, requires)
	if err := numbers.Scan(now.fields()...); err != nil {
		return 0, st, err
	}
	if err := stands.Scan(st.fields()...); err != nil {
		return 0, st, err
	}
	if err := seen.required(); err != nil && !st.stored {
		return 0, st, err
	}
	return now.seq, st, nil
}

func (s journal) appendClaimed(ctx context.Context, c claim, step transcript.Step) (stored []transcript.Entry, unread int, err error) {
	err = s.write(ctx, c.Investigation, func(q querier) error {
		st, err := c.enforce(ctx, q)
		if err != nil {
			return err
		}
		unread = st.unread
		if st.stored {
			stored, err = c.stored(ctx, q, st)
			return err
		}
		if stored, err = s.insertStep(ctx, q, step); err != nil {
			return err
		}
		unread -= quotes(step)
		return s.recall(ctx, q, step.Recall, stored)
	})
	return stored, unread, err
}

// stored returns the rows of the step that begins at the claim's key and belongs to its run; nil if the standing says that there
// are none.
func (c claim) stored(ctx context.Context, q querier, st standing) ([]transcript.Entry, error) {
	if !st.stored {
		return nil, nil
	}
	const query = `SELECT ` + entryColumns + ` FROM entries WHERE superseded = 0 AND investigation = $1 AND step = (
			SELECT seq FROM entries WHERE superseded = 0 AND investigation = $1 AND execution = $2
				AND iteration = $4 AND position = $5 AND ` + isOwn + ` AND step = seq)
		ORDER BY seq`
	return selectAll(ctx, q, entryFields, query, c.Investigation, c.Execution, c.run, c.Iteration, c.Position)
}

// insertStep numbers and writes the rows and their side effects. It returns the entries as a later Lookup reads them.
func (s journal) insertStep(ctx context.Context, q querier, step transcript.Step) ([]transcript.Entry, error) {
	if err := lookFor(ctx, q, step.Investigation, step.Requires).required(); err != nil {
		return nil, err
	}
	now, err := advance(ctx, q, step.Investigation, cursor{seq: int64(len(step.Rows))})
	if err != nil {
		return nil, err
	}
	return s.insertRows(ctx, q, step, now.seq, true)
}

// insertRows is insertStep with the number of its last row. If live is set, a reply ends the execution's live tail.
func (s journal) insertRows(
	ctx context.Context, q querier, step transcript.Step, last int64, live bool,
) (entries []transcript.Entry, err error) {
	first := last - int64(len(step.Rows)) + 1
	for i, row := range step.Rows {
		entry := transcript.Entry{
			Scope: step.Scope, Key: row.Key, Seq: first + int64(i), Kind: row.Kind,
			At: storedTime(row.At), Writer: step.Writer,
		}
		var body driver.Value
		if body, entry.Body, err = storedBody(row.Body); err != nil {
			return nil, err
		}
		if err := insertEntry(ctx, q, first, entry, body); err != nil {
			return nil, err
		}
		if live && row.Kind == transcript.KindReply {
			if err := dropLive(ctx, q, step.Scope); err != nil {
				return nil, err
			}
		}
		if err := s.addActs(ctx, q, actsOf(entry, row.Acts)); err != nil {
			return nil, err
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

func (c claim) check() error {
	if c.Investigation == "" || c.run == "" { // an empty execution means the investigation itself
		return errors.New("investigation or run is missing")
	}
	return nil
}

// String names the step in errors.
func (c claim) String() string {
	return fmt.Sprintf("step %d/%d of %s, %s", c.Iteration, c.Position, c.Investigation, c.Execution)
}

// checkOrder returns an error if rows are not in key order.
func checkOrder(rows []transcript.Row) error {
	for i, row := range rows[1:] {
		if rows[i].Compare(row.Key) >= 0 {
			return fmt.Errorf("the rows of the step are not in order: row %d/%d is not after the previous row", row.Iteration, row.Position)
		}
	}
	return nil
}
