package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// OpenPipelined opens a pool with one connection of the kind that the store uses.
func OpenPipelined(config *pgx.ConnConfig) *sql.DB {
	db := sql.OpenDB(pipelining{stdlib.GetConnector(*config)})
	db.SetMaxOpenConns(1)
	return db
}

// MigrateTo creates the tables as of a version.
func MigrateTo(ctx context.Context, db *sql.DB, dialect goose.Dialect, version int64) error {
	files, err := fs.Sub(migrations, map[goose.Dialect]string{goose.DialectSQLite3: "migrations/sqlite",
		goose.DialectPostgres: "migrations/postgres"}[dialect])
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(dialect, db, files, goose.WithDisableGlobalRegistry(true))
	if err == nil {
		_, err = provider.UpTo(ctx, version)
	}
	return err
}

// ReadTwice reads the number of an investigation's last entry twice in one snapshot, and calls change in between.
func (s *Store) ReadTwice(ctx context.Context, investigation string, change func()) (first, second int64, err error) {
	err = s.read(ctx, func(q querier) error {
		before, err := standsAt(ctx, q, investigation)
		if err != nil {
			return err
		}
		change()
		after, err := standsAt(ctx, q, investigation)
		first, second = before.seq, after.seq
		return err
	})
	return first, second, err
}

// ReservationsEnd counts the rows of rate limits and moves all their ends.
func (s *Store) ReservationsEnd(ctx context.Context, later time.Duration) (rows int64, err error) {
	result, err := s.db.writer.ExecContext(ctx, `UPDATE reservations SET ends_at = ends_at + $1`, later.Microseconds())
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// AddIdle adds n conversations that have waited once.
func (s *Store) AddIdle(ctx context.Context, n int) error {
	const query = `WITH RECURSIVE talks (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM talks WHERE n < $1)
		INSERT INTO waiting (` + waitingColumns + `, things) SELECT 'talk-' || n, 'talk', 'run', 2, '{}', 0 FROM talks`
	_, err := s.db.writer.ExecContext(ctx, query, n)
	return err
}

// CountReads counts the queries from now on.
func (s *Store) CountReads() *atomic.Int64 {
	counted := &countedReads{handle: s.db.reader}
	s.db.reader = counted
	return &counted.n
}

type countedReads struct {
	handle
	n atomic.Int64
}

func (c *countedReads) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	c.n.Add(1)
	return c.handle.QueryContext(ctx, query, args...)
}

func (c *countedReads) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	c.n.Add(1)
	return c.handle.QueryRowContext(ctx, query, args...)
}

func (c *countedReads) BeginTx(ctx context.Context, opts *sql.TxOptions) (*sql.Tx, error) {
	c.n.Add(1)
	return c.handle.BeginTx(ctx, opts)
}

// Query returns the query of a list.
func QueryOf(f Filter, s *Store) (string, []any) { return queryOf(f, s.db, searched{}) }

// AlertsQuery returns the query of AlertInvestigations.
func AlertsQuery(s *Store) string { return investigationsOfAlerts(s.db) }

// Tampered changes rows with SQL, verifies the audit trail, and undoes the change.
func (s *Store) Tampered(t *testing.T, statements []string) (fault string) {
	t.Helper()
	undo := errors.New("undone")
	err := inTx(t.Context(), s.db.writer, nil, func(q querier) error {
		for _, statement := range statements {
			if _, err := q.ExecContext(t.Context(), statement); err != nil {
				return err
			}
		}
		found, err := verifyAudit(t.Context(), q, "")
		fault = found.Fault
		return errors.Join(err, undo)
	})
	if !errors.Is(err, undo) {
		t.Fatal(err)
	}
	return fault
}

