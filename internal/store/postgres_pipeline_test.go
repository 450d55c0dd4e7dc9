package store_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/store/postgrestest"
)

// The test checks what transactions do, how often they wait for the server, and their result. If the commit fails, they change
// nothing, and the connection remains usable.
func testPostgresPipeline(t *testing.T, server *postgrestest.Server) {
	const duplicate = "23505"
	tests := map[string]struct {
		do    func(tx transaction)
		fails string // error code of the commit
		waits int    // including the one for the commit
		sum   int64  // afterwards
	}{
		"nothing":                 {func(transaction) {}, "", 1, 0},
		"nothing is asked":        {func(tx transaction) { tx.add(1); tx.add(2) }, "", 1, 3},
		"a row is not asked":      {func(tx transaction) { tx.QueryRow(`INSERT INTO numbers VALUES ($1) RETURNING n`, 1) }, "", 1, 1},
		"a row is asked":          {func(tx transaction) { tx.add(1); tx.scan(tx.sum(), 1); tx.add(2) }, "", 2, 3},
		"two rows in reverse":     {func(tx transaction) { a := tx.sum(); tx.add(1); tx.scan(tx.sum(), 1); tx.scan(a, 0) }, "", 2, 1},
		"a count is asked":        {func(tx transaction) { tx.add(1); tx.count(tx.add(2), 1) }, "", 2, 3},
		"counts after the commit": {func(tx transaction) { one := tx.add(1); tx.Cleanup(func() { tx.count(one, 1) }) }, "", 1, 1},
		"a script": {func(tx transaction) {
			tx.add(1)
			tx.script(`UPDATE numbers SET n = n * 3; UPDATE numbers SET n = n * 5`)
		}, "", 3, 15},
		"what is pointed to":  {func(tx transaction) { n := 1; tx.add(&n); n = 2; tx.add(n) }, "", 1, 3},
		"very many":           {func(tx transaction) { tx.addTo(1000) }, "", 6, 500500},
		"a wrong one":         {func(tx transaction) { tx.add(1); tx.add(0); tx.add(2) }, duplicate, 1, 0},
		"a wrong one of many": {func(tx transaction) { tx.add(0); tx.addTo(500) }, duplicate, 1, 0},
		"a wrong one, asked by the next": {func(tx transaction) {
			tx.add(0)
			if err := tx.sum().Scan(new(int64)); codeOf(err) != duplicate {
				tx.Errorf("the next statement: %v", err)
			}
			tx.add(1)
		}, duplicate, 1, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, waits := openNumbers(t, server.Database(t, "pipeline "+name))
			undone := begin(t, db)
			undone.add(7)
			connection := undone.number(undone.QueryRow(`SELECT pg_backend_pid()`))
			if err := undone.Rollback(); err != nil {
				t.Error(err)
			}

			*waits = 0
			tx := begin(t, db)
			test.do(tx)
			want := test.waits
			if test.fails != "" {
				want++ // for the rollback
			}
			if err := tx.Commit(); codeOf(err) != test.fails || int(*waits) != want {
				t.Errorf("commit: %v, want code %q; waited %d times, want %d", err, test.fails, *waits, want)
			}

			after := begin(t, db)
			after.scan(after.sum(), test.sum)
			after.scan(after.QueryRow(`SELECT pg_backend_pid()`), connection)
			if err := after.Commit(); err != nil {
				t.Error(err)
			}
		})
	}
}

// After an error in a statement whose result was not read, PostgreSQL turns the COMMIT into a ROLLBACK.
func testPostgresPipelineUndone(t *testing.T, server *postgrestest.Server) {
	db, _ := openNumbers(t, server.Database(t, "pipeline undone"))
	tx := begin(t, db)
	tx.add(1)
	if _, err := tx.Exec(`INSERT INTO numbers VALUES (0)`); err == nil {
		t.Error("a script that is wrong is no error")
	}
	if err := tx.Commit(); !errors.Is(err, pgx.ErrTxCommitRollback) {
		t.Errorf("commit: %v", err)
	}
	after := begin(t, db)
	after.scan(after.sum(), 0)
}

// openNumbers opens a pipelined pool of one connection to a database with a table of numbers that contains 0.
func openNumbers(t *testing.T, dsn string) (*sql.DB, *roundTrips) {
	t.Helper()
	execute(t, dsn, `CREATE TABLE numbers (n BIGINT PRIMARY KEY); INSERT INTO numbers VALUES (0)`)
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	waits := new(roundTrips)
	config.Tracer = waits
	db := store.OpenPipelined(config)
	t.Cleanup(func() { db.Close() })
	return db, waits
}

type transaction struct {
	*testing.T
	*sql.Tx
}

func begin(t *testing.T, db *sql.DB) transaction {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return transaction{t, tx}
}

// add adds a number to the table.
func (tx transaction) add(n any) sql.Result {
	tx.Helper()
	result, err := tx.Exec(`INSERT INTO numbers (n) VALUES ($1)`, n)
	if err != nil {
		tx.Errorf("a statement that nobody has asked about: %v", err)
	}
	return result
}

// addTo adds the numbers from 1 to n.
func (tx transaction) addTo(n int) {
	for i := range n {
		tx.add(i + 1)
	}
}

func (tx transaction) sum() *sql.Row { return tx.QueryRow(`SELECT SUM(n + $1) FROM numbers`, 0) }

func (tx transaction) number(row *sql.Row) (n int64) {
	tx.Helper()
	if err := row.Scan(&n); err != nil {
		tx.Error(err)
	}
	return n
}

func (tx transaction) scan(row *sql.Row, want int64) {
	tx.Helper()
	if got := tx.number(row); got != want {
		tx.Errorf("got %d, want %d", got, want)
	}
}

func (tx transaction) count(result sql.Result, want int64) {
	tx.Helper()
	if got, err := result.RowsAffected(); got != want || err != nil {
		tx.Errorf("%d rows, error %v, want %d", got, err, want)
	}
}

func (tx transaction) script(statements string) {
	tx.Helper()
	if _, err := tx.Exec(statements); err != nil {
		tx.Error(err)
	}
}

// codeOf returns PostgreSQL's code for an error; empty if there is none.
func codeOf(err error) string {
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pgErr.Code
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// roundTrips counts how often a connection waits for the server.
type roundTrips int

func (n *roundTrips) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	*n++
	return ctx
}

func (*roundTrips) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (n *roundTrips) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	*n++
	return ctx
}

func (*roundTrips) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (*roundTrips) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}
