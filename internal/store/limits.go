package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/circuit"
	"github.com/inquest-dev/inquest/internal/kit/ratelimit"
	"github.com/inquest-dev/inquest/internal/tool"
)

const readCircuit = `SELECT state FROM circuits WHERE provider = $1 AND model = $2`

// Circuit returns the fleet's circuit state for a model, and the time by the store's clock.
func (s limits) Circuit(ctx context.Context, key circuit.Key) (state circuit.State, now time.Time, err error) {
	at := storedKey(key)
	const query = `SELECT COALESCE((` + readCircuit + `), '{}')` // '{}' stands for a model without a row
	now, err = s.db.clocked(ctx, s.db.reader, asJSON(&state), query, at.Provider, at.Model)
	return state, now, doing(s.db.explain(err), "read the circuit of %s", key)
}

// ChangeCircuit updates the circuit state of a model under a lock. now is by the store's clock.
func (s limits) ChangeCircuit(ctx context.Context, key circuit.Key, fn func(state *circuit.State, now time.Time)) error {
	err := s.write(ctx, "", func(q querier) error {
		key := storedKey(key)
		micros, err := s.db.lockWindow(ctx, q, "circuit of "+key.Provider, key.Model)
		if err != nil {
			return err
		}
		state, err := circuitOf(ctx, q, key)
		if err != nil {
			return err
		}
		fn(&state, time.UnixMicro(micros).UTC())
		_, err = q.ExecContext(ctx, insertInto("circuits", "provider, model, state")+`ON CONFLICT (provider, model) `+overwrite("state"),
			key.Provider, key.Model, asJSON(&state))
		return err
	})
	return doing(err, "write the circuit of %s", key)
}

func circuitOf(ctx context.Context, q querier, key circuit.Key) (state circuit.State, err error) {
	key = storedKey(key)
	err = q.QueryRowContext(ctx, readCircuit, key.Provider, key.Model).Scan(asJSON(&state))
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return state, err
}

// storedKey returns a key in the form that the databases accept, because model names may come from requests.
func storedKey(key circuit.Key) circuit.Key {
	return circuit.Key{Provider: storedText(key.Provider), Model: storedText(key.Model)}
}

// openCircuits returns the models that only probes call at present.
func openCircuits(ctx context.Context, q querier) (open map[circuit.Key]circuit.State, err error) {
	type row struct {
		circuit.Key
		circuit.State
	}
	all, err := selectAll(ctx, q, func(r *row) []any { return []any{&r.Provider, &r.Model, asJSON(&r.State)} },
		`SELECT provider, model, state FROM circuits`)
	open = map[circuit.Key]circuit.State{}
	for _, r := range all {
		if r.Open() {
			open[r.Key] = r.State
		}
	}
	return open, err
}

// Reserve takes a place in the sliding window of an agent and a tool for the length of the window. If the window is full, it
// returns how long to wait before asking again: at least one place will be free by then, though another caller may have taken it. A
// refusal stores nothing. The clock is the database's (for SQLite, its host's), so workers' clocks may differ.
//
// A key that has a place passes and takes no second one. A call repeated after its window counts as a new call.
func (s limits) Reserve(ctx context.Context, r ratelimit.Reservation) (wait time.Duration, err error) {
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

const timeColumns = `ms_1, ms_2, ms_5, ms_10, ms_20, ms_50, ms_100, ms_200, ms_500, ms_1000, ms_2000, ms_5000, slower`

func timeFields(t *tool.Times) (fields []any) {
	for n := range t {
		fields = append(fields, &t[n])
	}
	return fields
}

// ToolTimes returns how long the last calls of a tool or a model took, on all workers. The zero value means that nothing is known.
func (s limits) ToolTimes(ctx context.Context, name string) (times tool.Times, err error) {
	const query = `SELECT ` + timeColumns + ` FROM tool_times WHERE tool = $1`
	err = s.db.reader.QueryRowContext(ctx, query, storedText(name)).Scan(timeFields(&times)...)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return times, fmt.Errorf("read how long %s takes: %w", name, s.db.explain(err))
	}
	return times, nil
}

// AddToolTimes adds a worker's measurements since its last report, and returns the new total. It keeps what other workers have
// added meanwhile.
func (s limits) AddToolTimes(ctx context.Context, name string, seen tool.Times, calls int) (times tool.Times, err error) {
	var sums []string
	for column := range strings.SplitSeq(timeColumns, ", ") {
		// PostgreSQL returns an error for a product that is too small for a float.
		sums = append(sums, fmt.Sprintf(
			"%[1]s = CASE WHEN tool_times.%[1]s < 1e-6 THEN 0 ELSE tool_times.%[1]s * $%[2]d END + excluded.%[1]s", column, len(seen)+2))
	}
	query := insertInto("tool_times", "tool, "+timeColumns) +
		`ON CONFLICT (tool) DO UPDATE SET ` + strings.Join(sums, ", ") + ` RETURNING ` + timeColumns
	args := append([]any{storedText(name)}, timeFields(&seen)...)
	err = s.change(ctx, "", func(q querier) error {
		return q.QueryRowContext(ctx, query, append(args, tool.Kept(calls))...).Scan(timeFields(&times)...)
	})
	if err != nil {
		return times, fmt.Errorf("write how long %s takes: %w", name, err)
	}
	return times, nil
}
