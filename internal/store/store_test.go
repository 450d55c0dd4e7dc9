package store_test

import (
	"database/sql"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pressly/goose/v3"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/store/storetest"
	"github.com/inquest-dev/inquest/internal/transcript"
)

func TestSQLite(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	storetest.Run(t, func(t *testing.T) storetest.Store {
		return open(t, filepath.Join(folder, strings.ReplaceAll(t.Name(), "/", " "), "inquest.db"))
	})
}

func TestSQLiteSnapshot(t *testing.T) {
	t.Parallel()
	testSnapshot(t, filepath.Join(t.TempDir(), "inquest.db"))
}

// One read sees one consistent snapshot, whatever is written meanwhile.
func testSnapshot(t *testing.T, target string) {
	s, writer := open(t, target), open(t, target)
	write := func(iteration int) {
		if _, err := writer.Append(t.Context(), stepAt(iteration, 1)); err != nil {
			t.Error(err)
		}
	}
	write(1)
	first, second, err := s.ReadTwice(t.Context(), scope.Investigation, func() { write(2) })
	if err != nil || first != 1 || second != 1 {
		t.Errorf("the last entry is %d and then %d, error %v", first, second, err)
	}
}

// Waiting uses one query, however many conversations are idle.
func TestWhatWaitsIsOneQuery(t *testing.T) {
	t.Parallel()
	s, ctx := open(t, filepath.Join(t.TempDir(), "inquest.db")), t.Context()
	if err := s.AddIdle(ctx, 2000); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b", "c"} {
		waits := record.Waits{Approvals: []record.Approval{{CallID: "c1", Execution: "s/A"}}}
		if err := s.SetWaiting(ctx, record.Waiting{Investigation: id, WorkflowID: id, RunID: "r", Seq: 1, Waits: waits}); err != nil {
			t.Fatal(err)
		}
	}
	queries := s.CountReads()
	all, err := s.Waiting(ctx, "")
	if err != nil || len(all) != 3 || queries.Load() != 1 {
		t.Errorf("%d wait, %v; %d queries", len(all), err, queries.Load())
	}
}

func TestSQLiteUpgrade(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inquest.db")
	testUpgrade(t, "sqlite", path, goose.DialectSQLite3)
}

// Charges from before the sums by execution existed are included in the sums.
func testUpgrade(t *testing.T, driver, target string, dialect goose.Dialect) {
	db, err := sql.Open(driver, target)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := store.MigrateTo(t.Context(), db, dialect, 8); err != nil {
		t.Fatal(err)
	}
	for n, body := range []string{
		`{"calls": [{}, {}], "usage": {"model_calls": 1, "input_tokens": 100, "output_tokens": 10, "cost_usd": 0.1}}`,
		`{"calls": [{}, {}]}`,
		`{"calls": [{}, {}], "forced": true, "usage": {"model_calls": 1, "input_tokens": 7, "cost_usd": 0.2}}`,
	} {
		const old = `INSERT INTO entries VALUES ('inv', 'triage/analyst', $1, 0, $1, $1, 'reply', 0, 'run', 'activity', 0, $2)`
		if _, err := db.ExecContext(t.Context(), old, n+1, body); err != nil {
			t.Fatal(err)
		}
	}
	want := agent.Usage{ModelCalls: 2, ToolCalls: 4, InputTokens: 107, OutputTokens: 10, CostUSD: 0.3}
	if got, err := open(t, target).Usage(t.Context(), "inv"); err != nil || got != want {
		t.Errorf("after the upgrade: %+v, %v; want %+v", got, err, want)
	}
}

// open opens the store with that path or address.
func open(t testing.TB, target string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.At(target))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

var scope = transcript.Scope{Investigation: "inv/run", Execution: "triage/analyst"}

// stepAt returns a step of n rows at an iteration.
func stepAt(iteration, n int) transcript.Step {
	step := transcript.Step{Scope: scope, Writer: transcript.Writer{RunID: "run", ActivityID: "activity"}}
	for i := range n {
		step.Rows = append(step.Rows, transcript.Row{
			Key:  transcript.Key{Iteration: iteration, Position: i},
			Kind: transcript.KindUser,
			Body: transcript.Body{Text: strings.Repeat("what was said ", 100)},
		})
	}
	return step
}

// A search finds records of an older program, written before the upgrade or concurrently, even without earlier indexing.
func TestSQLiteSearchUpgrade(t *testing.T) {
	t.Parallel()
	testSearchUpgrade(t, "sqlite", filepath.Join(t.TempDir(), "inquest.db"), goose.DialectSQLite3)
}

func testSearchUpgrade(t *testing.T, driver, target string, dialect goose.Dialect) {
	db, err := sql.Open(driver, target)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx := t.Context()
	if err := store.MigrateTo(ctx, db, dialect, 26); err != nil {
		t.Fatal(err)
	}
	write := func(query string, args ...any) {
		if _, err := db.ExecContext(ctx, query, args...); err != nil {
			t.Fatal(err)
		}
	}
	const begin = `INSERT INTO investigations (id, workflow_id, run_id, chain, alert_type, plan_hash, data_hash, status, end_reason, error,
		report, usage, started_at) VALUES ($1, $1, 'run', 'lab', 'probe', 'p', $2, 'running', '', '', '', '{}', $3)`
	write(`INSERT INTO blobs (hash, data) VALUES ('h', $1)`, []byte(`{"pod": "checkout-7f9c"}`))
	write(begin, "before", "h", 1_000_000)
	s := open(t, target)
	write(begin, "beside", "h", 2_000_000)
	find := func(text string, want ...string) {
		t.Helper()
		found, err := s.Investigations(ctx, store.Filter{Search: text})
		var got []string
		for _, r := range found {
			got = append(got, r.ID)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: found %v, %v; want %v", text, got, err, want)
		}
	}
	find("checkout-7f9c", "beside", "before")
	write(`UPDATE investigations SET report = 'The pool was cut.', ended_at = 3000000 WHERE id = 'before'`)
	find("pool", "before")
	find("checkout", "beside", "before")
}
