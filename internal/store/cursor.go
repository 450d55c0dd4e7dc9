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

// advance raises an investigation's cursor by a difference and returns where it then stands.
func advance(ctx context.Context, q querier, investigation string, by cursor) (now cursor, err error) {
	const query = `INSERT INTO cursors (investigation, seq, struck, live, records) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (investigation) DO UPDATE SET
			seq = cursors.seq + excluded.seq, struck = cursors.struck + excluded.struck,
			live = cursors.live + excluded.live, records = cursors.records + excluded.records
		RETURNING seq, struck, live, records`
	args := append([]any{investigation}, by.fields()...)
	err = q.QueryRowContext(ctx, query, args...).Scan(now.fields()...)
	return now, err
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
