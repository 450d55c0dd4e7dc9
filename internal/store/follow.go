package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
)

const (
	lookAnyway = 2 * time.Second // polling interval without notifications, which can get lost
	outage     = time.Minute     // how long Follow waits for a database that is unavailable
	pageSize   = 500             // maximum number of entries in one update
)

// The questions that the store answers, and its news, are types of record: users of the system share them.
type (
	Update    = record.Update
	Filter    = record.Filter
	Place     = record.Place
	ActFilter = record.ActFilter
)

// Follow calls fn with the current state of an investigation, including its entries after the given sequence number, and again
// after each change. It ends when ctx ends (ctx.Err()) or when fn returns an error, which Follow returns unchanged. Changes during
// fn are combined into one update; fn is called by one goroutine. If the database is briefly unavailable, Follow waits for it and
// continues without a gap.
func (s journal) Follow(ctx context.Context, investigation string, after int64, fn func(Update) error) error {
	wake, stop := s.hub.subscribe(investigation)
	defer stop()
	f := follower{store: s, investigation: investigation, seen: cursor{seq: after, live: -1, records: -1}}
	tick := time.NewTicker(lookAnyway)
	defer tick.Stop()
	var away time.Time
	for {
		update, more, err := f.look(ctx)
		if err != nil {
			if !errors.Is(err, ErrUnavailable) || time.Since(f.looked) >= outage { // otherwise it may come back
				// The end of ctx is a better explanation than the error that it caused.
				return cmp.Or(ctx.Err(), fmt.Errorf("follow %s: %w", investigation, err))
			}
			s.logger.DebugContext(ctx, "waiting for the store's database", "error", err)
		}
		switch {
		case err != nil && away.IsZero():
			away = time.Now()
			update = &Update{Away: away, More: true}
		case err == nil && !away.IsZero():
			away = time.Time{}
			update = cmp.Or(update, &Update{})
		}
		if update != nil {
			if err := fn(*update); err != nil {
				return err
			}
		}
		if more {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-wake:
		case <-tick.C:
		}
	}
}

// follower remembers how much it has delivered.
type follower struct {
	store         journal
	investigation string
	seen          cursor
	looked        time.Time // time of the last successful read
}

