package store

import (
	"context"
	"sync"
	"time"
)

// timekeeper tells the time by the database's clock, which all who use the database share. It asks for that time
// seldom, and in between goes by how much time has passed here: what this machine calls the time does not matter.
type timekeeper struct {
	local func() time.Time // this machine's clock
	mu    sync.Mutex
	asked time.Time // when the database said so, by the local clock; zero: it has not
	said  time.Time
}

// clockEvery is how long an answer is good: the clocks of two machines part by microseconds a second.
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
	byWall := local.Round(0).Sub(k.asked.Round(0)) // the other clock stands still while a machine sleeps
	return k.said.Add(passed), passed < 0 || passed >= clockEvery || (byWall-passed).Abs() >= time.Second
}

func (k *timekeeper) set(asked, answered, said time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked, k.said = asked, said.Add(-answered.Sub(asked)/2)
}

// Now returns the time by the clock that all who use the store share: a file's is that of its host. While a database
// does not answer, Now goes by what it said last, or else by this machine's clock.
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
