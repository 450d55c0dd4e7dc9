package lease_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/inquest-dev/inquest/internal/kit/lease"
)

// table holds the lease.
type table struct {
	mu    sync.Mutex
	owner string
	until time.Time
}

func (l *table) take(_ context.Context, _, owner string, d time.Duration) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.owner != owner && time.Now().Before(l.until) {
		return false, nil
	}
	l.owner, l.until = owner, time.Now().Add(d)
	return true, nil
}

// TestOneAtATime runs three processes. The database stops answering the one that works: it stops before another one begins.
func TestOneAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared := &table{}
		var mu sync.Mutex
		working, most, turns := 0, 0, 0
		lost := map[int]bool{} // processes that the database does not answer
		ctx, stop := context.WithCancel(t.Context())
		var group sync.WaitGroup
		for n := range 3 {
			group.Go(func() {
				take := func(ctx context.Context, name, owner string, d time.Duration) (bool, error) {
					mu.Lock()
					away := lost[n]
					mu.Unlock()
					if away {
						return false, errors.New("away")
					}
					return shared.take(ctx, name, owner, d)
				}
				lease.Run(ctx, "job", take, slog.New(slog.DiscardHandler), func(ctx context.Context) {
					mu.Lock()
					working, turns = working+1, turns+1
					most = max(most, working)
					mu.Unlock()
					if !lease.Sleep(ctx, time.Minute) {
						<-time.After(2 * time.Second) // it finishes what it does
					} else {
						mu.Lock()
						lost[n] = true // after a minute of work
						mu.Unlock()
						<-ctx.Done()
					}
					mu.Lock()
					working--
					mu.Unlock()
				})
			})
		}
		<-time.After(5 * time.Minute)
		stop()
		group.Wait()
		if most != 1 || turns != 3 {
			t.Errorf("%d at once in %d turns", most, turns)
		}
	})
}
