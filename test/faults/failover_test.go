package faults

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"go.temporal.io/sdk/temporal"
	"modernc.org/sqlite"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/store/postgrestest"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

// failover replaces the store's data with an older copy while the workers go on, as a database does that fails over to a replica
// that lags. Operations are those that faults can strike, numbered from 1.
type failover struct {
	database
	copyAt, at int // operations before which the copy is made, and before which it takes over; 0 means never

	mu     sync.Mutex
	points []string // the operations so far
	err    error
}

// database is what a failover needs. Other connections stay open.
type database interface {
	copy() error    // replaces the previous copy
	restore() error // replaces the data with the copy
}

func (f *failover) step(operation string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.points = append(f.points, operation)
	if len(f.points) == f.copyAt {
		f.err = errors.Join(f.err, f.copy())
	}
	if len(f.points) == f.at {
		f.err = errors.Join(f.err, f.restore())
	}
}

// TestFailovers swaps the store for an older copy at every operation of a run: the run stops because its store is behind, or it
// completes and its transcript has every call that was made. No call is made twice.
func TestFailovers(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		for _, quick := range []bool{false, true} {
			for _, f := range failovers(t, quick, 6) {
				t.Run(fmt.Sprintf("quick %t, before operation %d to %d", quick, f.at, f.copyAt), func(t *testing.T) {
					t.Parallel()
					s, db := fileStore(t)
					f.database = db
					failOver(t, s, f, quick)
				})
			}
		}
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		server := postgrestest.Start(t)
		dsn := server.Database(t, "failovers")
		s, err := store.Open(t.Context(), store.Options{DSN: dsn})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		db := serverData{open(t, "pgx", dsn)}
		for _, f := range failovers(t, false, 12) {
			t.Run(fmt.Sprintf("before operation %d to %d", f.at, f.copyAt), func(t *testing.T) {
				f.database = db
				failOver(t, s, f, false)
			})
		}
	})
}

// failovers returns failovers at every operation of a calm run, with copies of different ages. Without -every, it returns those at model
// calls, and at one of so many other operations with one age.
func failovers(t *testing.T, quick bool, oneOf int) (all []*failover) {
	s, _ := fileStore(t)
	calm := &failover{}
	r := writers(t, s, "calm", quick)
	r.failover = calm
	r.play()
	if err := r.env.GetWorkflowError(); err != nil {
		t.Fatalf("the calm run ends with %v after %q", err, calm.points)
	}
	seen := slices.IndexFunc(calm.points, func(point string) bool { return strings.HasPrefix(point, "append, after of work/") })
	end := slices.Index(calm.points, "finish of Finish")
	if seen < 0 || end < seen {
		t.Fatalf("the operations of the calm run are %q", calm.points)
	}
	ages := []int{1, 4, 16, 48}
	for at := seen + 2; at <= end+1; at++ { // numbered from 1
		for n, age := range ages {
			during := strings.HasPrefix(calm.points[at-1], "first of work/") // a model call, where an agent is most of the time
			due := pick(oneOf, "due", at) == 0 && n == pick(len(ages), "age", at)
			if age < at && (*every || during || due) {
				all = append(all, &failover{copyAt: at - age, at: at})
			}
		}
	}
	return all
}

// writers is a run of two agents that write. Their models decide by what they are shown, as real ones do.
func writers(t *testing.T, s *store.Store, id string, quick bool) *run {
	r := newRun(s, id, 1, profile{name: "failover"})
	r.quick = quick
	r.employ(newWorker(rowOf(t, "default"), "A", id), newWorker(rowOf(t, "memgpt"), "B", id), newWorker(rowOf(t, "synthesis"), "S", id))
	write := func(key string) agent.ToolCall {
		return agent.ToolCall{ID: key, Name: "lab__once", Arguments: fmt.Sprintf(`{"key":%q}`, key)}
	}
	note := agent.ToolCall{ID: "note", Name: "core_memory_append", Arguments: `{"label":"facts","content":"x"}`}
	read := agent.ToolCall{ID: "read", Name: "lab__read", Arguments: `{"n":1}`}
	replies := map[string][][]agent.ToolCall{
		"work/A": {{write("a0"), write("a1")}, {read, write("a2")}, {write("a3")}},
		"work/B": {{note, write("b0")}, {write("b1")}},
	}
	var shown sync.Map // by place: the number of replies with calls that the model is shown
	r.onRequest = func(at place, req llm.Request) {
		n := 0
		for _, m := range req.Messages {
			if len(m.ToolCalls) > 0 {
				n++
			}
		}
		shown.Store(at, n)
	}
	r.says = func(at place) llm.Response {
		n, _ := shown.Load(at)
		if n := n.(int); n < len(replies[at.execution]) {
			return llm.Response{Finish: llm.FinishToolCalls, ToolCalls: replies[at.execution][n]}
		}
		return llm.Response{Content: "done", Finish: llm.FinishStop}
	}
	return r
}

