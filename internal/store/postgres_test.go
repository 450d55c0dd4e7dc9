package store_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/store/postgrestest"
	"github.com/inquest-dev/inquest/internal/store/storetest"
)

// patience is how long a test waits for expected events.
const patience = 30 * time.Second

func TestPostgres(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	databases := sync.Map{} // address by test
	t.Run("suite", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) storetest.Store {
			dsn, made := databases.Load(t.Name())
			if !made {
				dsn = server.Database(t, t.Name())
				databases.Store(t.Name(), dsn)
			}
			return open(t, dsn.(string))
		})
	})
	for name, test := range map[string]func(*testing.T, *postgrestest.Server){
		"open at once":      testPostgresOpenAtOnce,
		"open refuses":      testPostgresOpenRefuses,
		"secrets":           testPostgresSecrets,
		"schema of its own": testPostgresSchema,
		"snapshot":          func(t *testing.T, s *postgrestest.Server) { testSnapshot(t, s.Database(t, "snapshot")) },
		"reservations":      func(t *testing.T, s *postgrestest.Server) { testReservations(t, s.Database(t, "reservations")) },
		"upgrade": func(t *testing.T, s *postgrestest.Server) {
			testUpgrade(t, "pgx", s.Database(t, "upgrade"), goose.DialectPostgres)
		},
		"search after an upgrade": func(t *testing.T, s *postgrestest.Server) {
			testSearchUpgrade(t, "pgx", s.Database(t, "searchupgrade"), goose.DialectPostgres)
		},
		"news":            testPostgresNews,
		"lost within":     testPostgresLostWithin,
		"pipeline":        testPostgresPipeline,
		"pipeline undone": testPostgresPipelineUndone,
		"examined":        testPostgresExamine,
		"clock":           testPostgresClock,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, server)
		})
	}
}

// execute runs statements in a database.
func execute(t *testing.T, dsn, statements string) {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statements); err != nil {
		t.Fatal(err)
	}
}

func testPostgresOpenAtOnce(t *testing.T, server *postgrestest.Server) {
	dsn := server.Database(t, "open at once")
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			s, err := store.Open(t.Context(), store.Options{DSN: dsn, Logger: logger})
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
	entries, err := open(t, dsn).Entries(t.Context(), scope)
	if err != nil || len(entries) != 1 {
		t.Errorf("%d entries, error %v", len(entries), err)
	}
	if n := strings.Count(log.String(), `msg="store migrated" version=1`+"\n"); n != 1 {
		t.Errorf("migrated %d times:\n%s", n, &log)
	}
}

