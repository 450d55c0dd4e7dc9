package e2e

import (
	"context"
	"database/sql"
	"encoding/json"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/tool/tooltest"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

// stalled is an investigation whose worker reaches Temporal through a proxy that stalls.
type stalled struct {
	*world
	lab  *lab
	wire *proxy
	id   string
}

func stalledLab(t *testing.T, prepare func(*lab), quick ...string) *stalled {
	t.Helper()
	w, l := newLab(t, prepare)
	w.quick(quick...)
	w.dev("--no-worker")
	s := &stalled{world: w, lab: l, wire: newProxy(t, w.address)}
	w.with("TEMPORAL_ADDRESS=" + s.wire.address).worker()
	s.id = workflows.InvestigationID("lab", w.begin("lab").GetRunID())
	return s
}

// completed waits for the end and checks how often the non-repeatable call was made.
func (s *stalled) completed() {
	s.t.Helper()
	if result := s.end("lab"); result.Status != agent.StatusCompleted || result.Report != "the report of gamma" {
		s.t.Errorf("result after the stall: %+v", result)
	}
	if n := s.effects(); n != 1 {
		s.t.Errorf("the call that must happen once happened %d times", n)
	}
}

// A stall of Temporal that is shorter than the heartbeat timeout cuts off nothing: running calls and streams
// are kept, and nothing is paid for twice.
func TestStallOfTemporal(t *testing.T) {
	t.Parallel()
	stallFor(t, 6*time.Second)
}

func TestLongShortStallsOfTemporal(t *testing.T) {
	takesLong(t)
	t.Parallel()
	stallFor(t, time.Second, 5*time.Second, 10*time.Second)
}

func stallFor(t *testing.T, stalls ...time.Duration) {
	want, requests := baseline(t)
	for _, stall := range stalls {
		for _, at := range []string{"in a call", "in a quick call", "in a stream", "in a quick stream"} {
			t.Run(at+" for "+stall.String(), func(t *testing.T) {
				t.Parallel()
				gate := tooltest.NewGate(t)
				var quick []string
				switch at {
				case "in a quick call":
					quick = []string{"lab.counter"}
				case "in a quick stream":
					quick = []string{labModel}
				}
				streams := strings.HasSuffix(at, "stream")
				s := stalledLab(t, func(l *lab) {
					if !streams {
						l.gates["counter"] = gate.Path
					} else {
						l.heldAt = "Alpha 2"
					}
				}, quick...)
				release := s.lab.hold.Release
				if !streams {
					release = gate.Wait(t)
				} else {
					s.lab.hold.Wait(t)
				}
				s.beats(s.id + "/dig/Alpha")
				s.wire.stall(stall)
				release()
				s.completed()
				if diff := cmp.Diff(want, s.log(s.id)); diff != "" {
					t.Errorf("transcript (-undisturbed +after the stall):\n%s", diff)
				}
				if n := len(s.model.Requests()); n != requests {
					t.Errorf("%d model calls, want %d", n, requests)
				}
			})
		}
	}
}

// If the stall is longer than the heartbeat timeout, Temporal starts another attempt. The model is told the
// truth: the call's outcome is unknown.
func TestLongStallOfTemporal(t *testing.T) {
	takesLong(t)
	t.Parallel()
	gate := tooltest.NewGate(t)
	s := stalledLab(t, func(l *lab) { l.gates["counter"] = gate.Path })
	pass := gate.Wait(t)
	s.beats(s.id + "/dig/Alpha")
	s.wire.stall(30 * time.Second)
	s.until(s.id, func(e transcript.Entry) bool { return e.Kind == transcript.KindResult && e.Call.Name == "lab.counter" })
	pass()
	s.end("lab")
	if n := s.effects(); n > 1 {
		t.Errorf("the call that must happen once happened %d times", n)
	}
	for _, e := range s.entries(s.id) {
		if e.Kind == transcript.KindResult && e.Call.Name == "lab.counter" && e.ErrorType != "OutcomeUnknown" {
			t.Errorf("the model was told %q: %s", e.ErrorType, e.Text)
		}
	}
}

// A cancel reaches a running call with the next heartbeat.
func TestCancelArrivesSoon(t *testing.T) {
	t.Parallel()
	gate := tooltest.NewGate(t)
	w, _ := newLab(t, func(l *lab) { l.gates["counter"] = gate.Path })
	w.dev()
	id := workflows.InvestigationID("lab", w.begin("lab").GetRunID())
	gate.Wait(t)
	w.beats(id + "/dig/Alpha")
	began := time.Now()
	w.must("cancel", "lab")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := w.client().GetWorkflow(ctx, "lab", "").Get(ctx, nil); !temporal.IsCanceledError(err) {
		t.Errorf("it ended with %v", err)
	}
	if took := time.Since(began); took > 20*time.Second { // includes the CLI's own time; otherwise it lasts until the call's timeout
		t.Errorf("it took %s", took)
	}
}

// A locked store is waited for, and the wait does not count as an attempt.
func TestStallOfSQLite(t *testing.T) {
	t.Parallel()
	want, requests := baseline(t)
	gate := tooltest.NewGate(t)
	w, _ := newLab(t, func(l *lab) { l.gates["counter"] = gate.Path })
	w.dev()
	id := workflows.InvestigationID("lab", w.begin("lab").GetRunID())
	pass := gate.Wait(t)
	lock, err := sql.Open("sqlite", filepath.Join(w.data, "inquest.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	conn, err := lock.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(context.Background(), "PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	pass()
	began := time.Now()
	var status workflows.Status
	for deadline := began.Add(patience); !strings.HasPrefix(status.WaitingFor, "the store, since "); {
		if time.Now().After(deadline) {
			t.Fatalf("nobody is told that the store is waited for: %+v", status)
		}
		if err := json.Unmarshal([]byte(w.must("status", "lab", "--json")), &status); err != nil {
			t.Fatal(err)
		}
	}
	if len(status.Troubles) == 0 || status.Troubles[0].ErrorType != "Store" ||
		!strings.Contains(w.must("status", "lab"), "waiting for the store, since ") {
		t.Errorf("status: %+v", status)
	}
	time.Sleep(lasting(15*time.Second, 10*time.Minute) - time.Since(began))
	if _, err := conn.ExecContext(context.Background(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	w.end("lab")
	if diff := cmp.Diff(want, w.log(id)); diff != "" {
		t.Errorf("transcript (-undisturbed +after the lock):\n%s", diff)
	}
	if n := len(w.model.Requests()); n != requests || w.effects() != 1 {
		t.Errorf("%d model calls, want %d; %d effects", n, requests, w.effects())
	}
}

// The system waits for an unavailable provider. The status, the transcript and the CLI report it.
func TestOutageOfAProvider(t *testing.T) {
	t.Parallel()
	script := newScript().script()
	var refusals atomic.Int32
	var told atomic.Bool
	began := time.Now()
	w := newWorld(t, func(req llmtest.Request) llmtest.Reply {
		if who(req) == "Gamma" && (refusals.Add(1) <= 3 || !told.Load() || time.Since(began) < lasting(0, time.Hour)) {
			return llmtest.Status(503, `{"error":{"message":"the model is overloaded"}}`)
		}
		return script(req)
	}, labConfig)
	w.dev()
	id := workflows.InvestigationID("lab", w.begin("lab").GetRunID())
	deadline := time.Now().Add(patience)
	for status := ""; !strings.Contains(status, "provider unavailable (HTTP 503)"); {
		if time.Now().After(deadline) {
			t.Fatalf("nobody is told:\n%s", status)
		}
		status = w.must("status", "lab")
	}
	told.Store(true)
	if result := w.end("lab"); result.Status != agent.StatusCompleted {
		t.Errorf("got %+v", result)
	}
	tries := 0
	for _, e := range w.entries(id) {
		if e.Kind == transcript.KindTry {
			tries++
		}
	}
	if *recordHistories {
		w.record("outage")
	}
	if shown := w.must("show", "lab"); tries < 3 || strings.Count(shown, "the model is overloaded") != tries {
		t.Errorf("%d tries in the transcript, shown as:\n%s", tries, shown)
	}
}

// pause stops a process for a while, like an overloaded host.
func (p *process) pause(d time.Duration) {
	p.t.Helper()
	resume := p.freeze()
	time.Sleep(d)
	resume()
}

// freeze stops a process until resume is called.
func (p *process) freeze() (resume func()) {
	p.t.Helper()
	signal := func(s syscall.Signal) {
		if err := p.cmd.Process.Signal(s); err != nil {
			p.t.Errorf("%s: %v", s, err)
		}
	}
	signal(syscall.SIGSTOP)
	return func() { signal(syscall.SIGCONT) }
}

// freezeBetweenWrites freezes a process that does not hold the lock of the SQLite store, which would stop all others, too.
func (w *world) freezeBetweenWrites(p *process) (resume func()) {
	w.t.Helper()
	db, err := sql.Open("sqlite", w.store)
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	eventually(w.t, "a moment without a write", func() bool {
		resume = p.freeze()
		_, err := db.ExecContext(w.t.Context(), "BEGIN IMMEDIATE; ROLLBACK")
		if err != nil {
			resume()
		}
		return err == nil
	})
	return resume
}

// A worker that stops for longer than its heartbeat timeout loses its work to another worker. When it
// continues, it does not damage the other worker's results.
func TestLongStallOfAWorker(t *testing.T) {
	takesLong(t)
	t.Parallel()
	gate := tooltest.NewGate(t)
	w, _ := newLab(t, func(l *lab) { l.gates["counter"] = gate.Path })
	w.dev("--no-worker")
	sleeper := w.worker()
	id := workflows.InvestigationID("lab", w.begin("lab").GetRunID())
	pass := gate.Wait(t)
	w.worker()
	sleeper.pause(20 * time.Second)
	pass()
	if result := w.end("lab"); result.Status != agent.StatusCompleted {
		t.Errorf("got %+v", result)
	}
	results := 0
	for _, e := range w.entries(id) {
		if e.Kind == transcript.KindResult && e.Call.Name == "lab.counter" {
			results++
		}
	}
	if effects := w.effects(); results != 1 || effects > 1 {
		t.Errorf("%d results, %d effects", results, effects)
	}
}
