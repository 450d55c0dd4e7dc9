package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
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
	// each selects from the JSON list in an argument: its elements are texts in the column value.
	each(argument int) string
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
func (s *base) write(ctx context.Context, investigation string, fn func(querier) error) error {
	return s.change(ctx, investigation, func(q querier) error {
		if err := s.db.lock(ctx, q, investigation); err != nil {
			return err
		}
		return fn(q)
	})
}

// change is write for an fn that begins by advancing the investigation's cursor, which locks the investigation.
func (s *base) change(ctx context.Context, investigation string, fn func(querier) error) error {
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
func (s *base) read(ctx context.Context, fn func(querier) error) error {
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
func (s *base) writeRecords(ctx context.Context, investigation string, fn func(querier) error) error {
	return s.write(ctx, investigation, func(q querier) error {
		if err := fn(q); err != nil {
			return err
		}
		return raise(ctx, q, investigation, cursor{records: 1})
	})
}

// Size returns the size of the database in bytes.
func (s *base) Size(ctx context.Context) (bytes int64, err error) {
	err = s.db.reader.QueryRowContext(ctx, s.db.sizeQuery()).Scan(&bytes)
	return bytes, doing(s.db.explain(err), "read the store's size")
}

// timekeeper tells the time by the database's clock, which all users of the database share. It rarely asks for that time and adds
// the time elapsed on this machine, so the setting of this machine's clock does not matter.
type timekeeper struct {
	local func() time.Time // this machine's clock
	mu    sync.Mutex
	asked time.Time // local time of the database's answer; zero if there was none
	said  time.Time
}

// clockEvery is how long an answer stays valid: the clocks of two machines drift apart by microseconds a second.
const clockEvery = 10 * time.Second

// now returns the time, and whether the database should be asked again.
func (k *timekeeper) now() (now time.Time, due bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	local := k.local()
	if k.asked.IsZero() {
		return local.UTC(), true
	}
	passed := local.Sub(k.asked)
	byWall := local.Round(0).Sub(k.asked.Round(0)) // the monotonic clock stops while a machine sleeps
	return k.said.Add(passed), passed < 0 || passed >= clockEvery || (byWall-passed).Abs() >= time.Second
}

func (k *timekeeper) set(asked, answered, said time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked, k.said = asked, said.Add(-answered.Sub(asked)/2)
}

// Now returns the time by the clock that all users of the store share; for a file, the clock of its host. While the database does
// not answer, Now extrapolates from its last answer or, if there was none, uses this machine's clock.
func (s *base) Now(ctx context.Context) time.Time {
	now, due := s.time.now()
	if !due {
		return now
	}
	asked := s.time.local()
	said, err := s.db.clock(ctx, s.db.reader)
	if err != nil {
		return now
	}
	s.time.set(asked, s.time.local(), said)
	now, _ = s.time.now()
	return now
}

// ErrOtherNamespace means that the store belongs to another Temporal namespace or another Temporal cluster.
var ErrOtherNamespace = errors.New("a store belongs to one namespace of one Temporal cluster")

// ID returns the identity of the store: random, created when the store is first opened, and kept when it is moved or restored.
func (s *base) ID() string { return s.id }

// Join binds the store to a namespace, or returns an error if it belongs to another one: each namespace would treat the other's
// investigations as terminated. id is Temporal's random ID of the namespace, which stays the same if the namespace moves. name is
// for people. adopt takes over the store of another namespace.
func (s *base) Join(ctx context.Context, id, name string, adopt bool) error {
	stored, err := s.note(ctx, namespaceKey, id+" "+name)
	if err != nil {
		return fmt.Errorf("read the store's owner: %w", err)
	}
	if err := otherNamespace(stored, id, name); err == nil || !adopt {
		return err
	}
	s.logger.Warn("the store now belongs to another namespace: work running in the old one counts as ended", "was", stored, "is", id+" "+name)
	_, err = s.db.writer.ExecContext(ctx, `UPDATE meta SET value = $1 WHERE key = $2`, id+" "+name, namespaceKey)
	return s.db.explain(err)
}

// Belongs returns an error if the store now belongs to another namespace. A store without a namespace is accepted.
func (s *base) Belongs(ctx context.Context, id, name string) error {
	var stored string
	err := s.db.reader.QueryRowContext(ctx, readNote, namespaceKey).Scan(&stored)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the store's owner: %w", s.db.explain(err))
	}
	return otherNamespace(stored, id, name)
}

func otherNamespace(stored, id, name string) error {
	theirs, known, _ := strings.Cut(stored, " ")
	if theirs != id {
		return fmt.Errorf("%w: this one belongs to namespace %q (id %s), but this program uses namespace %q (id %s); use a separate "+
			"store, or, to replace the other namespace for good, start the worker once with --adopt-store: work that "+
			"runs in the other namespace then counts as terminated", ErrOtherNamespace, known, theirs, name, id)
	}
	return nil
}

const namespaceKey = "namespace"

// Notes are facts about the store itself, in the table meta.
const readNote = `SELECT value FROM meta WHERE key = $1`

var setNote = insertInto("meta", "key, value") + `ON CONFLICT (key) ` + overwrite("value")

// note reads a fact about the store itself. The first caller sets it.
func (s *base) note(ctx context.Context, key, first string) (value string, err error) {
	if err := s.db.reader.QueryRowContext(ctx, readNote, key).Scan(&value); err == nil {
		return value, nil
	}
	err = inTx(ctx, s.db.writer, nil, func(q querier) error {
		add := insertInto("meta", "key, value") + `ON CONFLICT DO NOTHING`
		if _, err := q.ExecContext(ctx, add, key, first); err != nil {
			return err
		}
		return q.QueryRowContext(ctx, readNote, key).Scan(&value)
	})
	return value, s.db.explain(err)
}

// machineIDFiles lists the files in which an operating system keeps the ID of its installation.
const machineIDFiles = "/etc/machine-id /var/lib/dbus/machine-id"

// hostMark names this host: "<hostname>/<digest of the machine ID>". The digest is empty if the ID cannot be read.
func hostMark() string {
	name, _ := os.Hostname()
	return name + "/" + machineID()
}

// machineID returns a digest, because the ID itself is meant to stay on the machine.
func machineID() string {
	for file := range strings.FieldsSeq(machineIDFiles) {
		if id, err := os.ReadFile(file); err == nil && len(bytes.TrimSpace(id)) > 0 {
			sum := sha256.Sum256(bytes.TrimSpace(id))
			return hex.EncodeToString(sum[:8])
		}
	}
	return ""
}

// checkHost refuses a file that another host has marked, because SQLite's locks do not reach across hosts. Any host may use a file
// without tables.
func checkHost(ctx context.Context, q querier, mark string, adopt bool) error {
	var exists bool
	const query = `SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'meta')`
	if err := q.QueryRowContext(ctx, query).Scan(&exists); err != nil || !exists {
		return err
	}
	var stored string
	err := q.QueryRowContext(ctx, readNote, "host").Scan(&stored)
	if errors.Is(err, sql.ErrNoRows) || (err == nil && (stored == mark || adopt)) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read host mark: %w", err)
	}
	owner, _, _ := strings.Cut(stored, "/")
	here, _, _ := strings.Cut(mark, "/")
	return fmt.Errorf("%w: it belongs to host %q, but this is %q; use PostgreSQL for several hosts; if the file was moved here, "+
		"start the worker once with --adopt-store",
		ErrOtherHost, owner, here)
}
