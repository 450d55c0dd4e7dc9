package store_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/inquest-dev/inquest/internal/store"
)

// change runs a statement on the file of a closed store.
func change(statement string) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		open(t, path).Close()
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		prepare func(t *testing.T, path string)
		kind    error
		says    string
	}{
		"not a database": {
			prepare: func(t *testing.T, path string) {
				if err := os.WriteFile(path, []byte(strings.Repeat("Dear diary. ", 100)), 0o600); err != nil {
					t.Fatal(err)
				}
			},
			says: "the file is not a SQLite database",
		},
		"a folder": {
			prepare: func(t *testing.T, path string) {
				if err := os.Mkdir(path, 0o700); err != nil {
					t.Fatal(err)
				}
			},
			says: "the file and its directory must be writable",
		},
		"a folder that may not be written": {
			prepare: func(t *testing.T, path string) {
				if os.Getuid() == 0 {
					t.Skip("root may write everywhere")
				}
				if err := os.Chmod(filepath.Dir(path), 0o500); err != nil {
					t.Fatal(err)
				}
			},
			kind: fs.ErrPermission,
			says: "permission denied",
		},
		"newer schema": {
			prepare: change(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)`),
			kind:    store.ErrNewerSchema,
			says:    "it requires schema 99, but this program supports only",
		},
		"another host": {
			prepare: change(`UPDATE meta SET value = 'elsewhere/1234' WHERE key = 'host'`),
			kind:    store.ErrOtherHost,
			says:    `it belongs to host "elsewhere"`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "inquest.db")
			test.prepare(t, path)
			s, err := store.Open(t.Context(), store.Options{Path: path})
			if err == nil {
				s.Close()
				t.Fatal("opened")
			}
			if test.kind != nil && !errors.Is(err, test.kind) {
				t.Errorf("error is not %v: %v", test.kind, err)
			}
			if text := err.Error(); !strings.Contains(text, test.says) || !strings.Contains(text, path) {
				t.Errorf("error does not say %q, %s: %v", test.says, path, err)
			}
		})
	}
}

func TestOpenBelowAFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(t.Context(), store.Options{Path: filepath.Join(file, "inquest.db")}); err == nil {
		t.Error("opened")
	}
}

func TestAdopt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inquest.db")
	change(`UPDATE meta SET value = 'elsewhere/' WHERE key = 'host'`)(t, path)

	s, err := store.Open(t.Context(), store.Options{Path: path, Adopt: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	open(t, path) // it stays ours
}

// File names with special characters of URIs work.
func TestOpenOddNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a b.db", "what?.db", "50%41.db", "#1&mode=memory.db", "ü:memory:.db"} {
		path := filepath.Join(t.TempDir(), "made by "+name, name)
		open(t, path)
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() == 0 || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %d bytes, mode %v", name, info.Size(), info.Mode())
		}
	}
}

func TestOpenAtOnce(t *testing.T) {
	t.Parallel()
	for range 5 {
		path := filepath.Join(t.TempDir(), "inquest.db")
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				s, err := store.Open(t.Context(), store.Options{Path: path})
				if err != nil {
					t.Error(err)
					return
				}
				defer s.Close()
				if _, err := s.Append(t.Context(), stepAt(1, 1)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		entries, err := open(t, path).Entries(t.Context(), scope)
		if err != nil || len(entries) != 1 {
			t.Errorf("%d entries, error %v", len(entries), err)
		}
	}
}

// TestOpenDuringMigration opens a file that another process keeps locked for longer than a writer waits.
func TestOpenDuringMigration(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inquest.db")
	open(t, path)
	other, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	lock, err := other.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Rollback()
	log, logged := io.Pipe()
	go func() {
		line, _ := bufio.NewReader(log).ReadString('\n')
		if !strings.Contains(line, path) {
			t.Errorf("the line does not name the file: %q", line)
		}
		lock.Rollback()
		io.Copy(io.Discard, log)
	}()
	defer logged.Close()
	s, err := store.Open(t.Context(), store.Options{Path: path, Logger: slog.New(slog.NewTextHandler(logged, nil))})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}

func TestOpenCancelled(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inquest.db")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := store.Open(ctx, store.Options{Path: path}); !errors.Is(err, context.Canceled) {
		t.Errorf("open with a context that has ended: %v", err)
	}
	open(t, path)
}
