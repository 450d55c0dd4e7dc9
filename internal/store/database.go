package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// database is an open database: its connections, and what is special about it.
type database struct {
	writer   handle
	reader   handle
	snapshot *sql.TxOptions // of a transaction that reads one state of the database
	engine
}

// engine is what SQLite and PostgreSQL do each in their own way.
type engine interface {
	// lock comes first in a transaction of the writer: until it ends, nobody else
	// changes that investigation. "" is none.
	lock(ctx context.Context, q querier, investigation string) error
	// lockWindow is lock for the window of a rate limit. now is in microseconds
	// since 1970, by the clock that all who use the database share.
	lockWindow(ctx context.Context, q querier, agent, tool string) (now int64, err error)
	clock(ctx context.Context, q querier) (now time.Time, err error) // that one
	// clocked reads one value by a query of one column and one row, and that clock beside it.
	clocked(ctx context.Context, q querier, value any, query string, args ...any) (now time.Time, err error)
	// announce lets other processes know, soon, that an investigation has changed.
	// One that is not told finds out by itself, later.
	announce(investigation string)
	// watch wakes followers when other processes have changed something, until ctx ends.
	watch(ctx context.Context, h *hub)
	// explain puts an error into words, and says if it is one of ours: see ErrUnavailable and errDuplicate.
	explain(err error) error
	// words says how words are indexed and found; forUpdate ends a SELECT whose
	// rows nobody else is to change until the transaction ends.
	words() wordIndex
	forUpdate() string
	// search looks a text up among the names of investigations; has is the condition that a text has another one in it.
	search(ctx context.Context, q querier, text string) (searched, error)
	has(text, argument string) string
	// allOf is the query of the index of words for all of some words, of which one of three characters or more is a
	// beginning, and for one of some whole terms, if there are any; "" = nothing has them. addTerms adds to the words that occur.
	allOf(ctx context.Context, q querier, words, oneOf []string) (string, error)
	addTerms(ctx context.Context, q querier, words []string) error
	// nameTerms are terms that the index of words has for the parts of names: all of them are in what has the text in its
	// name. nil = search finds names without. allTerms is the query for all of some terms.
	nameTerms(text string) []string
	allTerms(terms, oneOf []string) string
	sizeQuery() string  // selects how many bytes the database takes
	sweepQuery() string // deletes the reservations that end at $1 or before
	close() error
}

// querier is what a *sql.DB and a *sql.Tx have in common. A statement in a transaction may
// not have run yet when it returns: its effect and its error are certain once its rows are
// scanned, its changes counted, or the transaction committed (see pipelining).
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// handle is a *sql.DB, or one that keeps its statements.
type handle interface {
	querier
	BeginTx(ctx context.Context, opts *sql.TxOptions) (*sql.Tx, error)
}

// write runs fn in a transaction in which nobody else changes the investigation,
// and then wakes those who follow it.
func (s *Store) write(ctx context.Context, investigation string, fn func(querier) error) error {
	return s.change(ctx, investigation, func(q querier) error {
		if err := s.db.lock(ctx, q, investigation); err != nil {
			return err
		}
		return fn(q)
	})
}

// change is write for an fn that begins by advancing the investigation's cursor: that
// locks the investigation.
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
		defer k.prepare(ctx) // when the transaction is over
	}
	defer tx.Rollback() // does nothing after Commit
	if err := fn(q); err != nil {
		return err
	}
	return tx.Commit()
}

// doing says in which work an error came up; nil stays nil.
func doing(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
}

// writeRecords is write for records: followers are told that they changed.
func (s *Store) writeRecords(ctx context.Context, investigation string, fn func(querier) error) error {
	return s.write(ctx, investigation, func(q querier) error {
		if err := fn(q); err != nil {
			return err
		}
		return raise(ctx, q, investigation, cursor{records: 1})
	})
}

// Size is how much room the database takes, in bytes.
func (s *Store) Size(ctx context.Context) (bytes int64, err error) {
	err = s.db.reader.QueryRowContext(ctx, s.db.sizeQuery()).Scan(&bytes)
	return bytes, doing(s.db.explain(err), "read the store's size")
}
