package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

const (
	connections    = 10 // of a process, besides the listening one
	connectTimeout = 10 * time.Second
	connectionLife = 30 * time.Minute // so that they follow a database that moves
	migrationLock  = 0x696e7175657374 // "inquest": the number of the advisory lock
)

// sessionSettings apply unless the address sets them. If a worker is lost within a transaction, its locks must not stay until the
// server's TCP timeout. Nearly all queries look up a key, so planning each one anew takes longer than running it.
func sessionSettings() map[string]string {
	return map[string]string{
		"application_name":                    "inquest",
		"lock_timeout":                        "10s",
		"plan_cache_mode":                     "force_generic_plan",
		"idle_in_transaction_session_timeout": "30s",
	}
}

// postgres is a PostgreSQL database, which workers on any number of hosts can share.
type postgres struct {
	config *pgx.ConnConfig
	pool   *sql.DB
	news   *news
	logger *slog.Logger
}

func openPostgres(ctx context.Context, opts Options) (database, error) {
	if opts.Path != "" {
		return database{}, errors.New("a path and an address are given: it is one or the other")
	}
	config, err := configure(opts.DSN)
	if err != nil {
		return database{}, err
	}
	switch secrecy, err := secrecyOf(config); {
	case err != nil:
		return database{}, err
	case secrecy != Verified:
		opts.Logger.WarnContext(ctx, "the store's connections are not safe: "+string(secrecy), "store", opts.String())
	}
	db := &postgres{config: config, pool: sql.OpenDB(pipelining{stdlib.GetConnector(*config)}), news: newNews(), logger: opts.Logger}
	db.pool.SetMaxOpenConns(connections)
	db.pool.SetMaxIdleConns(connections)
	db.pool.SetConnMaxLifetime(connectionLife)
	if err := db.setUp(ctx); err != nil {
		return database{}, errors.Join(db.explain(err), db.close())
	}
	snapshot := &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
	return database{writer: db.pool, reader: db.pool, snapshot: snapshot, engine: db}, nil
}

// configure parses an address. It hides the driver's error, which could quote part of the password, except for its reason.
func configure(dsn string) (*pgx.ConnConfig, error) {
	const want = "the address must be postgres://user:password@host:port/database?setting=value, " +
		"with special characters of the password as %XX"
	if _, ok := parseDSN(dsn); !ok {
		return nil, errors.New(want)
	}
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("%s (%v)", want, errors.Unwrap(err)) //nolint:errorlint // its reason only
	}
	for name, value := range sessionSettings() {
		if _, set := config.RuntimeParams[name]; !set {
			config.RuntimeParams[name] = value
		}
	}
	config.ConnectTimeout = cmp.Or(config.ConnectTimeout, connectTimeout)
	// A silently lost server is noticed after half a minute.
	keepAlive := net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}
	config.DialFunc = (&net.Dialer{KeepAliveConfig: keepAlive}).DialContext
	return config, nil
}

// setUp brings the tables to the newest version. Processes that start at the same time take turns: the lock is released when the
// transaction around it ends.
func (db *postgres) setUp(ctx context.Context) error {
	return inTx(ctx, db.pool, nil, func(q querier) error {
		const patiently = `SET LOCAL lock_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0`
		if _, err := q.ExecContext(ctx, patiently); err != nil {
			return err
		}
		if err := checkEncoding(ctx, q); err != nil {
			return err
		}
		// Counting the rows makes sure that the statement has run (see pipelining).
		if _, err := changed(q.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(migrationLock))); err != nil {
			return err
		}
		return migrate(ctx, db.pool, goose.DialectPostgres, "postgres", db.logger)
	})
}

func checkEncoding(ctx context.Context, q querier) error {
	var encoding string
	if err := q.QueryRowContext(ctx, `SHOW server_encoding`).Scan(&encoding); err != nil {
		return err
	}
	if encoding != "UTF8" {
		return fmt.Errorf("the encoding of the database is %s, and must be UTF8", encoding)
	}
	return nil
}

// lock locks the row of the investigation's cursor. Later reads in the transaction see everything that earlier transactions have
// committed.
func (db *postgres) lock(ctx context.Context, q querier, investigation string) error {
	const (
		take = `SELECT 1 FROM cursors WHERE investigation = $1 FOR UPDATE`
		add  = `INSERT INTO cursors (investigation, seq, struck, live, records) VALUES ($1, 0, 0, 0, 0) ON CONFLICT DO NOTHING`
	)
	if investigation == "" {
		return nil
	}
	taken, err := changed(q.ExecContext(ctx, take, investigation))
	if err != nil || taken {
		return err
	}
	added, err := changed(q.ExecContext(ctx, add, investigation))
	if err != nil || added {
		return err
	}
	_, err = q.ExecContext(ctx, take, investigation) // another transaction inserted it first
	return err
}

func (db *postgres) sizeQuery() string { return `SELECT pg_database_size(current_database())` }

func (db *postgres) close() error { return db.pool.Close() }
