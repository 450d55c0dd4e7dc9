package store_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/kit/ratelimit"
	"github.com/inquest-dev/inquest/internal/store"
)

func TestSQLiteReservations(t *testing.T) {
	t.Parallel()
	testReservations(t, filepath.Join(t.TempDir(), "inquest.db"))
}

// testReservations tests how places end from inside the package, because the suite cannot change the clock.
func testReservations(t *testing.T, target string) {
	s := open(t, target)
	reserve := func(tool string, n int) time.Duration {
		t.Helper()
		wait, err := s.Reserve(t.Context(), reservation(tool, n, 2))
		if err != nil {
			t.Fatal(err)
		}
		return wait
	}
	expect := func(what string, want int64, later time.Duration) {
		t.Helper()
		if rows, err := s.ReservationsEnd(t.Context(), later); err != nil || rows != want {
			t.Errorf("%s: %d rows, want %d, error %v", what, rows, want, err)
		}
	}
	for n := range 20 {
		reserve("loki.query", n)
	}
	reserve("loki.labels", 1)
	expect("after many that were refused", 3, -time.Minute)
	if wait := reserve("loki.query", 0); wait != 0 {
		t.Errorf("a call that is made again after its window waits %s", wait)
	}
	expect("after all others' ends", 1, time.Hour)

	reserve("loki.query", 1)
	expect("one place lasts for too long", 2, time.Hour)
	if wait := reserve("loki.query", 2); wait != time.Minute {
		t.Errorf("the clock was put back by hours: waits %s", wait)
	}
	expect("refused", 2, -time.Minute)
	if wait := reserve("loki.query", 2); wait != 0 {
		t.Errorf("the clock was put back a minute ago: waits %s", wait)
	}
	expect("after the ends that were cut short", 1, 0)
}

func reservation(tool string, n, limit int) ratelimit.Reservation {
	return ratelimit.Reservation{Agent: "sre", Tool: tool, Key: fmt.Sprintf("inv/run/triage/sre/%d/0", n), Limit: limit, Window: time.Minute}
}

// BenchmarkReserve measures a rate-limited call: one that passes, and one that is refused.
func BenchmarkReserve(b *testing.B) {
	onEach(b, func(b *testing.B, s *store.Store) {
		for name, limit := range map[string]int{"passes": 1 << 30, "refused": 60} {
			b.Run(name, func(b *testing.B) {
				for n := 0; b.Loop(); n++ {
					if _, err := s.Reserve(b.Context(), reservation(name, n, limit)); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	})
}
