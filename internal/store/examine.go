package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/inquest-dev/inquest/internal/circuit"
	"github.com/inquest-dev/inquest/internal/record"
)

// Health is what Examine finds.
type Health struct {
	ID string
	// Schema is the newest migration of the store, Required the newest one that a program must know to use it, and Known the
	// newest one that this program has.
	Schema, Required, Known int64
	// Ahead is how far the database's clock is ahead of ours; 0 for a file, which has none.
	Ahead time.Duration
	// Secrecy says how a database's connections are protected; "" for a file.
	Secrecy Secrecy
	// Workers are those that run and have announced themselves. Workers of version 0.1 do not.
	Workers []record.Worker
	// Circuits are the models that nobody asks at the moment, but probes.
	Circuits map[circuit.Key]circuit.State
}

// Examine looks at a store that is there, and changes nothing: it makes none, and brings
// no tables to another version. The error is os.ErrNotExist where there is none.
func Examine(ctx context.Context, opts Options) (h Health, err error) {
	db, err := bare(opts, &h)
	if err != nil {
		return h, fmt.Errorf("look at store %s: %w", opts, err)
	}
	defer db.Close()
	if err := h.read(ctx, db, opts); err != nil {
		return h, fmt.Errorf("look at store %s: %w", opts, err)
	}
	return h, nil
}

// bare opens the database without making or watching anything.
func bare(opts Options, h *Health) (*sql.DB, error) {
	if opts.DSN == "" {
		if _, err := os.Stat(opts.Path); err != nil {
			return nil, err
		}
		return pool(opts.Path, 1, "_pragma=query_only(1)"), nil
	}
	config, err := configure(opts.DSN)
	if err != nil {
		return nil, err
	}
	if h.Secrecy, err = secrecyOf(config); err != nil {
		return nil, err
	}
	return stdlib.OpenDB(*config), nil
}

func (h *Health) read(ctx context.Context, db *sql.DB, opts Options) error {
	h.Known = KnownSchema()
	if opts.DSN == "" {
		if err := checkHost(ctx, db, hostMark(), false); err != nil {
			return err
		}
	} else {
		var theirs time.Time
		asked := time.Now()
		if err := db.QueryRowContext(ctx, `SELECT clock_timestamp()`).Scan(&theirs); err != nil {
			return err
		}
		h.Ahead = theirs.Sub(asked.Add(time.Since(asked) / 2))
	}
	dialect := goose.DialectPostgres
	if opts.DSN == "" {
		dialect = goose.DialectSQLite3
	}
	var err error
	h.Schema, h.Required, err = schemaOf(ctx, db, dialect)
	if err == nil {
		err = db.QueryRowContext(ctx, readNote, "id").Scan(&h.ID)
	}
	if errors.Is(err, sql.ErrNoRows) {
		err = errors.New("it is not a store: its tables are not complete")
	}
	if err == nil && h.Schema >= h.Known && h.Required <= h.Known {
		h.Circuits, err = openCircuits(ctx, db)
	}
	if err == nil {
		workers, failed := runningWorkers(ctx, db, h.Ahead)
		if h.Workers = workers; h.Required <= h.Known { // a newer program may have moved them
			err = failed
		}
	}
	return err
}
