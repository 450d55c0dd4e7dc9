package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// database is an open database: its connections and its engine.
type database struct {
	writer   handle
	reader   handle
	snapshot *sql.TxOptions // options of a transaction that reads one consistent snapshot
	engine
}

// engine is the part that differs between SQLite and PostgreSQL.
type engine interface {
	// lock comes first in a write transaction: until it ends, no other transaction changes that investigation. An empty string
	// means none.
	lock(ctx context.Context, q querier, investigation string) error
	// lockWindow is lock for the window of a rate limit. now is in microseconds since 1970, by the clock that all users of the
	// database share.
	lockWindow(ctx context.Context, q querier, agent, tool string) (now int64, err error)
	clock(ctx context.Context, q querier) (now time.Time, err error) // by the same clock as lockWindow
	// clocked reads one value with a query of one column and one row, together with the time by the same clock.
	clocked(ctx context.Context, q querier, value any, query string, args ...any) (now time.Time, err error)
	// announce soon notifies other processes that an investigation has changed. A process that misses the notification finds the
	// change later by itself.
	announce(investigation string)
	// watch wakes followers when other processes have changed something, until ctx ends.
	watch(ctx context.Context, h *hub)
	// explain adds words to an error and maps it to ErrUnavailable or errDuplicate where that applies.
	explain(err error) error
	// words says how words are indexed and found. forUpdate is the end of a SELECT that locks its rows until the transaction ends.
	words() wordIndex
	forUpdate() string
	// search looks up a text in the names of investigations. has is the SQL condition that a text contains an argument.
	search(ctx context.Context, q querier, text string) (searched, error)
	has(text, argument string) string
	// allOf returns the index query for rows that have all of some words and, if oneOf is not empty, one of those whole terms. A
	// word of three or more characters matches as a prefix. An empty string means that nothing matches. addTerms adds words to the
	// list of known ones.
	allOf(ctx context.Context, q querier, words, oneOf []string) (string, error)
	addTerms(ctx context.Context, q querier, words []string) error
	// nameTerms returns the index terms for parts of names: a row with the text in its name has all of them. nil means that search
	// finds names without the index. allTerms returns the query for rows with all of some terms.
	nameTerms(text string) []string
	allTerms(terms, oneOf []string) string
	sizeQuery() string  // selects the size of the database in bytes
	sweepQuery() string // deletes the reservations that end at $1 or before
	close() error
}

// querier is the common part of *sql.DB and *sql.Tx. In a transaction, a statement may not have run yet when the call returns: its
// effect and its error are certain only after its rows are scanned, its changes counted, or the transaction committed (see
// pipelining).
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// handle is a *sql.DB, or a wrapper that keeps its prepared statements.
type handle interface {
	querier
	BeginTx(ctx context.Context, opts *sql.TxOptions) (*sql.Tx, error)
}

// write runs fn in a transaction that has the investigation locked, and then wakes its followers.
func (s *Store) write(ctx context.Context, investigation string, fn func(querier) error) error {
	return s.change(ctx, investigation, func(q querier) error {
		if err := s.db.lock(ctx, q, investigation); err != nil {
			return err
		}
		return fn(q)
	})
}

// change is write for an fn that begins by advancing the investigation's cursor, which locks the investigation.
func (s *Store) change(ctx context.Context, investigation string, fn func(querier) error) error {
	if err := inTx(ctx, s.db.writer, nil, fn); err != nil {
		return s.db.explain(err)
	}
	if investigation != "" {
		s.hub.wake(investigation)
		s.db.announce(investigation)
	}
	return nil
}

// read runs fn on one snapshot of the database.
func (s *Store) read(ctx context.Context, fn func(querier) error) error {
	return s.db.explain(inTx(ctx, s.db.reader, s.db.snapshot, fn))
}

func inTx(ctx context.Context, db handle, opts *sql.TxOptions, fn func(querier) error) error {
	tx, err := db.BeginTx(ctx, opts)
	if err != nil {
		return err
	}
	q := querier(tx)
	if k, ok := db.(*keeping); ok {
		q = keepingTx{tx, k}
		defer k.prepare(ctx) // after the transaction is over
	}
	defer tx.Rollback() // does nothing after Commit
	if err := fn(q); err != nil {
		return err
	}
	return tx.Commit()
}

// doing adds the operation to an error; nil stays nil.
func doing(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
}

// writeRecords is write for records: it also tells followers that records changed.
func (s *Store) writeRecords(ctx context.Context, investigation string, fn func(querier) error) error {
	return s.write(ctx, investigation, func(q querier) error {
		if err := fn(q); err != nil {
			return err
		}
		return raise(ctx, q, investigation, cursor{records: 1})
	})
}

// Size returns the size of the database in bytes.
func (s *Store) Size(ctx context.Context) (bytes int64, err error) {
	err = s.db.reader.QueryRowContext(ctx, s.db.sizeQuery()).Scan(&bytes)
	return bytes, doing(s.db.explain(err), "read the store's size")
}