// look reads the changes in one snapshot, nil if there are none, and reports whether there are more than fit into an update.
func (f *follower) look(ctx context.Context) (update *Update, more bool, err error) {
	next := *f // the state once everything has been read
	err = f.store.read(ctx, func(q querier) error {
		update, more, err = next.changes(ctx, q)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	next.looked = time.Now()
	*f = next
	return update, more, nil
}

func (f *follower) changes(ctx context.Context, q querier) (update *Update, more bool, err error) {
	now, err := standsAt(ctx, q, f.investigation)
	f.seen.seq = min(max(f.seen.seq, 0), now.seq) // whatever number Follow was given
	if err != nil || now == f.seen {
		return nil, false, err
	}
	update = &Update{}
	for _, read := range []func(context.Context, querier, cursor, *Update) error{f.entries, f.live, f.records} {
		if err := read(ctx, q, now, update); err != nil {
			return nil, false, err
		}
	}
	update.More = f.seen.seq < now.seq
	return update, update.More, nil
}

func (f *follower) entries(ctx context.Context, q querier, now cursor, update *Update) error {
	if now.struck != f.seen.struck {
		const query = `SELECT ` + entryColumns + ` FROM entries WHERE investigation = $1 AND seq <= $2 AND superseded > $3 ORDER BY seq`
		struck, err := selectAll(ctx, q, entryFields, query, f.investigation, f.seen.seq, f.seen.struck)
		if err != nil {
			return err
		}
		update.Entries, f.seen.struck = struck, now.struck
	}
	if now.seq <= f.seen.seq {
		return nil
	}
	fresh, err := partOf(ctx, q, Part{Investigation: f.investigation, After: f.seen.seq, Limit: pageSize})
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
	const query = `SELECT ` + liveColumns + ` FROM live WHERE investigation = $1 ORDER BY execution`
	update.Live, err = selectAll(ctx, q, liveFields, query, f.investigation)
	if update.Live == nil {
		update.Live = []transcript.Live{}
	}
	f.seen.live = now.live
	return err
}

// records reads the records when one of them has changed, and after a model call, because they include its usage.
func (f *follower) records(ctx context.Context, q querier, now cursor, update *Update) error {
	used := func(e transcript.Entry) bool { return e.Usage != nil }
	if now.records == f.seen.records && (f.seen.seq < now.seq || !slices.ContainsFunc(update.Entries, used)) {
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
	if update.Executions, err = executionsOf(ctx, q, f.investigation); err != nil {
		return err
	}
	update.Waits = &record.Waits{}
	waiting, err := waitingOf(ctx, q, f.investigation)
	for _, w := range waiting {
		if w.Investigation == f.investigation {
			update.Waits = &w.Waits
		}
	}
	return err
}

// cursor is the progress of an investigation: one row, raised in the transaction of each change.
type cursor struct {
	seq     int64 // number of the last entry
	struck  int64 // number of the last change that superseded entries
	live    int64 // version of the live tails
	records int64 // version of the records
}

// fields returns pointers to the cursor's columns, in the order of the table.
func (c *cursor) fields() []any { return []any{&c.seq, &c.struck, &c.live, &c.records} }

const raiseCursor = `INSERT INTO cursors (investigation, seq, struck, live, records) VALUES ($1, $2, $3, $4, $5)
	ON CONFLICT (investigation) DO UPDATE SET
		seq = cursors.seq + excluded.seq, struck = cursors.struck + excluded.struck,
		live = cursors.live + excluded.live, records = cursors.records + excluded.records`

// raise adds a difference to an investigation's cursor.
func raise(ctx context.Context, q querier, investigation string, by cursor) error {
	_, err := q.ExecContext(ctx, raiseCursor, append([]any{investigation}, by.fields()...)...)
	return err
}

// advance is raise, and returns the new cursor.
func advance(ctx context.Context, q querier, investigation string, by cursor) (now cursor, err error) {
	err = advancing(ctx, q, investigation, by).Scan(now.fields()...)
	return now, err
}

// advancing is advance for a caller that adds columns before it scans the fields.
func advancing(ctx context.Context, q querier, investigation string, by cursor) *sql.Row {
	const query = raiseCursor + ` RETURNING seq, struck, live, records`
	return q.QueryRowContext(ctx, query, append([]any{investigation}, by.fields()...)...)
}

// standsAt reads an investigation's cursor; zero if nothing has happened yet.
func standsAt(ctx context.Context, q querier, investigation string) (now cursor, err error) {
	const query = `SELECT seq, struck, live, records FROM cursors WHERE investigation = $1`
	err = q.QueryRowContext(ctx, query, investigation).Scan(now.fields()...)
	if errors.Is(err, sql.ErrNoRows) {
		return cursor{}, nil
	}
	return now, err
}

// hub wakes the followers of an investigation after it has changed.
type hub struct {
	mu        sync.Mutex
	followers map[string]map[chan struct{}]struct{}
}

func newHub() *hub { return &hub{followers: map[string]map[chan struct{}]struct{}{}} }

// subscribe returns a channel that receives a value after each wake, with several wakes combined into one, and a function that ends
// the subscription.
func (h *hub) subscribe(investigation string) (<-chan struct{}, func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	wake := make(chan struct{}, 1)
	if h.followers[investigation] == nil {
		h.followers[investigation] = map[chan struct{}]struct{}{}
	}
	h.followers[investigation][wake] = struct{}{}
	return wake, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.followers[investigation], wake)
		if len(h.followers[investigation]) == 0 {
			delete(h.followers, investigation)
		}
	}
}

// anyNews is the name under which the hub announces changes of any investigation.
const anyNews = "any"

func (h *hub) wake(investigation string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wakeLocked(investigation)
	if investigation != anyNews {
		h.wakeLocked(anyNews)
	}
}

// wakeAll wakes all followers. It is used when the change is unknown.
func (h *hub) wakeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for investigation := range h.followers {
		h.wakeLocked(investigation)
	}
}

func (h *hub) wakeLocked(investigation string) {
	for wake := range h.followers[investigation] {
		select {
		case wake <- struct{}{}:
		default: // a wake is already pending
		}
	}
}
