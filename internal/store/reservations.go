package store

import (
	"context"
	"fmt"
	"time"

	"github.com/inquest-dev/inquest/internal/ratelimit"
)

// Reserve takes a place in the sliding window of an agent and a tool for the length of the window. If the window is full, it
// returns how long to wait before asking again: at least one place will be free by then, though another caller may have taken it. A
// refusal stores nothing. The clock is the database's (for SQLite, its host's), so workers' clocks may differ.
//
// A key that has a place passes and takes no second one. A call repeated after its window counts as a new call.
func (s *Store) Reserve(ctx context.Context, r ratelimit.Reservation) (wait time.Duration, err error) {
	if err := r.Validate(); err != nil {
		return 0, fmt.Errorf("reserve %s: %w", r, err)
	}
	err = s.write(ctx, "", func(q querier) error {
		now, err := s.db.lockWindow(ctx, q, r.Agent, r.Tool)
		if err != nil {
			return err
		}
		wait, err = reserve(ctx, q, r, now)
		if err != nil || wait > 0 {
			return err
		}
		_, err = q.ExecContext(ctx, s.db.sweepQuery(), now)
		return err
	})
	return wait, doing(err, "reserve %s", r)
}

// reserve needs the window's lock. Times are in microseconds.
func reserve(ctx context.Context, q querier, r ratelimit.Reservation, now int64) (wait time.Duration, err error) {
	// The window is full until the Limit-th newest reservation ends.
	const query = `SELECT
		EXISTS (SELECT 1 FROM reservations WHERE agent = $1 AND tool = $2 AND key = $3 AND ends_at > $4),
		COALESCE((SELECT ends_at FROM reservations WHERE agent = $1 AND tool = $2 AND ends_at > $4
			ORDER BY ends_at DESC LIMIT 1 OFFSET $5), 0)`
	var (
		known     bool
		fullUntil int64
	)
	if err := q.QueryRowContext(ctx, query, r.Agent, r.Tool, r.Key, now, r.Limit-1).Scan(&known, &fullUntil); err != nil || known {
		return 0, err
	}
	ends := now + r.Window.Microseconds()
	if fullUntil > ends {
		// The clock was set back or the window was longer before. Shorten the reservations, so that nothing waits for the old
		// times.
		_, err := q.ExecContext(ctx, `UPDATE reservations SET ends_at = $3 WHERE agent = $1 AND tool = $2 AND ends_at > $3`,
			r.Agent, r.Tool, ends)
		return r.Window, err
	}
	if fullUntil > 0 {
		return time.Duration(fullUntil-now) * time.Microsecond, nil
	}
	_, err = q.ExecContext(ctx, insertInto("reservations", "agent, tool, key, ends_at")+`ON CONFLICT (agent, tool, key) `+
		overwrite("ends_at"), r.Agent, r.Tool, r.Key, ends)
	return 0, err
}

// lockWindow needs no lock; see lock.
func (db *sqliteFile) lockWindow(ctx context.Context, q querier, _, _ string) (now int64, err error) {
	t, err := db.clock(ctx, q)
	return t.UnixMicro(), err
}

func (db *sqliteFile) clock(context.Context, querier) (time.Time, error) {
	return time.Now().UTC(), nil
}

// clocked does not ask SQLite for the time. Its clock has only milliseconds, so times taken from the other clock would be in the
// future.
func (db *sqliteFile) clocked(ctx context.Context, q querier, value any, query string, args ...any) (now time.Time, err error) {
	if err := q.QueryRowContext(ctx, query, args...).Scan(value); err != nil {
		return time.Time{}, err
	}
	return db.clock(ctx, q)
}

func (db *sqliteFile) sweepQuery() string { return `DELETE FROM reservations WHERE ends_at <= $1` }

// lockWindow takes an advisory lock. A separate statement reads the time, so that it is the time after locking.
func (db *postgres) lockWindow(ctx context.Context, q querier, agent, tool string) (now int64, err error) {
	const take = `SELECT pg_advisory_xact_lock(hashtextextended($1, hashtext($2)))`
	if _, err := q.ExecContext(ctx, take, agent, tool); err != nil {
		return 0, err
	}
	t, err := db.clock(ctx, q)
	return t.UnixMicro(), err
}

func (db *postgres) clock(ctx context.Context, q querier) (now time.Time, err error) {
	err = q.QueryRowContext(ctx, `SELECT `+postgresClock).Scan(timeColumn{&now})
	return now, err
}

// clocked reads both in one round trip.
func (db *postgres) clocked(ctx context.Context, q querier, value any, query string, args ...any) (now time.Time, err error) {
	err = q.QueryRowContext(ctx, `SELECT `+postgresClock+`, (`+query+`)`, args...).Scan(timeColumn{&now}, value)
	return now, err
}

// postgresClock selects the time in microseconds since 1970.
const postgresClock = `(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::BIGINT`

// sweepQuery skips rows that another transaction is sweeping, because two sweeps could deadlock.
func (db *postgres) sweepQuery() string {
	return `DELETE FROM reservations WHERE (agent, tool, key) IN
		(SELECT agent, tool, key FROM reservations WHERE ends_at <= $1 FOR UPDATE SKIP LOCKED)`
}
