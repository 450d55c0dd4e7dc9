package store

import (
	"context"
	"sync"
	"time"
)

// timekeeper tells the time by the database's clock, which all users of the database share. It rarely asks for that time and adds
// the time elapsed on this machine, so the setting of this machine's clock does not matter.
type timekeeper struct {
	local func() time.Time // this machine's clock
	mu    sync.Mutex
	asked time.Time // local time of the database's answer; zero if there was none
	said  time.Time
}

// clockEvery is how long an answer stays valid: the clocks of two machines drift apart by microseconds a second.
const clockEvery = 10 * time.Second

// now returns the time, and whether the database should be asked again.
func (k *timekeeper) now() (now time.Time, due bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	local := k.local()
	if k.asked.IsZero() {
		return local.UTC(), true
	}
	passed := local.Sub(k.asked)
	byWall := local.Round(0).Sub(k.asked.Round(0)) // the monotonic clock stops while a machine sleeps
	return k.said.Add(passed), passed < 0 || passed >= clockEvery || (byWall-passed).Abs() >= time.Second
}

func (k *timekeeper) set(asked, answered, said time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked, k.said = asked, said.Add(-answered.Sub(asked)/2)
}

// Now returns the time by the clock that all users of the store share; for a file, the clock of its host. While the database does
// not answer, Now extrapolates from its last answer or, if there was none, uses this machine's clock.
func (s *Store) Now(ctx context.Context) time.Time {
	now, due := s.time.now()
	if !due {
		return now
	}
	asked := s.time.local()
	said, err := s.db.clock(ctx, s.db.reader)
	if err != nil {
		return now
	}
	s.time.set(asked, s.time.local(), said)
	now, _ = s.time.now()
	return now
}
