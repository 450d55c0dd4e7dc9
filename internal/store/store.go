// Package store keeps what Inquest must not lose: transcripts, blobs, tool
// catalogues, records and the ledger of usage. It is one SQL implementation;
// what only SQLite or only PostgreSQL needs is in sqlite.go and postgres.go.
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

// The kinds of error that callers branch on.
var (
	// ErrNotFound: there is no such record or blob.
	ErrNotFound = record.ErrNotFound
	// ErrStaleRun: another workflow run has taken over the execution (after a
	// Temporal reset); this one must not write any more.
	ErrStaleRun = transcript.ErrStaleRun
	// ErrConflict: a key of the step belongs to another step of the same run.
	ErrConflict = errors.New("key is taken by another step")
	// ErrUnavailable: the database does not answer, or is too busy. Every call of
	// the store may be made again: one that had been carried out changes nothing.
	ErrUnavailable = record.ErrUnavailable
	// ErrOtherHost: the SQLite file belongs to another host.
	ErrOtherHost = errors.New("a SQLite store serves one host")
	// ErrNewerSchema: a newer program has written the database.
	ErrNewerSchema = errors.New("written by a newer version of this program")
)

// errDuplicate: a unique index refused a row.
var errDuplicate = errors.New("there is such a row already")

// Store is a database that is open. Its methods may be called by any number of
// goroutines, and several processes may have it open: with SQLite those of one
// host, with PostgreSQL any.
type Store struct {
	db     database
	hub    *hub
	logs   logs
	logger *slog.Logger
	id     string
	time   *timekeeper
	stop   func() // ends what runs in the background
}

// Open opens the database, making or upgrading its tables if need be. No error
// of the store shows the password of Options.DSN.
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
	s.hub.wakeAll() // they look, and find it closed
	return doing(err, "close store")
}
