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
	"net/url"
	"strings"
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
var errDuplicate = errors.New("the row already exists")

// Store is an open database. Its methods are safe for concurrent use. Several processes may open it: with SQLite on one host, with
// PostgreSQL on any.
type Store struct {
	*base
	stop func() // ends the background work

	// The parts, by subject: their methods are the store's.
	journal        // transcripts, and the letters to agents
	investigations // their records, what they wait for, and the search
	outcomes       // of stages, agents and judges
	alerts         // of webhooks
	audits
	chats // messages in chats, and what people do there
	blobs // and catalogues of tools
	limits
	memories
	lessons // what investigations taught
	rules   // of approvals
	agents  // virtual ones, and workers
	threads // conversations
}

// The parts of a store.
type (
	journal        struct{ *base }
	investigations struct{ *base }
	outcomes       struct{ *base }
	alerts         struct{ *base }
	audits         struct{ *base }
	chats          struct{ *base }
	blobs          struct{ *base }
	limits         struct{ *base }
	memories       struct{ *base }
	lessons        struct{ *base }
	rules          struct{ *base }
	agents         struct{ *base }
	threads        struct{ *base }
)

// base is what all parts of a store share.
type base struct {
	db     database
	hub    *hub
	logs   logs
	logger *slog.Logger
	id     string
	time   *timekeeper
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
	b := &base{db: db, hub: newHub(), logger: opts.Logger, time: &timekeeper{local: time.Now}}
	s := &Store{
		base: b, journal: journal{b}, investigations: investigations{b}, outcomes: outcomes{b}, alerts: alerts{b}, audits: audits{b},
		blobs: blobs{b}, limits: limits{b}, memories: memories{b}, lessons: lessons{b}, rules: rules{b},
		agents: agents{b}, chats: chats{b}, threads: threads{b},
	}
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

// Options says where the store is: a SQLite file or a PostgreSQL database.
type Options struct {
	// Path is the SQLite file. Its folder is created if absent.
	Path string
	// DSN is the address of the PostgreSQL database: postgres://user:password@host:port/database?setting=value, with the settings
	// of libpq (sslmode …) and of the session (search_path …). It is a secret.
	DSN string
	// Adopt takes over a SQLite file that another host has marked, for example after restoring a backup or renaming a container.
	Adopt bool
	// Logger logs migrations and outages; nil means no logging.
	Logger *slog.Logger
}

// At returns the options for a store as users name it: by a postgres:// address or the path of a SQLite file.
func At(target string) Options {
	if IsDSN(target) {
		return Options{DSN: target}
	}
	return Options{Path: target}
}

// IsDSN reports whether a store is named by a database address, not by a path.
func IsDSN(target string) bool {
	return strings.HasPrefix(target, "postgres://") || strings.HasPrefix(target, "postgresql://")
}

// HasPassword reports whether an address contains a password, or might.
func HasPassword(target string) bool {
	if !IsDSN(target) {
		return false
	}
	u, ok := parseDSN(target)
	if !ok {
		return true
	}
	_, set := u.User.Password()
	return set || u.Query().Has("password")
}

// String returns the store's name for people: the path, or the address without password and settings.
func (o Options) String() string {
	if o.DSN == "" {
		return o.Path
	}
	u, ok := parseDSN(o.DSN)
	if !ok {
		return "postgres://…"
	}
	shown := url.URL{Scheme: "postgres", Host: u.Host, Path: u.Path}
	if name := u.User.Username(); name != "" {
		shown.User = url.User(name)
	}
	return shown.String()
}

// parseDSN parses an address if it is certain which part is the password. A password with an unescaped "@", "/" or "?" could be
// mistaken for a host or a path. The whole address could, too, in libpq's other format ("host=h password=p").
func parseDSN(dsn string) (u *url.URL, ok bool) {
	u, err := url.Parse(dsn)
	if err != nil || !IsDSN(dsn) || strings.Contains(dsn, "#") {
		return nil, false
	}
	ats := strings.Count(dsn, "@")
	return u, ats == 0 || (ats == 1 && u.User != nil)
}
