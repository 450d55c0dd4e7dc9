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

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

const (
	busyTimeout = 10 * time.Second // how long a writer waits for those of other processes
	readers     = 4                // connections for reading, besides the one that watches
)

// sqliteDB is a SQLite file: one connection that writes, a few that read, and
// one that notices what other processes do.
type sqliteDB struct {
	writer *sql.DB
	reader *sql.DB
	watch  *sql.Conn // of reader
}

func openSQLite(ctx context.Context, opts Options) (*sqliteDB, error) {
	path, err := filepath.Abs(opts.Path)
	if err != nil {
		return nil, err
	}
	if err := makeFile(path); err != nil {
		return nil, err
	}
	db := &sqliteDB{
		writer: pool(path, 1, "_txlock=immediate"),
		reader: pool(path, readers+1, "_pragma=query_only(1)"),
	}
	if err := db.prepare(ctx, opts); err != nil {
		return nil, errors.Join(explain(err), db.close())
	}
	return db, nil
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
func (db *sqliteDB) prepare(ctx context.Context, opts Options) error {
	if err := db.useWAL(ctx); err != nil {
		return err
	}
	if err := setUp(ctx, db.writer, opts); err != nil {
		return err
	}
	var err error
	db.watch, err = db.reader.Conn(ctx)
	return err
}

// useWAL lets readers and the writer work side by side. The mode stays with the
// file. Processes that change it at once may be told "busy" without the waiting
// that busy_timeout asks for (SQLite sees a deadlock coming), so they try again.
func (db *sqliteDB) useWAL(ctx context.Context) error {
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

// version changes whenever another connection, of this process or another one,
// has committed. It is read without a deadline, in microseconds: an interrupted
// connection would be replaced, and versions of two connections do not compare.
func (db *sqliteDB) version(ctx context.Context) (int64, error) {
	var v int64
	err := db.watch.QueryRowContext(context.WithoutCancel(ctx), "PRAGMA data_version").Scan(&v)
	return v, err
}

func (db *sqliteDB) close() error {
	var err error
	if db.watch != nil {
		err = db.watch.Close()
	}
	return errors.Join(err, db.reader.Close(), db.writer.Close())
}

// isDuplicate reports whether a unique index refused a row.
func isDuplicate(err error) bool {
	return isCode(err, sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
}

// isCode reports whether err is one of SQLite's codes, or a finer one of the same kind.
func isCode(err error, codes ...int) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (slices.Contains(codes, e.Code()) || slices.Contains(codes, e.Code()&0xff))
}

// explain says in words what SQLite has a code for.
func explain(err error) error {
	switch {
	case isCode(err, sqlite3.SQLITE_NOTADB):
		return fmt.Errorf("the file is not a SQLite database: %w", err)
	case isCode(err, sqlite3.SQLITE_CORRUPT):
		return fmt.Errorf("the file is damaged: %w", err)
	case isCode(err, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
		return fmt.Errorf("the file and its folder must be writable: %w", err)
	case isCode(err, sqlite3.SQLITE_BUSY):
		return fmt.Errorf("another process has kept it locked for %s: %w", busyTimeout, err)
	}
	return err
}
