package storetest

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/inquest-dev/inquest/internal/store"
)

// Open opens a new store in its own file, which is removed with the test.
func Open(t testing.TB) *store.Store {
	t.Helper()
	file, err := blank()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "inquest.db")
	if err = os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// blank is the file of a store with tables and without an identity. It is created once per process, because the migrations take
// longer than most tests.
var blank = sync.OnceValues(func() (file []byte, err error) {
	dir, err := os.MkdirTemp("", "inquest-blank-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "inquest.db")
	s, err := store.Open(context.Background(), store.Options{Path: path})
	if err != nil {
		return nil, err
	}
	if err = s.Close(); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", path) // the store's own driver
	if err != nil {
		return nil, err
	}
	_, err = db.Exec(`DELETE FROM meta; PRAGMA wal_checkpoint(TRUNCATE)`)
	if err = errors.Join(err, db.Close()); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})