// Rewrite changes the first row of a chain and rewrites the rest of the chain to fit, and optionally the anchors.
func (s *Store) Rewrite(t *testing.T, chain string, anchors bool) {
	t.Helper()
	ctx := t.Context()
	err := inTx(ctx, s.db.writer, nil, func(q querier) error {
		acts, err := selectAll(ctx, q, actFields, `SELECT `+auditColumns+` FROM audit WHERE investigation = $1 ORDER BY n`, chain)
		if err != nil {
			return err
		}
		before, hashes := "", map[int64]string{}
		for n, act := range acts {
			if n == 0 {
				act.Who = "Mallory"
			}
			act.Hash = act.Sum(before)
			before, hashes[act.N] = act.Hash, act.Hash
			const query = `UPDATE audit SET who = $3, hash = $4 WHERE investigation = $1 AND n = $2`
			if _, err := q.ExecContext(ctx, query, chain, act.N, act.Who, act.Hash); err != nil {
				return err
			}
		}
		if _, err := q.ExecContext(ctx, `UPDATE audit_heads SET hash = $2 WHERE investigation = $1`, chain, before); err != nil || !anchors {
			return err
		}
		all, err := selectAll(ctx, q, anchorFields, `SELECT n, at, marks, hash FROM audit_anchors ORDER BY n`)
		before = ""
		for _, a := range all {
			var marks []audit.Mark
			if err := json.Unmarshal(a.Marks, &marks); err != nil {
				return err
			}
			for n := range marks {
				if marks[n].Investigation == chain {
					marks[n].Hash = hashes[marks[n].N]
				}
			}
			a.Marks, _ = json.Marshal(marks)
			a.Hash = a.Sum(before)
			before = a.Hash
			const query = `UPDATE audit_anchors SET marks = $2, hash = $3 WHERE n = $1`
			if _, err := q.ExecContext(ctx, query, a.N, string(a.Marks), a.Hash); err != nil {
				return err
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// SkewLocal sets this machine's clock ahead, for this store only.
func (s *Store) SkewLocal(ahead time.Duration) {
	s.time.mu.Lock()
	defer s.time.mu.Unlock()
	s.time.local = func() time.Time { return time.Now().Add(ahead) }
}

// Migrate migrates a SQLite database like a program that has only the given migrations.
func Migrate(ctx context.Context, db *sql.DB, files fs.FS, required int64) error {
	return schema{db, goose.DialectSQLite3, files, required, slog.New(slog.DiscardHandler), nil}.migrate(ctx)
}

// Migrations are this program's, and RequiredSchema is the newest one that every program must know.
var Migrations fs.FS = &migrations

const RequiredSchema = requiredSchema

// FillUnindexed writes investigations like a program without an index of words.
func (s *Store) FillUnindexed(t testing.TB, n int, make func(n int) (record.Investigation, []byte)) {
	t.Helper()
	ctx := t.Context()
	for done := 0; done < n; {
		err := inTx(ctx, s.db.writer, nil, func(q querier) error {
			for range min(1000, n-done) {
				r, data := make(done)
				r.DataHash = blobHash(data)
				if err := insertBlob(ctx, q, r.DataHash, data); err != nil {
					return err
				}
				ended := r.StartedAt
				r.EndedAt = &ended
				if _, err := q.ExecContext(ctx, insertInto("investigations", investigationColumns), investigationFields(&r)...); err != nil {
					return err
				}
				done++
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// IndexAll indexes the words of all investigations, without pauses.
func (s *Store) IndexAll(ctx context.Context) error {
	for {
		if n, err := s.indexSome(ctx, 500); err != nil || n == 0 {
			return err
		}
	}
}

// TablesWith returns the tables that have a column, in SQLite.
func TablesWith(t testing.TB, s *Store, column string) []string {
	t.Helper()
	names, err := selectAll(t.Context(), s.db.reader, func(name *string) []any { return []any{name} },
		`SELECT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c ON c.name = $1 WHERE m.type = 'table' ORDER BY 1`, column)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// Transferred returns the tables that travel with an investigation.
func Transferred() (names []string) {
	for _, t := range transferred {
		names = append(names, t.table)
	}
	return names
}

// ForgetLogs drops the cached logs of an investigation, as on a worker that has not read them.
func ForgetLogs(s *Store, investigation string) { s.logs.forget(investigation) }
