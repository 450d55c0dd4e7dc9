package api

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/doctor"
	"github.com/inquest-dev/inquest/internal/face/events"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// manyTools offers 500 tools.
type manyTools struct{}

func (manyTools) List(context.Context, string, system.ToolType) (tools []system.ToolInfo, troubles []error, err error) {
	for n := range 500 {
		tools = append(tools, system.ToolInfo{Name: fmt.Sprint("loki.query", n), Description: "Queries logs.",
			InputSchema: []byte(`{"type":"object"}`)})
	}
	return tools, nil, nil
}

func (manyTools) Prepare(context.Context, string, string, string) (*doctor.ToolCall, error) {
	return nil, nil
}
func (manyTools) Close() {}

func (manyTools) Names(context.Context) ([]string, error) { return nil, nil }

func (manyTools) With(*configuration.Config) *doctor.Toolbox { return nil }

// median returns the median duration of a request.
func (w *world) median(path string) time.Duration {
	const times = 15
	var all []time.Duration
	for range times {
		begun := time.Now()
		if got := w.call("viewer", "GET", path, nil); got.status != http.StatusOK {
			w.Fatalf("%s: %d %s", path, got.status, got.body)
		}
		all = append(all, time.Since(begun))
	}
	return sorted(all)[times/2]
}

// Limits from the issue: listing 500 tools and any page of 100,000 investigations within 50 ms, and 200 viewers of a growing
// investigation with less than a tenth of a core. Run with -run Scale -v -long.
func TestScale(t *testing.T) {
	if !*long {
		t.Skip("takes a minute: -long")
	}
	w := newWorld(t)
	w.api.opts.Tools = func(context.Context, *configuration.Config) (Tools, error) { return manyTools{}, nil }
	const limit = 50 * time.Millisecond
	begin := time.Now().Add(-time.Hour)
	w.investigation("template", "payments")
	db, err := sql.Open("sqlite", w.path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const columns = `run_id, alert_type, plan_hash, data_hash, tenant, session, priority, fingerprint, metadata, overrides, status, ` +
		`end_reason, ` +
		`error, report, usage, envelope, ended_at, writer`
	_, err = db.ExecContext(t.Context(), `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99999)
		INSERT INTO investigations (id, workflow_id, chain, project, started_at, `+columns+`)
		SELECT printf('i-%06d:0123456789ab', i), printf('i-%06d', i), 'chain-' || (i % 7),
			CASE WHEN i % 1000 = 0 THEN 'rare' WHEN i % 2 = 0 THEN 'payments' ELSE 'search' END, $1 + i * 1000, `+columns+`
		FROM investigations, n WHERE workflow_id = 'template' AND i >= 0`, begin.UnixMicro())
	if err != nil {
		t.Fatal(err)
	}
	middle := cursorOf(record.Investigation{StartedAt: begin.Add(50 * time.Second), ID: "x"})
	for _, path := range []string{
		"/api/v1/tools", "/api/v1/investigations", "/api/v1/investigations?chain=chain-3",
		"/api/v1/investigations?needs_me=true", "/api/v1/investigations?q=i-0999", "/api/v1/investigations?q=nothing",
		"/api/v1/investigations?cursor=" + middle, "/api/v1/inbox",
	} {
		if took := w.median(path); took > limit {
			t.Errorf("%s takes %s", path, took)
		} else {
			t.Logf("%s takes %s", path, took)
		}
	}
	w.viewers()
}

// TestInboxOfAThousand checks that 1,000 open approvals, each in its own investigation, are listed within 50 ms of CPU time, by one query
// of the store and no query of workflows. Run with -v -long to see the duration.
func TestInboxOfAThousand(t *testing.T) {
	if !*long {
		t.Skip("fills a store: -long")
	}
	w := newWorld(t)
	const many, times, limit = 1000, 10, 50 * time.Millisecond
	for n := range many {
		name := fmt.Sprintf("w-%04d", n)
		id := w.running(name, "payments")
		err := w.store.SetWaiting(t.Context(), record.Waiting{Investigation: id, WorkflowID: name, RunID: "r", Seq: 1, Waits: record.Waits{
			Approvals: []record.Approval{{
				CallID: "c1_0", Tool: "k8s.scale", Execution: "dig/Memo", WorkflowID: id + "/dig/Memo", Expires: time.Now().Add(time.Hour),
				Digest:    fmt.Sprintf("%064d", n),
				Arguments: fmt.Sprintf(`{"namespace":"team-%d","name":"checkout","replicas":3,"reason":"the queue grows"}`, n),
			}},
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	used := cpu()
	for range times {
		if got := w.call("viewer", "GET", "/api/v1/inbox", nil); got.status != http.StatusOK || strings.Count(got.body, `"call_id"`) != many {
			t.Fatalf("%d, %d calls", got.status, strings.Count(got.body, `"call_id"`))
		}
	}
	took := (cpu() - used) / times
	t.Logf("it takes %s of the processor's time, its reading here included", took)
	if took > limit {
		t.Errorf("more than %s", limit)
	}
}

// viewers lets 200 viewers watch one investigation for ten seconds while an agent writes.
func (w *world) viewers() {
	id := w.running("slow", "payments")
	const many, lasting = 200, 10 * time.Second
	for range many {
		s := w.stream("viewer", "/api/v1/investigations/slow/events", "")
		s.until(events.Record)
		go func() {
			for s.lines.Scan() { // as cheap as possible, because the API is measured
			}
		}()
	}
	used, begun, text := cpu(), time.Now(), ""
	for n := 1; time.Since(begun) < lasting; n++ {
		text += "Another piece of the reply. "
		live := transcript.Live{Scope: transcript.Scope{Investigation: id, Execution: "dig/Memo"}, Iteration: 1, Attempt: 1, Text: text}
		if err := w.store.SetLive(w.Context(), live); err != nil {
			w.Fatal(err)
		}
		if n%20 == 0 {
			w.say(id, n, text)
		}
		time.Sleep(250 * time.Millisecond) // as often as workers write live text
	}
	share := float64(cpu()-used) / float64(time.Since(begun))
	w.Logf("%d viewers take %.1f %% of a core, their own reading included", many, 100*share)
	if share > 0.1 {
		w.Errorf("more than 10 %%")
	}
}

// cpu returns the CPU time that this process has used.
func cpu() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

var long = flag.Bool("long", false, "run the tests that take a minute")

func sorted(all []time.Duration) []time.Duration {
	slices.Sort(all)
	return all
}
