// Package store keeps what Inquest must not lose: transcripts, blobs, tool
// catalogues, records and the ledger of usage. It is one SQL implementation;
// what only SQLite needs is in sqlite.go.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// The kinds of error that callers branch on.
var (
	// ErrNotFound: there is no such record or blob.
	ErrNotFound = record.ErrNotFound
	// ErrStaleRun: another workflow run has taken over the execution (after a
	// Temporal reset); this one must not write any more.
	ErrStaleRun = transcript.ErrStaleRun
	// ErrConflict: a key of the step belongs to another step of the same run.
	ErrConflict = errors.New("key is taken by another step")
	// ErrOtherHost: the SQLite file belongs to another host.
	ErrOtherHost = errors.New("a SQLite store serves one host")
	// ErrNewerSchema: a newer program has written the database.
	ErrNewerSchema = errors.New("written by a newer version of this program")
)

// Options say where the store is.
type Options struct {
	// Path of the SQLite file. Its folder is made if absent.
	Path string
	// Adopt takes over a file that another host has marked, because it was moved
	// here: a restored backup, a container with a new name.
	Adopt bool
	// Logger is told of migrations; nil = nobody.
	Logger *slog.Logger
}

// Store is a database that is open. Its methods may be called by any number of
// goroutines, and several processes of one host may have the same file open.
type Store struct {
	db  *sqliteDB
	hub *hub
}

// Open opens the database, making or upgrading it if need be.
func Open(ctx context.Context, opts Options) (*Store, error) {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	db, err := openSQLite(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", opts.Path, err)
	}
	return &Store{db: db, hub: newHub()}, nil
}

// Close ends every Follow with an error and closes the database.
func (s *Store) Close() error {
	if err := s.db.close(); err != nil {
		return fmt.Errorf("close store: %w", err)
	}
	return nil
}

// querier is what a *sql.DB and a *sql.Tx have in common.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// write runs fn in a transaction that has the write lock from its start, and
// then wakes those who follow the investigation.
func (s *Store) write(ctx context.Context, investigation string, fn func(querier) error) error {
	if err := inTx(ctx, s.db.writer, fn); err != nil {
		return err
	}
	s.hub.wake(investigation)
	return nil
}

// read runs fn on one snapshot of the database.
func (s *Store) read(ctx context.Context, fn func(querier) error) error {
	return inTx(ctx, s.db.reader, fn)
}

func inTx(ctx context.Context, db *sql.DB, fn func(querier) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after Commit
	if err := fn(tx); err != nil {
		return err
	}
	return tx.Commit()
}
