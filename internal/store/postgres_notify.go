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
	channel      = "inquest"              // of NOTIFY; the payload is the investigation
	notifyEvery  = 100 * time.Millisecond // at most; the first notification is sent at once
	notifyWithin = time.Second
	listenAgain  = time.Second
)

// news holds changed investigations that other processes have not been notified of. The notification follows after the commit, for
// several changes at once, because PostgreSQL serializes the commits of transactions that contain a NOTIFY.
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
	default: // one is pending already
	}
}

func (n *news) take() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	defer clear(n.changed)
	return slices.Collect(maps.Keys(n.changed))
}

func (db *postgres) announce(investigation string) { db.news.add(investigation) }

// watch notifies other processes of changes and receives their notifications.
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
		case <-ctx.Done(): // one last time
			db.notify(ctx, db.news.take())
		case <-time.After(notifyEvery):
		}
	}
}

// notify is not retried, because followers also poll.
func (db *postgres) notify(ctx context.Context, investigations []string) {
	if len(investigations) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), notifyWithin)
	defer cancel()
	// Without waiting for the disk: the changes are committed already, and lost notifications do no harm.
	const query = `SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, investigation) FROM unnest($2::text[]) AS investigation`
	if _, err := db.pool.ExecContext(ctx, query, channel, investigations); err != nil {
		db.logger.DebugContext(ctx, "changes of the store were not announced", "error", err)
	}
}

func (db *postgres) hear(ctx context.Context, h *hub) {
	var away time.Time // when the connection was lost; zero means connected
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

// listen wakes followers for each notification, until the connection breaks or ctx ends. It calls connected once it listens.
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
	h.wakeAll() // changes before this point were missed
	for {
		heard, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		h.wake(heard.Payload)
	}
}
