// Package store is Inquest's durable storage: transcripts, blobs, tool catalogues, records and the usage ledger. It is one SQL
// implementation; code specific to SQLite or PostgreSQL is in sqlite.go and postgres.go.
package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Errors that callers branch on.
var (
	// ErrNotFound means that there is no such record or blob.
	ErrNotFound = record.ErrNotFound
	// ErrStaleRun means that another workflow run has taken over the execution (after a Temporal reset). The old run must not write
	// any more.
	ErrStaleRun = transcript.ErrStaleRun
	// ErrConflict means that a key of the step belongs to another step of the same run.
	ErrConflict = errors.New("key is taken by another step")
	// ErrUnavailable means that the database does not answer or is too busy. Every call of the store may be retried: a call that
	// was carried out changes nothing the second time.
	ErrUnavailable = record.ErrUnavailable
	// ErrOtherHost means that the SQLite file belongs to another host.
	ErrOtherHost = errors.New("a SQLite store serves one host")
	// ErrNewerSchema means that a newer program has migrated the database.
	ErrNewerSchema = errors.New("written by a newer version of this program")
)

// errDuplicate means that a unique index refused a row.
var errDuplicate = errors.New("there is such a row already")

// Store is an open database. Its methods are safe for concurrent use. Several processes may open it: with SQLite on one host, with
// PostgreSQL on any.
type Store struct {
	db     database
	hub    *hub
	logs   logs
	logger *slog.Logger
	id     string
	time   *timekeeper
	stop   func() // ends the background work
}

// Open opens the database and creates or upgrades its tables if needed. Errors of the store never contain the password of
// Options.DSN.
func Open(ctx context.Context, opts Options) (*Store, error) {
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	open := openSQLite
	if opts.DSN != "" {
		open = openPostgres
	}
	db, err := open(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", opts, err)
	}
	s := &Store{db: db, hub: newHub(), logger: opts.Logger, time: &timekeeper{local: time.Now}}
	if s.id, err = s.note(ctx, "id", rand.Text()); err != nil {
		return nil, errors.Join(fmt.Errorf("open store %s: %w", opts, err), db.close())
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	var watcher sync.WaitGroup
	watcher.Go(func() { db.watch(life, s.hub) })
	s.stop = func() {
		end()
		watcher.Wait()
	}
	return s, nil
}

// Close ends every Follow with an error and closes the database.
func (s *Store) Close() error {
	s.stop()
	err := s.db.close()
	s.hub.wakeAll() // followers look and find it closed
	return doing(err, "close store")
}