func failOver(t *testing.T, s *store.Store, f *failover, quick bool) {
	r := writers(t, s, "run "+t.Name(), quick)
	r.failover = f
	r.play()
	if f.err != nil {
		t.Fatal(f.err)
	}
	made := map[string]int{}
	for _, call := range r.lab.made {
		if call.Name == "lab.once" {
			made[string(call.Arguments)]++
		}
	}
	for arguments, times := range made {
		if times > 1 {
			t.Errorf("%s: the call with %s was made %d times", f.points[f.at-1], arguments, times)
		}
	}
	err := r.env.GetWorkflowError()
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		var result workflows.InvestigationResult
		if err := failed.Details(&result); err != nil || result.EndReason != agent.EndStoreBehind {
			t.Errorf("%s: it failed as %s: %v, %v", f.points[f.at-1], result.EndReason, failed, err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.After(context.Background(), r.investigation(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(f.points[:f.at], "finish, after of Finish") {
		return // the end was recorded first
	}
	for arguments := range made {
		if !slices.ContainsFunc(all, func(e transcript.Entry) bool {
			return e.Kind == transcript.KindResult && e.Call.Arguments == arguments
		}) {
			t.Errorf("%s: it completed, and the call with %s is not in its transcript", f.points[f.at-1], arguments)
		}
	}
}

func open(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// fileData is a database of SQLite.
type fileData struct {
	db   *sql.DB
	kept string
}

func fileStore(t *testing.T) (*store.Store, database) {
	path := filepath.Join(t.TempDir(), "inquest.db")
	s, err := store.Open(t.Context(), store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, fileData{open(t, "sqlite", path+"?_pragma=busy_timeout(60000)"), path + ".copy"}
}

func (d fileData) copy() error {
	return d.transfer(func(conn backupConn) (*sqlite.Backup, error) { return conn.NewBackup(d.kept) })
}

func (d fileData) restore() error {
	return d.transfer(func(conn backupConn) (*sqlite.Backup, error) { return conn.NewRestore(d.kept) })
}

// backupConn is a connection of the driver.
type backupConn interface {
	NewBackup(path string) (*sqlite.Backup, error)
	NewRestore(path string) (*sqlite.Backup, error)
}

func (d fileData) transfer(begin func(backupConn) (*sqlite.Backup, error)) error {
	ctx := context.Background()
	conn, err := d.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Raw(func(raw any) error {
		backup, err := begin(raw.(backupConn))
		if err != nil {
			return err
		}
		_, err = backup.Step(-1)
		return errors.Join(err, backup.Finish())
	})
}

// serverData is a database of PostgreSQL.
type serverData struct{ db *sql.DB }

func (d serverData) copy() error {
	script := `DROP SCHEMA IF EXISTS kept CASCADE; CREATE SCHEMA kept;`
	return d.run(script, `CREATE TABLE kept.%[1]s AS TABLE public.%[1]s;`)
}

func (d serverData) restore() error {
	return d.run(`SET LOCAL session_replication_role = replica;`,
		`DELETE FROM public.%[1]s; INSERT INTO public.%[1]s (%[2]s) OVERRIDING SYSTEM VALUE SELECT %[2]s FROM kept.%[1]s;`)
}

// run runs a script in one transaction: the beginning, then one part for each table and its columns.
func (d serverData) run(script, forTable string) error {
	rows, err := d.db.Query(`SELECT table_name, string_agg(quote_ident(column_name), ', ') FROM information_schema.columns
		WHERE table_schema = 'public' AND is_generated = 'NEVER' GROUP BY table_name`)
	if err != nil {
		return err
	}
	defer rows.Close()
	var list strings.Builder
	for rows.Next() {
		var table, columns string
		if err := rows.Scan(&table, &columns); err != nil {
			return err
		}
		fmt.Fprintf(&list, forTable, table, columns)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	_, err = d.db.Exec(`BEGIN;` + script + list.String() + `COMMIT`)
	return err
}
