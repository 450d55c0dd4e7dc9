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
	busyTimeout = 10 * time.Second       // how long a writer waits for those of other processes
	lookEvery   = 100 * time.Millisecond // how soon the changes of other processes are noticed
	readers     = 4                      // connections for reading, besides the one that watches
)

// sqliteFile is an open SQLite file: one connection that writes, a few that
// read, and one that notices what other processes do.
type sqliteFile struct {
	writer *sql.DB
	reader *sql.DB
	eye    *sql.Conn // of reader
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
		writer: pool(path, 1, "_txlock=immediate"),
		reader: pool(path, readers+1, "_pragma=query_only(1)"),
	}
	if err := db.prepare(ctx, opts); err != nil {
		return database{}, errors.Join(db.explain(err), db.close())
	}
	return database{writer: keep(db.writer), reader: keep(db.reader), engine: db}, nil
}

// makeFile makes the file, and its folder, readable by its owner only. It never
// opens one that exists: closing it again would drop the locks that this process
// holds on it through SQLite.
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

// pool makes a pool of connections without opening one yet. Every commit is
// synced (FULL): Temporal's history is, and after a power cut it must not know of
// steps that are lost here.
func pool(path string, size int, param string) *sql.DB {
	dsn := fmt.Sprintf("file:%s?_pragma=busy_timeout(%d)&_pragma=foreign_keys(1)&_pragma=synchronous(FULL)&%s",
		(&url.URL{Path: path}).EscapedPath(), busyTimeout.Milliseconds(), param)
	db, _ := sql.Open("sqlite", dsn) // fails for an unknown driver only
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	return db
}

// prepare readies the file, and the connection that watches it.
func (db *sqliteFile) prepare(ctx context.Context, opts Options) error {
	if err := db.useWAL(ctx); err != nil {
		return err
	}
	if err := setUpFile(ctx, db.writer, opts); err != nil {
		return err
	}
	var err error
	db.eye, err = db.reader.Conn(ctx)
	return err
}

// setUpFile makes the file this host's and brings its tables to the newest
// version: all of it or nothing, however many processes start at once. db must be
// a pool of one connection, because the transaction is around whatever goose does
// on it.
func setUpFile(ctx context.Context, db *sql.DB, opts Options) error {
	if _, err := db.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	end := "COMMIT"
	err := claimAndMigrate(ctx, db, opts)
	if err != nil {
		end = "ROLLBACK"
	}
	_, endErr := db.ExecContext(context.WithoutCancel(ctx), end)
	if err != nil {
		return err // a ROLLBACK that fails finds nothing to undo
	}
	return endErr
}

func claimAndMigrate(ctx context.Context, db *sql.DB, opts Options) error {
	mark := hostMark()
	if err := checkHost(ctx, db, mark, opts.Adopt); err != nil {
		return err
	}
	// Without transactions of goose's own within ours.
	if err := migrate(ctx, db, goose.DialectSQLite3, "sqlite", opts.Logger, goose.WithIsolateDDL(true)); err != nil {
		return err
	}
	_, err := db.ExecContext(ctx, insertInto("meta", "key, value")+`ON CONFLICT (key) `+overwrite("value"), "host", mark)
	return doing(err, "write host mark")
}

// useWAL lets readers and the writer work side by side. The mode stays with the
// file. Processes that change it at once may be told "busy" without the waiting
// that busy_timeout asks for (SQLite sees a deadlock coming), so they try again.
func (db *sqliteFile) useWAL(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, busyTimeout)
	defer cancel()
	for {
		_, err := db.writer.ExecContext(ctx, "PRAGMA journal_mode = WAL")
		if !isCode(err, sqlite3.SQLITE_BUSY) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// lock: the transactions of the writer have the lock of the whole file (see pool).
func (db *sqliteFile) lock(context.Context, querier, string) error { return nil }

// announce: the processes that have the file open watch it.
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

// version changes whenever another connection, of this process or another one,
// has committed. It is read without a deadline, in microseconds: an interrupted
// connection would be replaced, and versions of two connections do not compare.
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

// isCode reports whether err is one of SQLite's codes, or a finer one of the same kind.
func isCode(err error, codes ...int) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (slices.Contains(codes, e.Code()) || slices.Contains(codes, e.Code()&0xff))
}

// explain says in words what SQLite has a code for.
func (db *sqliteFile) explain(err error) error {
	switch {
	case isCode(err, sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY):
		return fmt.Errorf("%w: %w", errDuplicate, err)
	case isCode(err, sqlite3.SQLITE_NOTADB):
		return fmt.Errorf("the file is not a SQLite database: %w", err)
	case isCode(err, sqlite3.SQLITE_CORRUPT):
		return fmt.Errorf("the file is damaged: %w", err)
	case isCode(err, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
		return fmt.Errorf("%w: the disk is full or fails: %w", ErrUnavailable, err)
	case isCode(err, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
		return fmt.Errorf("%w: the file and its folder must be writable: %w", ErrUnavailable, err)
	case isCode(err, sqlite3.SQLITE_BUSY):
		return fmt.Errorf("%w: another process has kept it locked for %s: %w", ErrUnavailable, busyTimeout, err)
	}
	return err
}
