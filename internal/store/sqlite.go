package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

const (
	busyTimeout = 10 * time.Second       // how long a writer waits for writers of other processes
	lockTimeout = 200 * time.Millisecond // how long it waits without a look at its context, which SQLite cannot take
	setUpWait   = 5 * time.Minute        // how long Open waits for another process that migrates the file
	lookEvery   = 100 * time.Millisecond // how often changes of other processes are polled
	readers     = 4                      // connections for reading, besides the polling one
)

// sqliteFile is an open SQLite file: one connection that writes, a few that read, and one that polls for changes of other
// processes.
type sqliteFile struct {
	writer *sql.DB
	reader *sql.DB
	eye    *sql.Conn // a connection of reader
}

func openSQLite(ctx context.Context, opts Options) (database, error) {
	path, err := filepath.Abs(opts.Path)
	if err != nil {
		return database{}, err
	}
	if err := makeFile(path); err != nil {
		return database{}, err
	}
	db := &sqliteFile{
		writer: pool(path, 1, lockTimeout, "_txlock=immediate"),
		reader: pool(path, readers+1, busyTimeout, "_pragma=query_only(1)"),
	}
	if err := db.prepare(ctx, opts); err != nil {
		return database{}, errors.Join(db.explain(err), db.close())
	}
	return database{writer: keep(db.writer), reader: keep(db.reader), engine: db}, nil
}

// makeFile creates the file, and its folder, readable only by its owner. It never opens an existing file: closing that again would
// drop the locks that this process holds on it through SQLite.
func makeFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return file.Close()
}

// pool creates a pool without opening a connection yet. Every commit is synced (FULL), because Temporal's history is: after a power
// cut, history must not contain steps that are lost here.
func pool(path string, size int, busy time.Duration, param string) *sql.DB {
	dsn := fmt.Sprintf("file:%s?_pragma=busy_timeout(%d)&_pragma=foreign_keys(1)&_pragma=synchronous(FULL)&%s",
		(&url.URL{Path: path}).EscapedPath(), busy.Milliseconds(), param)
	db, _ := sql.Open("sqlite", dsn) // fails only for an unknown driver
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	return db
}

// prepare sets up the file, and the connection that polls it.
func (db *sqliteFile) prepare(ctx context.Context, opts Options) error {
	if err := db.useWAL(ctx, opts); err != nil {
		return err
	}
	if err := setUpFile(ctx, db.writer, opts); err != nil {
		return err
	}
	var err error
	db.eye, err = db.reader.Conn(ctx)
	return err
}

// setUpFile marks the file as this host's and brings its tables to the newest version in one transaction, however many processes
// start at the same time. db must be a pool of one connection, because goose's statements run within that transaction.
func setUpFile(ctx context.Context, db *sql.DB, opts Options) error {
	if err := setUp(ctx, db, "BEGIN IMMEDIATE", opts); err != nil {
		return err
	}
	end := "COMMIT"
	err := claimAndMigrate(ctx, db, opts)
	if err != nil {
		end = "ROLLBACK"
	}
	_, endErr := db.ExecContext(context.WithoutCancel(ctx), end)
	if err != nil {
		return err // if the ROLLBACK fails, there is nothing to undo
	}
	return endErr
}

func claimAndMigrate(ctx context.Context, db *sql.DB, opts Options) error {
	mark := hostMark()
	if err := checkHost(ctx, db, mark, opts.Adopt); err != nil {
		return err
	}
	// goose must not open a transaction within ours.
	if err := migrate(ctx, db, goose.DialectSQLite3, "sqlite", opts.Logger, goose.WithIsolateDDL(true)); err != nil {
		return err
	}
	_, err := db.ExecContext(ctx, setNote, "host", mark)
	return doing(err, "write host mark")
}

