package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/store/postgrestest"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// kept are the tables with an investigation's ID that do not travel with it, and why.
var kept = map[string]string{
	"live":                     "text of running calls",
	"waiting":                  "what running investigations wait for",
	"ledger_reserved":          "reservations of running calls",
	"recall":                   "the memory of an agent",
	"past_calls":               "calls that approvers are reminded of",
	"learnings":                "what the team knows, which has its own origin",
	"learning_reads":           "as learnings",
	"learning_runs":            "as learnings",
	"learning_judgements":      "as learnings",
	"alerts":                   "the intake of this store",
	"chat_messages":            "messages in the chats of this system",
	"notifications":            "messages of this system",
	"investigation_texts":      "the index, which the store makes itself",
	"investigations_unindexed": "the index, which the store makes itself",
}

// TestTransferredTables checks that every table that names an investigation either travels with it or is on the list of those that do not.
func TestTransferredTables(t *testing.T) {
	t.Parallel()
	st := open(t, filepath.Join(t.TempDir(), "x.db"))
	for _, table := range store.TablesWith(t, st, "investigation") {
		if slices.Contains(store.Transferred(), table) == (kept[table] != "") {
			t.Errorf("table %s: transfer it, or say in this test why not", table)
		}
	}
}

// TestTransfer moves an investigation from SQLite to PostgreSQL and back: the rows stay the same.
func TestTransfer(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	from := open(t, filepath.Join(t.TempDir(), "x.db"))
	const id = "lab:0123456789ab"
	step := stepAt(1, 3)
	step.Scope = transcript.Scope{Investigation: id, Execution: "dig/Alpha"}
	if _, err := from.Append(ctx, step); err != nil {
		t.Fatal(err)
	}
	plan, err := from.PutBlob(ctx, []byte(`{"version":1}`))
	end := time.Now()
	r := record.Investigation{ID: id, WorkflowID: "lab", RunID: "run", Chain: "c", PlanHash: plan, Status: agent.StatusRunning, StartedAt: end}
	err = errors.Join(err, from.StartInvestigation(ctx, r))
	r.Status, r.EndedAt, r.Report = agent.StatusCompleted, &end, "It was the ✓ deploy."
	err = errors.Join(err, from.FinishInvestigation(ctx, r),
		from.SaveExecution(ctx, record.Execution{Investigation: id, Name: "dig/Alpha", Stage: "dig", Agent: "Alpha",
			Status: agent.StatusCompleted, StartedAt: end, EndedAt: &end}))
	if err != nil {
		t.Fatal(err)
	}
	want := rowsOf(t, from, id)
	database := postgrestest.Start(t)
	for _, to := range []*store.Store{open(t, database.Database(t, "moved")), open(t, filepath.Join(t.TempDir(), "x.db"))} {
		if err := to.Add(ctx, id, rowsOf(t, from, id), slices.Values([][]byte{[]byte(`{"version":1}`)})); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, rowsOf(t, to, id), cmp.FilterPath(func(p cmp.Path) bool {
			return p.Last().String() == `["anchored"]` || p.Last().String() == `["records"]`
		}, cmp.Ignore())); diff != "" {
			t.Errorf("rows (-want +got):\n%s", diff)
		}
		if err := to.Add(ctx, id, want, nil); !errors.Is(err, store.ErrExists) {
			t.Errorf("again: %v", err)
		}
		from = to
	}
}

// rowsOf returns the rows as they travel: as JSON.
func rowsOf(t *testing.T, st *store.Store, id string) (rows []record.Row) {
	t.Helper()
	err := st.Rows(context.Background(), id, func(r record.Row) error {
		if _, err := json.Marshal(r); err != nil {
			return err
		}
		rows = append(rows, r)
		return nil
	})
	if err != nil || len(rows) < 4 {
		t.Fatalf("%d rows: %v", len(rows), err)
	}
	return rows
}

func TestAddRefusesForeignRows(t *testing.T) {
	t.Parallel()
	st := open(t, filepath.Join(t.TempDir(), "x.db"))
	for name, row := range map[string]record.Row{
		"another investigation": {Table: "stages", Values: map[string]any{"investigation": "other"}},
		"unknown table":         {Table: "meta", Values: map[string]any{"key": "host"}},
		"unknown column":        {Table: "runs", Values: map[string]any{"investigation": "lab", "x) VALUES (1); --": "1"}},
	} {
		if err := st.Add(t.Context(), "lab", []record.Row{row}, slices.Values([][]byte{})); err == nil {
			t.Errorf("%s: added", name)
		}
	}
}
