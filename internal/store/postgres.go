package store

import (
	"cmp"
	"context"
	"crypto/tls"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
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
		return database{}, errors.New("both a path and an address are given: use only one")
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
		return fmt.Errorf("the encoding of the database is %s; it must be UTF8", encoding)
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

// PostgreSQL error codes with a meaning here:
// https://www.postgresql.org/docs/current/errcodes-appendix.html
const (
	codeDuplicate   = "23505" // unique_violation
	codeUnstorable  = "22021" // character_not_in_repertoire: NUL, or not UTF-8
	codeForbidden   = "42501" // insufficient_privilege
	codeReadOnly    = "25006" // read_only_sql_transaction
	codeLocked      = "55P03" // lock_not_available, after lock_timeout
	codeTooLongIdle = "25P03" // idle_in_transaction_session_timeout
)

// passingClasses are the prefixes of the codes for transient errors: connection trouble, rollbacks caused by other transactions,
// lack of resources, shutdowns.
var passingClasses = []string{"08", "40", "53", "57P"}

// explain describes PostgreSQL's error codes in words and marks errors that are worth a retry.
func (db *postgres) explain(err error) error {
	pgErr, _ := errors.AsType[*pgconn.PgError](err)
	switch {
	case err == nil, errors.Is(err, ErrUnavailable), errors.Is(err, context.Canceled):
		return err
	case pgErr != nil:
		return explainCode(pgErr.Code, plain(err))
	case isLost(err):
		return fmt.Errorf("%w: %w", ErrUnavailable, plain(err))
	}
	return err
}

// plain returns the last reason why a connection failed. The driver's own error has several lines, for each attempt.
func plain(err error) error {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); !ok {
		return err
	}
	pgErr, _ := errors.AsType[*pgconn.PgError](err)
	network, _ := errors.AsType[*net.OpError](err)
	switch {
	case pgErr != nil:
		return pgErr
	case network != nil:
		return network
	}
	return err
}

func explainCode(code string, err error) error {
	passes := func(class string) bool { return strings.HasPrefix(code, class) }
	switch {
	case code == codeDuplicate:
		return fmt.Errorf("%w: %w", errDuplicate, err)
	case code == codeForbidden:
		return fmt.Errorf("the user must be allowed to create tables in the schema, and own them: %w", err)
	case code == codeReadOnly:
		return fmt.Errorf("%w: the server is a standby, or set to read-only: %w", ErrUnavailable, err)
	case code == codeLocked:
		return fmt.Errorf("%w: another process has kept it locked: %w", ErrUnavailable, err)
	case code == codeTooLongIdle, slices.ContainsFunc(passingClasses, passes):
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}

// isLost reports whether the connection broke or could not be made.
func isLost(err error) bool {
	_, unmade := errors.AsType[*pgconn.ConnectError](err)
	_, network := errors.AsType[net.Error](err)
	return unmade || errors.Is(err, driver.ErrBadConn) || errors.Is(err, pgconn.ErrConnClosed) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) ||
		network && !errors.Is(err, context.DeadlineExceeded)
}

// isUnstorable reports whether a query had a key that no row can have.
func isUnstorable(err error) bool {
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pgErr.Code == codeUnstorable
}

// ErrCleartext means that an address of another host allows both TLS and cleartext, so an attacker in between could choose.
var ErrCleartext = errors.New("the database is on another host, and the connection may be unencrypted: add sslmode=verify-full " +
	"to the address (and sslrootcert=FILE for your own authority), or sslmode=disable if the network is trusted")

// Secrecy says who can read the connections to a database.
type Secrecy string

// Kinds of secrecy, worst first.
const (
	Clear      Secrecy = "anyone on the network path to the database can read all data sent to and from it (sslmode=disable)"
	Unverified Secrecy = "the database's certificate is not checked, so others on the network can pose as the database " +
		"(sslmode=require)"
	Verified Secrecy = "" // or within this host
)

// SecrecyOf returns how connections are protected, according to an address, the PG… variables and a service file. The error is
// ErrCleartext or describes a problem with the address.
func SecrecyOf(dsn string) (Secrecy, error) {
	config, err := configure(dsn)
	if err != nil {
		return Verified, err
	}
	return secrecyOf(config)
}

// secrecyOf checks every configuration that the driver would try. Only sslmode=prefer, the default, and allow make it try a host
// both with and without TLS.
func secrecyOf(config *pgx.ConnConfig) (Secrecy, error) {
	tries := append([]*pgconn.FallbackConfig{{Host: config.Host, TLSConfig: config.TLSConfig}}, config.Fallbacks...)
	clear, encrypted, worst := map[string]bool{}, map[string]bool{}, Verified
	for _, try := range tries {
		switch {
		case local(try.Host):
			continue
		case try.TLSConfig == nil:
			clear[try.Host], worst = true, Clear
		default:
			encrypted[try.Host] = true
			if worst == Verified && !verifies(try.TLSConfig) {
				worst = Unverified
			}
		}
		if clear[try.Host] && encrypted[try.Host] {
			return worst, ErrCleartext
		}
	}
	return worst, nil
}

// verifies reports whether the certificate is checked. With verify-ca, where names may differ, the driver checks the authority
// itself.
func verifies(c *tls.Config) bool { return !c.InsecureSkipVerify || c.VerifyPeerCertificate != nil }

// local reports whether connections to a host or a socket stay on this host.
func local(host string) bool {
	ip := net.ParseIP(host)
	return filepath.IsAbs(host) || host == "localhost" || ip != nil && ip.IsLoopback()
}
