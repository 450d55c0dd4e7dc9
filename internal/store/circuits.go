package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/inquest-dev/inquest/internal/circuit"
)

const readCircuit = `SELECT state FROM circuits WHERE provider = $1 AND model = $2`

// Circuit returns the fleet's circuit state for a model, and the time by the store's clock.
func (s *Store) Circuit(ctx context.Context, key circuit.Key) (state circuit.State, now time.Time, err error) {
	at := storedKey(key)
	const query = `SELECT COALESCE((` + readCircuit + `), '{}')` // '{}' stands for a model without a row
	now, err = s.db.clocked(ctx, s.db.reader, asJSON(&state), query, at.Provider, at.Model)
	return state, now, doing(s.db.explain(err), "read the circuit of %s", key)
}

// ChangeCircuit updates the circuit state of a model under a lock. now is by the store's clock.
func (s *Store) ChangeCircuit(ctx context.Context, key circuit.Key, fn func(state *circuit.State, now time.Time)) error {
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