// useWAL lets readers and the writer work in parallel. The mode is a property of the file. Processes that change it at the same
// time may get "busy" without the wait of busy_timeout (SQLite detects a deadlock).
func (db *sqliteFile) useWAL(ctx context.Context, opts Options) error {
	return setUp(ctx, db.writer, "PRAGMA journal_mode = WAL", opts)
}

// setUp executes a statement. It waits for up to setUpWait, because the migration of a large file can take longer than busyTimeout.
func setUp(ctx context.Context, db *sql.DB, statement string, opts Options) error {
	notice := time.AfterFunc(busyTimeout/2, func() {
		opts.Logger.WarnContext(ctx, "another process has locked the store's file; waiting", "path", opts.Path)
	})
	defer notice.Stop()
	return whenFree(ctx, setUpWait, func() error { _, err := db.ExecContext(ctx, statement); return err })
}

// whenFree repeats a statement for up to the given time while another process has the file locked.
func whenFree(ctx context.Context, wait time.Duration, do func() error) error {
	for start := time.Now(); ; {
		err := do()
		if !isCode(err, sqlite3.SQLITE_BUSY) || time.Since(start) >= wait {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// BeginTx waits for writers of other processes, until the context ends.
func (k *keeping) BeginTx(ctx context.Context, opts *sql.TxOptions) (tx *sql.Tx, err error) {
	err = whenFree(ctx, busyTimeout, func() error { tx, err = k.DB.BeginTx(ctx, opts); return err })
	return tx, err
}

// ExecContext waits like BeginTx.
func (k *keeping) ExecContext(ctx context.Context, query string, args ...any) (result sql.Result, err error) {
	err = whenFree(ctx, busyTimeout, func() error { result, err = k.DB.ExecContext(ctx, query, args...); return err })
	return result, err
}

// lock does nothing, because write transactions lock the whole file (see pool).
func (db *sqliteFile) lock(context.Context, querier, string) error { return nil }

// announce does nothing, because other processes poll the file.
func (db *sqliteFile) announce(string) {}

func (db *sqliteFile) watch(ctx context.Context, h *hub) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for last := int64(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now, err := db.version(ctx)
		if err != nil || now != last {
			h.wakeAll()
		}
		last = now
	}
}

// version changes whenever another connection, of any process, has committed. It is read without a deadline, which takes
// microseconds: an interrupted connection would be replaced, and versions of two connections are not comparable.
func (db *sqliteFile) version(ctx context.Context) (int64, error) {
	var v int64
	err := db.eye.QueryRowContext(context.WithoutCancel(ctx), "PRAGMA data_version").Scan(&v)
	return v, err
}

func (db *sqliteFile) sizeQuery() string {
	return `SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()`
}

func (db *sqliteFile) close() error {
	var err error
	if db.eye != nil {
		err = db.eye.Close()
	}
	return errors.Join(err, db.reader.Close(), db.writer.Close())
}

// isCode reports whether err has one of the given SQLite codes, or an extended code of it.
func isCode(err error, codes ...int) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (slices.Contains(codes, e.Code()) || slices.Contains(codes, e.Code()&0xff))
}

// explain describes SQLite's error codes in words.
func (db *sqliteFile) explain(err error) error {
	switch {
	case isCode(err, sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY):
		return fmt.Errorf("%w: %w", errDuplicate, err)
	case isCode(err, sqlite3.SQLITE_NOTADB):
		return fmt.Errorf("the file is not a SQLite database: %w", err)
	case isCode(err, sqlite3.SQLITE_CORRUPT):
		return fmt.Errorf("the file is damaged: %w", err)
	case isCode(err, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
		return fmt.Errorf("%w: the disk is full or failing: %w", ErrUnavailable, err)
	case isCode(err, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
		return fmt.Errorf("%w: the file and its directory must be writable: %w", ErrUnavailable, err)
	case isCode(err, sqlite3.SQLITE_BUSY):
		return fmt.Errorf("%w: another process keeps it locked: %w", ErrUnavailable, err)
	}
	return err
}
