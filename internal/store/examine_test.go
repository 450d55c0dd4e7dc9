package store_test

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/store/postgrestest"
)

// Examine reports what Open would find, and changes nothing.
func TestExamine(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		prepare func(t *testing.T, path string)
		kind    error
		behind  int // 1: the store is older than the program
	}{
		"none":             {func(*testing.T, string) {}, fs.ErrNotExist, 0},
		"up to date":       {func(t *testing.T, path string) { open(t, path).Close() }, nil, 0},
		"of an older one":  {change(`DELETE FROM goose_expansions WHERE version_id > 0`), nil, 1},
		"of a newer one":   {change(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)`), nil, -1},
		"of another host":  {change(`UPDATE meta SET value = 'elsewhere/1' WHERE key = 'host'`), store.ErrOtherHost, 0},
		"an unclear owner": {change(`DELETE FROM meta WHERE key = 'id'`), errAny, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "inquest.db")
			tc.prepare(t, path)
			before, _ := os.ReadFile(path)
			h, err := store.Examine(t.Context(), store.At(path))
			if (err != nil) != (tc.kind != nil) || tc.kind != errAny && !errors.Is(err, tc.kind) {
				t.Fatalf("error %v, want %v", err, tc.kind)
			}
			if err == nil && (cmp.Compare(h.Known, h.Schema) != tc.behind || h.ID == "") {
				t.Errorf("got %+v, want %d", h, tc.behind)
			}
			if after, _ := os.ReadFile(path); string(after) != string(before) {
				t.Error("the file is another one now")
			}
		})
	}
}

var errAny = errors.New("any error")

// A database is examined in the same way, and has a clock.
func testPostgresExamine(t *testing.T, server *postgrestest.Server) {
	target := server.Database(t, "examined")
	if _, err := store.Examine(t.Context(), store.At(target)); err == nil {
		t.Error("a database without tables is a store")
	}
	id := open(t, target).ID()
	h, err := store.Examine(t.Context(), store.At(target))
	if err != nil || h.ID != id || h.Schema != h.Known || h.Ahead.Abs() > time.Minute {
		t.Errorf("got %+v, %v, want store %s", h, err, id)
	}
}
