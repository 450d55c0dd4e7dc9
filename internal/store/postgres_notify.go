package store

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	channel      = "inquest"              // of NOTIFY; what it carries is the investigation
	notifyEvery  = 100 * time.Millisecond // at most; the first one goes at once
	notifyWithin = time.Second
	listenAgain  = time.Second
)

// news are changed investigations that other processes have not been told of. They are told
// after the commit, several at once: commits that contain a NOTIFY run one after the other
// in the whole database.
type news struct {
	mu      sync.Mutex
	changed map[string]bool
	some    chan struct{} // has a value if there are any
}

func newNews() *news { return &news{changed: map[string]bool{}, some: make(chan struct{}, 1)} }

func (n *news) add(investigation string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.changed[investigation] = true
	select {
	case n.some <- struct{}{}:
	default: // it is known
	}
}

func (n *news) take() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	defer clear(n.changed)
	return slices.Collect(maps.Keys(n.changed))
}

func (db *postgres) announce(investigation string) { db.news.add(investigation) }

// watch tells other processes of changes, and hears of theirs.
func (db *postgres) watch(ctx context.Context, h *hub) {
	var both sync.WaitGroup
	both.Go(func() { db.tell(ctx) })
	both.Go(func() { db.hear(ctx, h) })
	both.Wait()
}

func (db *postgres) tell(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-db.news.some:
			db.notify(ctx, db.news.take())
		}
		select {
		case <-ctx.Done(): // and then for the last time
			db.notify(ctx, db.news.take())
		case <-time.After(notifyEvery):
		}
	}
}

// notify is not tried again: who follows looks now and then by himself.
func (db *postgres) notify(ctx context.Context, investigations []string) {
	if len(investigations) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), notifyWithin)
	defer cancel()
	// Without waiting for the disk: what is announced is there, and news that are lost are no loss.
	const query = `SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, investigation) FROM unnest($2::text[]) AS investigation`
	if _, err := db.pool.ExecContext(ctx, query, channel, investigations); err != nil {
		db.logger.DebugContext(ctx, "changes of the store were not announced", "error", err)
	}
}

func (db *postgres) hear(ctx context.Context, h *hub) {
	var away time.Time // since when; zero: it is not
	for {
		err := db.listen(ctx, h, func() {
			if !away.IsZero() {
				db.logger.WarnContext(ctx, "the store's database sends notifications again", "after", time.Since(away).Round(time.Second))
				away = time.Time{}
			}
		})
		if ctx.Err() != nil {
			return
		}
		if away.IsZero() {
			away = time.Now()
			db.logger.WarnContext(ctx, "the store's database sends no notifications; connecting again until it does", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(listenAgain):
		}
	}
}

// listen wakes followers by what it hears, until the connection breaks or ctx ends. It calls connected once it listens.
func (db *postgres) listen(ctx context.Context, h *hub, connected func()) error {
	conn, err := pgx.ConnectConfig(ctx, db.config)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), notifyWithin)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return err
	}
	connected()
	h.wakeAll() // nobody heard what happened until now
	for {
		heard, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		h.wake(heard.Payload)
	}
}
