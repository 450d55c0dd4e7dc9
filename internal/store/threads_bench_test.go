package store_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/transcript"
)

const horizonOfBench = 25 // workflows.horizonTurns

// longThread returns a store with a conversation of n turns, one iteration each.
func longThread(tb testing.TB, n int) (*store.Store, transcript.Scope) {
	tb.Helper()
	st, err := store.Open(tb.Context(), store.Options{Path: filepath.Join(tb.TempDir(), "x.db")})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = st.Close() })
	scope := transcript.Scope{Investigation: "long:1", Execution: "chat/Memo"}
	if err := st.SaveThread(tb.Context(), record.Thread{ID: "long:1", WorkflowID: "long", StartedAt: time.Now()}); err != nil {
		tb.Fatal(err)
	}
	for i := range n {
		turnOf(tb, st, scope, i+1)
	}
	return st, scope
}

// turnOf repeats the store accesses of a turn's activities.
func turnOf(tb testing.TB, st *store.Store, scope transcript.Scope, n int) transcript.Known {
	ctx, w := tb.Context(), transcript.Writer{RunID: "run", ActivityID: fmt.Sprint(n)}
	known, err := st.LookupSince(ctx, scope, horizonAt(n), n, w)
	if err != nil {
		tb.Fatal(err)
	}
	var rows []transcript.Row
	add := func(kind transcript.Kind, text string) {
		row := transcript.Row{Key: transcript.Key{Iteration: n, Position: len(rows)}, Kind: kind}
		row.Text = text
		rows = append(rows, row)
	}
	if n == 1 {
		add(transcript.KindSystem, "You are Memo.")
	}
	add(transcript.KindUser, fmt.Sprintf("question %d about the disk of node %d", n, n%7))
	rows[len(rows)-1].By = "Ada"
	add(transcript.KindReply, fmt.Sprintf("answer %d: the disk is full", n))
	if _, _, err := st.AppendReply(ctx, transcript.Step{Scope: scope, Writer: w, Rows: rows}); err != nil {
		tb.Fatal(err)
	}
	if _, err := st.Reply(ctx, scope, n); err != nil {
		tb.Fatal(err)
	}
	turn := record.Turn{
		N: n, Message: fmt.Sprint("m", n), Run: "run", Execution: scope.Execution, First: n, Last: n, At: time.Now(),
		Reply: json.RawMessage(`{}`),
	}
	if err := st.SaveTurn(ctx, scope.Investigation, turn); err != nil {
		tb.Fatal(err)
	}
	if _, err := st.TurnOf(ctx, scope.Investigation, fmt.Sprint("m", n+1)); err == nil {
		tb.Fatal("the next message has an answer already")
	}
	return known
}

// horizonAt is the first iteration that the n-th turn reads, as the workflow chooses it.
func horizonAt(n int) int {
	marks := (n - 1) / horizonOfBench
	if marks < 2 {
		return 0
	}
	return (marks-1)*horizonOfBench + 1
}

// TestTurnsOfALongThread: a turn late in a long conversation reads no more entries than one in a short conversation, and the system
// prompt is always among them.
func TestTurnsOfALongThread(t *testing.T) {
	t.Parallel()
	st, scope := longThread(t, 300)
	most := 0
	for n := 301; n <= 360; n++ {
		known := turnOf(t, st, scope, n)
		if known.Log[0].Kind != transcript.KindSystem || known.Log[1].Kind != transcript.KindUser {
			t.Fatalf("turn %d reads %s, %s …", n, known.Log[0].Kind, known.Log[1].Kind)
		}
		most = max(most, len(known.Log))
	}
	if limit := 1 + 2*2*horizonOfBench; most > limit {
		t.Errorf("a turn reads %d entries, want at most %d", most, limit)
	}
	all, err := st.After(t.Context(), scope.Investigation, 0, 0)
	if err != nil || len(all) != 1+2*360 {
		t.Errorf("%d entries can be read: %v", len(all), err)
	}
	again, err := st.TurnOf(t.Context(), scope.Investigation, "m1")
	if err != nil || again.First != 1 {
		t.Errorf("the first message: %+v, %v", again, err)
	}
}

// BenchmarkTurn measures what a turn does with the store, in conversations of 50 and of 5,000 turns, on a worker that did the turns
// before, and on another one. The turns alternate, so that other work on the machine slows both.
func BenchmarkTurn(b *testing.B) {
	lengths := []int{50, 5000}
	var stores []*store.Store
	var scope transcript.Scope
	for _, length := range lengths {
		st, of := longThread(b, length)
		stores, scope = append(stores, st), of
	}
	for _, where := range []string{"same worker", "other worker"} {
		b.Run(where, func(b *testing.B) {
			took := make([][]time.Duration, len(lengths))
			for b.Loop() {
				for i, st := range stores {
					if lengths[i]++; where == "other worker" {
						store.ForgetLogs(st, scope.Investigation)
					}
					began := time.Now()
					turnOf(b, st, scope, lengths[i])
					took[i] = append(took[i], time.Since(began))
				}
			}
			for i := range took {
				slices.Sort(took[i])
			}
			short, long := took[0][len(took[0])/2], took[1][len(took[1])/2]
			b.ReportMetric(float64(short.Microseconds()), "short-µs")
			b.ReportMetric(float64(long.Microseconds()), "long-µs")
			b.ReportMetric(float64(long)/float64(short), "long/short")
		})
	}
}
