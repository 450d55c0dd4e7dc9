package store

import (
	"context"
	"crypto/rand"
)

// ID is the identity of the store: random, made when it is opened for the first
// time, and its own wherever it is moved or restored to.
func (s *Store) ID() string { return s.id }

// identify reads the identity, which the first one who asks makes.
func (s *Store) identify(ctx context.Context) (id string, err error) {
	const read = `SELECT value FROM meta WHERE key = 'id'`
	if err := s.db.reader.QueryRowContext(ctx, read).Scan(&id); err == nil {
		return id, nil
	}
	err = inTx(ctx, s.db.writer, nil, func(q querier) error {
		add := insertInto("meta", "key, value") + `ON CONFLICT DO NOTHING`
		if _, err := q.ExecContext(ctx, add, "id", rand.Text()); err != nil {
			return err
		}
		return q.QueryRowContext(ctx, read).Scan(&id)
	})
	return id, s.db.explain(err)
}
