package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
)

// ErrOtherNamespace: the store belongs to another namespace of Temporal, or another Temporal.
var ErrOtherNamespace = errors.New("a store belongs to one namespace of one Temporal")

// ID is the identity of the store: random, made when it is opened for the first
// time, and its own wherever it is moved or restored to.
func (s *Store) ID() string { return s.id }

// identify reads the identity, which the first one who asks makes.
func (s *Store) identify(ctx context.Context) (id string, err error) {
	return s.note(ctx, "id", rand.Text())
}

// Join makes the store that of a namespace, or refuses it if it is another's: each would
// take the other's investigations for terminated. A namespace's id is Temporal's, random and
// the same wherever the namespace is moved to; its name is for people. adopt takes the store over.
func (s *Store) Join(ctx context.Context, id, name string, adopt bool) error {
	const key = "namespace"
	stored, err := s.note(ctx, key, id+" "+name)
	if err != nil {
		return fmt.Errorf("read whose store it is: %w", err)
	}
	theirs, known, _ := strings.Cut(stored, " ")
	switch {
	case theirs == id:
		return nil
	case !adopt:
		return fmt.Errorf("%w: this one is that of namespace %q (id %s), and you work for namespace %q (id %s); name a store of its own; "+
			"if it takes the other one's place for good, start the worker once with --adopt-store: what runs in the other one then counts "+
			"as terminated", ErrOtherNamespace, known, theirs, name, id)
	}
	s.logger.Warn("the store is another namespace's now: what runs in the old one counts as terminated", "was", stored, "is", id+" "+name)
	_, err = s.db.writer.ExecContext(ctx, `UPDATE meta SET value = $1 WHERE key = $2`, id+" "+name, key)
	return s.db.explain(err)
}

// note reads what the store says of itself, which the first one who asks makes.
func (s *Store) note(ctx context.Context, key, first string) (value string, err error) {
	const read = `SELECT value FROM meta WHERE key = $1`
	if err := s.db.reader.QueryRowContext(ctx, read, key).Scan(&value); err == nil {
		return value, nil
	}
	err = inTx(ctx, s.db.writer, nil, func(q querier) error {
		add := insertInto("meta", "key, value") + `ON CONFLICT DO NOTHING`
		if _, err := q.ExecContext(ctx, add, key, first); err != nil {
			return err
		}
		return q.QueryRowContext(ctx, read, key).Scan(&value)
	})
	return value, s.db.explain(err)
}
