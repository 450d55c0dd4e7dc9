package store_test

import (
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/store/postgrestest"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Two workers whose clocks differ by two minutes agree on the time of a PostgreSQL database and on the age of an entry. The test
// does not wait for the clock, and its tolerance of 30 seconds is small compared with the hours and minutes of the differences.
func testPostgresClock(t *testing.T, server *postgrestest.Server) {
	dsn := server.Database(t, "clock")
	skewed := func(ahead time.Duration) *store.Store {
		s := open(t, dsn)
		s.SkewLocal(ahead)
		return s
	}
	const exact = 30 * time.Second
	stores := map[string]*store.Store{"ahead": skewed(time.Minute), "behind": skewed(-time.Minute), "far ahead": skewed(24 * time.Hour)}
	for name, s := range stores {
		for range 2 { // the first call must ask, the second need not
			if off := time.Until(s.Now(t.Context())); off.Abs() > exact {
				t.Errorf("%s: the store's clock is off by %s", name, off)
			}
		}
		entries, err := s.Append(t.Context(), transcript.Step{
			Scope: transcript.Scope{Investigation: name, Execution: "s/A"}, Writer: transcript.Writer{RunID: "r"},
			Rows: []transcript.Row{{Key: transcript.Key{Iteration: 1}, Kind: transcript.KindReply}},
		})
		if err != nil {
			t.Fatal(err)
		}
		for reader, s := range stores {
			if age := s.Now(t.Context()).Sub(entries[0].At); age.Abs() > exact {
				t.Errorf("an entry that %s has just written is %s old for %s", name, age, reader)
			}
		}
	}
	for _, ahead := range []time.Duration{time.Hour, -time.Hour} { // the machine's clock is set
		s := stores["ahead"]
		s.SkewLocal(ahead)
		if off := time.Until(s.Now(t.Context())); off.Abs() > exact {
			t.Errorf("after the machine's clock was set %s ahead: off by %s", ahead, off)
		}
	}
}

// A file's clock is its host's.
func TestClockOfAFile(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), store.At(t.TempDir()+"/a.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 2 {
		before := time.Now()
		now := s.Now(t.Context())
		if after := time.Now(); now.Before(before.Add(-time.Millisecond)) || now.After(after.Add(time.Millisecond)) {
			t.Errorf("%s is not between %s and %s", now, before, after)
		}
	}
}