func testPostgresOpenRefuses(t *testing.T, server *postgrestest.Server) {
	newer := server.Database(t, "newer")
	open(t, newer).Close()
	execute(t, newer, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, TRUE)`)
	latin := server.DSN("latin")
	execute(t, newer, `CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0`)
	bare := server.Database(t, "bare")
	execute(t, bare, `CREATE ROLE guest LOGIN PASSWORD 'never-to-be-seen'`)
	guest := strings.Replace(bare, "inquest:", "guest:", 1)

	tests := map[string]struct {
		opts store.Options
		kind error
		says string
	}{
		"newer schema":      {store.At(newer), store.ErrNewerSchema, "it requires schema 99, but this program supports only"},
		"another encoding":  {store.At(latin), nil, "the encoding of the database is LATIN1; it must be UTF8"},
		"no such database":  {store.At(server.DSN("absent")), nil, `database "absent" does not exist`},
		"wrong password":    {store.At(strings.Replace(bare, server.Password, "wrong", 1)), nil, "password authentication failed"},
		"no rights":         {store.At(guest), nil, "must be allowed to create tables in the schema"},
		"nobody listens":    {store.At("postgres://u:never-to-be-seen@127.0.0.1:1/db"), store.ErrUnavailable, "connection refused"},
		"read-only":         {store.At(bare + "?default_transaction_read_only=on"), store.ErrUnavailable, "set to read-only"},
		"a path as well":    {store.Options{DSN: bare, Path: "x"}, nil, "use only one"},
		"not an address":    {store.At("postgres://u:50%never-to-be-seen@h/db"), nil, "special characters"},
		"libpq's spelling":  {store.Options{DSN: "host=127.0.0.1 user=u password=never-to-be-seen"}, nil, "the address must be postgres://"},
		"unknown parameter": {store.At(bare + "?sslmode=maybe"), nil, "sslmode"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := store.Open(t.Context(), test.opts)
			if err == nil {
				s.Close()
				t.Fatal("opened")
			}
			if !strings.Contains(err.Error(), test.says) || (test.kind != nil && !errors.Is(err, test.kind)) {
				t.Errorf("error is not %v and does not say %q: %v", test.kind, test.says, err)
			}
			if strings.Contains(err.Error(), server.Password) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error shows the password, or has several lines: %v", err)
			}
		})
	}
}

// No error contains a password, wherever it is in the address and whatever is wrong with that.
func testPostgresSecrets(t *testing.T, server *postgrestest.Server) {
	const secret = "s3cr3t"
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for _, dsn := range []string{
		"postgres://u:" + secret + "@127.0.0.1:1/db",
		"postgres://u:" + secret + "@127.0.0.1:port/db",
		"postgres://u:" + secret + "@127.0.0.1:1/db?sslmode=maybe",
		"postgres://u@127.0.0.1:1/db?password=" + secret,
		"postgres://u@127.0.0.1:1/db?sslmode=maybe&password=" + secret,
		"postgres://u@127.0.0.1:1/db?sslmode=disable&connect_timeout=" + secret + "%zz",
		"postgres://u:" + secret + "/@127.0.0.1:1/db",
		"postgres://u:1/" + secret + "@127.0.0.1/db",
		"postgres://u:1?" + secret + "@127.0.0.1/db",
		"postgres://u:1#" + secret + "@127.0.0.1/db",
		"postgres://u:%" + secret + "@127.0.0.1/db",
		"postgres://u:@" + secret + "@127.0.0.1:1/db",
		"postgresql://u:[" + secret + "@127.0.0.1:1/db",
		"postgres://:" + secret,
		strings.Replace(server.DSN("postgres"), server.Password, secret, 1),
	} {
		opts := store.At(dsn)
		_, err := store.Open(ctx, opts)
		if err == nil {
			t.Errorf("%s: opened", dsn)
		}
		if said := fmt.Sprintf("%v %+v %s", err, opts, opts); strings.Contains(said, secret) {
			t.Errorf("%s: says %s", dsn, said)
		}
	}
}

// Tables are in the schema that the address names, beside those of others.
func testPostgresSchema(t *testing.T, server *postgrestest.Server) {
	dsn := server.Database(t, "shared")
	execute(t, dsn, `CREATE SCHEMA one; CREATE SCHEMA two`)
	one, two := open(t, dsn+"?search_path=one"), open(t, dsn+"?search_path=two")
	if _, err := one.Append(t.Context(), stepAt(1, 1)); err != nil {
		t.Fatal(err)
	}
	if entries, err := two.Entries(t.Context(), scope); err != nil || len(entries) != 0 {
		t.Errorf("the other schema has %d entries, error %v", len(entries), err)
	}
}

// updatesOf follows the investigation until the test ends.
func updatesOf(t *testing.T, s *store.Store) <-chan store.Update {
	t.Helper()
	updates, done := make(chan store.Update), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(updates)
		done <- s.Follow(ctx, scope.Investigation, 0, func(u store.Update) error {
			select {
			case updates <- u:
			case <-ctx.Done():
			}
			return nil
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("follow ended with %v", err)
		}
	})
	return updates
}

func next(t *testing.T, updates <-chan store.Update) store.Update {
	t.Helper()
	select {
	case u := <-updates:
		return u
	case <-time.After(patience):
		t.Fatal("no update")
		return store.Update{}
	}
}

// Followers in other processes learn of a write through NOTIFY. Polling would take two seconds each time.
func testPostgresNews(t *testing.T, server *postgrestest.Server) {
	dsn := server.Database(t, "news")
	writer, updates := open(t, dsn), updatesOf(t, open(t, dsn))
	next(t, updates)
	const steps = 20
	began := time.Now()
	for i := range steps {
		if _, err := writer.Append(t.Context(), stepAt(i, 1)); err != nil {
			t.Fatal(err)
		}
		if u := next(t, updates); len(u.Entries) != 1 || u.Entries[0].Iteration != i {
			t.Fatalf("update %d has entries %v", i, u.Entries)
		}
	}
	if took := time.Since(began); took > steps*3*time.Second/2 {
		t.Errorf("%d updates took %s", steps, took)
	}
}

// A process that hangs within a transaction does not keep its locks.
func testPostgresLostWithin(t *testing.T, server *postgrestest.Server) {
	dsn := server.Database(t, "lost within")
	s := open(t, dsn+"?lock_timeout=50ms")
	if _, err := s.Append(t.Context(), stepAt(1, 1)); err != nil {
		t.Fatal(err)
	}
	lost, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer lost.Close()
	tx, err := lost.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(t.Context(), `SELECT 1 FROM cursors FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), stepAt(2, 1)); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("append to what is locked: %v", err)
	}
	if _, err := tx.ExecContext(t.Context(), `SET idle_in_transaction_session_timeout = '500ms'`); err != nil {
		t.Fatal(err)
	}
	for err = store.ErrUnavailable; errors.Is(err, store.ErrUnavailable); { // each waits for the lock
		_, err = s.Append(t.Context(), stepAt(2, 1))
	}
	if err != nil {
		t.Error(err)
	}
}
