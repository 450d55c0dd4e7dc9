package store_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/store/postgrestest"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// The server is killed twice while several processes write, and once while one only watches. In the end, every step is stored once,
// and the watcher has seen it in order.
func TestPostgresRestart(t *testing.T) {
	t.Parallel()
	const writers, steps, kills = 4, 60, 2
	server := postgrestest.Start(t)
	dsn := server.Database(t, "restart")
	s := open(t, dsn)
	watcher, waits := openLoud(t, dsn)
	updates := updatesOf(t, watcher)
	followed := make(chan []transcript.Entry, 1)
	go func() { followed <- collect(updates, writers*steps*rowsOfStep) }()

	done := make(chan struct{}, writers*steps)
	var all sync.WaitGroup
	for n := range writers {
		all.Go(func() { insist(t, s, fmt.Sprintf("stage/writer-%d", n), steps, done) })
	}
	for range kills {
		for range writers * steps / (kills + 1) {
			<-done
		}
		server.Kill(t)
		_, err := s.Append(t.Context(), stepAt(0, 1))
		if !errors.Is(err, store.ErrUnavailable) || strings.Contains(err.Error(), server.Password) {
			t.Errorf("append without a server: %v", err)
		}
		server.Restart(t)
	}
	all.Wait()
	log := checkWritten(t, s, writers*steps*rowsOfStep)
	if diff := cmp.Diff(log, <-followed); diff != "" {
		t.Errorf("what was followed (-log +followed):\n%s", diff)
	}

	select {
	case <-waits: // of an earlier kill
	default:
	}
	server.Kill(t)
	select {
	case <-waits: // the watcher has noticed
	case <-time.After(patience):
		t.Error("the watcher does not wait for the database")
	}
	received := func(away bool) {
		for u := range updates {
			if u.Away.IsZero() != away {
				return
			}
		}
	}
	received(true)
	server.Restart(t)
	received(false)
	insist(t, s, "stage/late", 1, done)
	if late := collect(updates, rowsOfStep); len(late) == 0 || late[0].Seq != int64(len(log))+1 {
		t.Errorf("the watcher goes on with %v", late)
	}
	checkPaged(t, server, s, len(log)+rowsOfStep)
}

// checkPaged checks that a follower of existing entries still gets all of them if the server goes down meanwhile.
func checkPaged(t *testing.T, server *postgrestest.Server, s *store.Store, rows int) {
	t.Helper()
	all, received, killed := errors.New("all"), 0, false
	err := s.Follow(t.Context(), scope.Investigation, 0, func(u store.Update) error {
		received += len(u.Entries)
		switch {
		case !u.More:
			return all
		case !u.Away.IsZero():
			server.Restart(t)
		case !killed:
			server.Kill(t)
			killed = true
		}
		return nil
	})
	if !errors.Is(err, all) || received != rows {
		t.Errorf("%d entries of %d, error %v", received, rows, err)
	}
}

// checkWritten checks that the log has the given number of rows, in complete steps, once and in order for each execution, and
// returns it.
func checkWritten(t *testing.T, s *store.Store, rows int) []transcript.Entry {
	t.Helper()
	log, err := s.After(t.Context(), scope.Investigation, 0, 0)
	if err != nil || len(log) != rows {
		t.Fatalf("log has %d rows, want %d, error %v", len(log), rows, err)
	}
	last := map[string]int{} // iteration by execution
	for i, e := range log {
		if e.Seq != int64(i)+1 || e.Position != i%rowsOfStep || (e.Position == 0 && e.Iteration != last[e.Execution]+1) {
			t.Fatalf("row %d is %d, %s %v", i, e.Seq, e.Execution, e.Key)
		}
		last[e.Execution] = e.Iteration
	}
	return log
}

// insist appends steps with retries, like Temporal.
func insist(t *testing.T, s *store.Store, execution string, steps int, done chan<- struct{}) {
	for i := range steps {
		step := stepAt(i+1, rowsOfStep)
		step.Execution = execution
		for err := store.ErrUnavailable; errors.Is(err, store.ErrUnavailable); {
			if _, err = s.Append(t.Context(), step); err != nil && !errors.Is(err, store.ErrUnavailable) {
				t.Error(err)
			}
		}
		done <- struct{}{}
	}
}

// collect returns the first n entries that arrive, or fewer if the channel closes.
func collect(updates <-chan store.Update, n int) (all []transcript.Entry) {
	for u := range updates {
		if all = append(all, u.Entries...); len(all) >= n {
			break
		}
	}
	return all
}

// openLoud opens a store, and signals when a follower waits for the database.
func openLoud(t *testing.T, dsn string) (s *store.Store, waits <-chan struct{}) {
	t.Helper()
	ear := listener{Handler: slog.DiscardHandler, woken: make(chan struct{}, 1)}
	s, err := store.Open(t.Context(), store.Options{DSN: dsn, Logger: slog.New(ear)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, ear.woken
}

// listener is a log handler that waits for one message.
type listener struct {
	slog.Handler
	woken chan struct{}
}

func (l listener) Enabled(context.Context, slog.Level) bool { return true }

func (l listener) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "waiting for the store's database" {
		select {
		case l.woken <- struct{}{}:
		default:
		}
	}
	return nil
}
