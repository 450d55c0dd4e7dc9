package store

import (
	"context"
	"database/sql"
	"errors"
)

// cursor is how far an investigation has come: one row, raised in the
// transaction of each change.
type cursor struct {
	seq     int64 // number of the last entry
	struck  int64 // number of the last time that entries were superseded
	live    int64 // version of what is live
	records int64 // version of the records
}

// fields are pointers to the cursor's columns, in the order of the table.
func (c *cursor) fields() []any { return []any{&c.seq, &c.struck, &c.live, &c.records} }

const raiseCursor = `INSERT INTO cursors (investigation, seq, struck, live, records) VALUES ($1, $2, $3, $4, $5)
	ON CONFLICT (investigation) DO UPDATE SET
		seq = cursors.seq + excluded.seq, struck = cursors.struck + excluded.struck,
		live = cursors.live + excluded.live, records = cursors.records + excluded.records`

// raise raises an investigation's cursor by a difference.
func raise(ctx context.Context, q querier, investigation string, by cursor) error {
	_, err := q.ExecContext(ctx, raiseCursor, append([]any{investigation}, by.fields()...)...)
	return err
}

// advance is raise, and returns where the cursor then stands.
func advance(ctx context.Context, q querier, investigation string, by cursor) (now cursor, err error) {
	err = advancing(ctx, q, investigation, by).Scan(now.fields()...)
	return now, err
}

// advancing is advance for a caller that asks for more before it scans the fields.
func advancing(ctx context.Context, q querier, investigation string, by cursor) *sql.Row {
	const query = raiseCursor + ` RETURNING seq, struck, live, records`
	return q.QueryRowContext(ctx, query, append([]any{investigation}, by.fields()...)...)
}

// standsAt reads an investigation's cursor; zero if nothing has happened yet.
func standsAt(ctx context.Context, q querier, investigation string) (now cursor, err error) {
	const query = `SELECT seq, struck, live, records FROM cursors WHERE investigation = $1`
	err = q.QueryRowContext(ctx, query, investigation).Scan(now.fields()...)
	if errors.Is(err, sql.ErrNoRows) {
		return cursor{}, nil
	}
	return now, err
}
