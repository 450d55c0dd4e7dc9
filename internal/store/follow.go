package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
)

const (
	lookEvery = 100 * time.Millisecond // how soon the changes of other processes are noticed
	pageSize  = 500                    // entries in one update
)

// Update is what has changed since the update before it; the first one is what is
// there. What has not changed is nil.
type Update struct {
	// Entries are the new ones, by Seq. An entry that was superseded after it had
	// been delivered (or after the cursor that Follow was given) comes once more,
	// with Superseded set: the cursor to go on from is the highest Seq so far.
	Entries []transcript.Entry
	// Live is everything that is live now; empty and not nil when nothing is any more.
	Live []transcript.Live
	// Record, Stages and Executions are the whole records as they are now.
	Record     *record.Investigation
	Stages     []record.Stage
	Executions []record.Execution
}

// Follow calls fn with what is there of an investigation, its entries after the
// given sequence number, and again after each change, until ctx ends (ctx.Err())
// or fn returns an error, which is returned as it is. Changes that come while fn
// runs are in one update; fn is called by one goroutine.
func (s *Store) Follow(ctx context.Context, investigation string, after int64, fn func(Update) error) error {
	wake, stop := s.hub.subscribe(investigation)
	defer stop()
	f := follower{store: s, investigation: investigation, seen: cursor{seq: after, live: -1, records: -1}}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		version, err := s.db.version(ctx) // before the look: what comes after it is seen by the next one
		if err != nil {
			return f.fail(ctx, err)
		}
		update, more, err := f.look(ctx)
		if err != nil {
			return f.fail(ctx, err)
		}
		if update != nil {
			if err := fn(*update); err != nil {
				return err
			}
		}
		if more {
			continue
		}
		if err := s.await(ctx, wake, tick.C, version); err != nil {
			return f.fail(ctx, err)
		}
	}
}

// await returns when there may be something new.
func (s *Store) await(ctx context.Context, wake <-chan struct{}, tick <-chan time.Time, version int64) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-wake:
			return nil
		case <-tick:
			now, err := s.db.version(ctx)
			if err != nil || now != version {
				return err
			}
		}
	}
}

// follower remembers what it has delivered.
type follower struct {
	store         *Store
	investigation string
	seen          cursor
}

// look reads what is new, nil if nothing is, in one snapshot, and says whether
// there is more than fits into an update.
func (f *follower) look(ctx context.Context) (update *Update, more bool, err error) {
	err = f.store.read(ctx, func(q querier) error {
		now, err := standsAt(ctx, q, f.investigation)
		f.seen.seq = min(max(f.seen.seq, 0), now.seq) // whatever number Follow was given
		if err != nil || now == f.seen {
			return err
		}
		update = &Update{}
		if err := errors.Join(f.entries(ctx, q, now, update), f.live(ctx, q, now, update), f.records(ctx, q, now, update)); err != nil {
			return err
		}
		more = f.seen.seq < now.seq
		return nil
	})
	return update, more, err
}

func (f *follower) entries(ctx context.Context, q querier, now cursor, update *Update) error {
	if now.struck != f.seen.struck {
		struck, err := entriesStruck(ctx, q, f.investigation, f.seen.seq, f.seen.struck)
		if err != nil {
			return err
		}
		update.Entries, f.seen.struck = struck, now.struck
	}
	if now.seq <= f.seen.seq {
		return nil
	}
	fresh, err := entriesAfter(ctx, q, f.investigation, f.seen.seq, pageSize)
	if err != nil || len(fresh) == 0 {
		return err
	}
	update.Entries = append(update.Entries, fresh...)
	f.seen.seq = fresh[len(fresh)-1].Seq
	return nil
}

func (f *follower) live(ctx context.Context, q querier, now cursor, update *Update) (err error) {
	if now.live == f.seen.live {
		return nil
	}
	update.Live, err = liveOf(ctx, q, f.investigation)
	if update.Live == nil {
		update.Live = []transcript.Live{}
	}
	f.seen.live = now.live
	return err
}

func (f *follower) records(ctx context.Context, q querier, now cursor, update *Update) error {
	if now.records == f.seen.records {
		return nil
	}
	f.seen.records = now.records
	found, err := investigationOf(ctx, q, f.investigation)
	if err == nil {
		update.Record = &found
	} else if !errors.Is(err, ErrNotFound) {
		return err
	}
	if update.Stages, err = stagesOf(ctx, q, f.investigation); err != nil {
		return err
	}
	update.Executions, err = executionsOf(ctx, q, f.investigation)
	return err
}

// fail prefers to say that ctx has ended over what broke because of it.
func (f *follower) fail(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("follow %s: %w", f.investigation, err)
}
