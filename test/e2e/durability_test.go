package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	historypb "go.temporal.io/api/history/v1"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/tool/tooltest"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

// undisturbed is the outcome of a run without interruptions.
var undisturbed = struct {
	sync.Once
	log      string
	requests int
}{}

func baseline(t *testing.T) (log string, requests int) {
	t.Helper()
	undisturbed.Do(func() {
		w, _ := newLab(t, nil)
		w.dev()
		run := w.begin("lab")
		result := w.end("lab")
		if result.Status != agent.StatusCompleted || result.Report != "the report of gamma" {
			t.Fatalf("undisturbed run: %+v", result)
		}
		undisturbed.log = w.log(workflows.InvestigationID("lab", run.GetRunID()))
		undisturbed.requests = len(w.model.Requests())
	})
	if undisturbed.log == "" {
		t.Fatal("there is no undisturbed run to compare with")
	}
	return undisturbed.log, undisturbed.requests
}

// resumed is the time in which an investigation must continue after its processes are back. Heartbeats are
// missed after 12 s, and a busy machine needs more time.
const resumed = 30 * time.Second

// TestKill kills the processes at known points and expects the same transcript as from an undisturbed run.
func TestKill(t *testing.T) {
	t.Parallel()
	killAtPoints(t, false)
}

// TestLongKill does the same at more points.
func TestLongKill(t *testing.T) {
	takesLong(t)
	t.Parallel()
	killAtPoints(t, true)
}

func killAtPoints(t *testing.T, long bool) {
	tests := []struct {
		long bool
		name string
		hold string // "<agent> <turn>": killed during this stream
		gate string // killed during a call to this tool
		// lost means that the worker's last action is in the store, but was never reported to Temporal.
		lost  bool
		whole bool // all of dev is killed, not only the worker
		quick bool // the call is made within a workflow task
	}{
		{long: true, name: "worker in the first stream", hold: "Alpha 1"},
		{name: "dev in the first stream", hold: "Beta 1", whole: true},
		{name: "worker in a later stream", hold: "Alpha 2"},
		{long: true, name: "dev in a later stream", hold: "Alpha 3", whole: true},
		{long: true, name: "worker in the synthesis", hold: "SynthesisAgent 1"},
		{long: true, name: "dev in the synthesis", hold: "SynthesisAgent 1", whole: true},
		{long: true, name: "dev in the last stream", hold: "Gamma 2", whole: true},
		{name: "worker in an idempotent call", gate: "set"},
		{long: true, name: "dev in an idempotent call", gate: "set", whole: true},
		{name: "worker between a reply's write and its completion", hold: "Alpha 2", lost: true},
		{name: "worker in a stream that is quick", hold: "Alpha 2", quick: true},
		{long: true, name: "dev in a stream that is quick", hold: "Alpha 2", whole: true, quick: true},
		{name: "worker between a reply's write and its completion, quick", hold: "Alpha 2", lost: true, quick: true},
		{long: true, name: "worker between the last reply's write and its completion, quick", hold: "Gamma 2", lost: true, quick: true},
		{long: true, name: "worker in an idempotent call that is quick", gate: "set", quick: true},
		{long: true, name: "dev in an idempotent call that is quick", gate: "set", whole: true, quick: true},
		{long: true, name: "worker between a result's write and its completion, quick", gate: "set", lost: true, quick: true},
		{name: "worker between a result's write and its completion, counted, quick", gate: "counter", lost: true, quick: true},
		{long: true, name: "worker between the last reply's write and its completion", hold: "Gamma 2", lost: true},
		{long: true, name: "worker between a result's write and its completion", gate: "set", lost: true},
		{long: true, name: "worker between a result's write and its completion, not idempotent", gate: "counter", lost: true},
	}
	for _, tt := range tests {
		if tt.long != long {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want, requests := baseline(t)
			var gate *tooltest.Gate
			w, l := newLab(t, func(l *lab) {
				l.heldAt = tt.hold
				if tt.gate != "" {
					gate = tooltest.NewGate(t)
					l.gates[tt.gate] = gate.Path
				}
			})
			switch {
			case tt.quick && tt.gate != "":
				w.quick("lab." + tt.gate)
			case tt.quick:
				w.quick(labModel)
			}
			k := kill{world: w, lab: l, gate: gate, lost: tt.lost, whole: tt.whole}
			id := k.run()

			got := w.log(id)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("transcript (-undisturbed +after the kill):\n%s", diff)
			}
			cut := 0 // streams that the kill cuts off: at the first point, both agents' may be running
			if tt.hold != "" && !tt.lost {
				cut = 1
			}
			more := strings.Count(tt.name, "first stream")
			if tt.quick && tt.hold != "" {
				more = 1 // the lost task may have reached the next request
			}
			if n := len(w.model.Requests()); n < requests+cut || n > requests+cut+more {
				t.Errorf("%d model calls were made, want %d and the %d that were cut", n, requests, cut)
			}
			if n := w.effects(); n != 1 {
				t.Errorf("the call that must happen once happened %d times", n)
			}
		})
	}
}

// A workflow task that called the model is lost, and guidance arrives before the next one. The model's reply is
// kept, its calls are made once, and the next request uses the current inputs.
func TestKillBeforeSomebodyConcludes(t *testing.T) {
	t.Parallel()
	_, requests := baseline(t)
	w, l := newLab(t, func(l *lab) {
		l.heldAt = "Alpha 2"
		l.replace["Alpha 4"] = llmtest.Text("alpha knows")
	})
	w.quick(labModel)
	k := kill{world: w, lab: l, lost: true, meanwhile: func(id string) {
		w.signal(id+"/dig/Alpha", workflows.SignalConclude, workflows.Conclude{By: "Ada"})
	}}
	id := k.run()
	var forced []bool
	for _, e := range w.entries(id) {
		if e.Execution == "dig/Alpha" && e.Kind == transcript.KindReply {
			forced = append(forced, e.Forced)
		}
	}
	// The lost task may have finished and made a third reply of its own, or requested one.
	want := append(make([]bool, len(forced)-1), true)
	if n := len(w.model.Requests()); !slices.Equal(forced, want) || len(forced) < 3 || w.effects() != 1 || n > requests+1 {
		t.Errorf("%d effects, %d requests, undisturbed %d; which replies were asked for as conclusions: %v", w.effects(), n, requests, forced)
	}
}

// kill is one run that includes a kill.
type kill struct {
	*world
	lab         *lab
	gate        *tooltest.Gate
	lost, whole bool
	meanwhile   func(investigation string) // runs while the processes are down; may be nil
	proxy       *proxy
}

// run kills at the point, brings the processes back, and waits for the end.
func (k *kill) run() (investigation string) {
	var victim *process
	if k.whole {
		victim = k.dev()
	} else {
		k.dev("--no-worker")
		k.proxy = newProxy(k.t, k.address)
		env := k.env
		k.env = append(append([]string(nil), env...), "TEMPORAL_ADDRESS="+k.proxy.address)
		victim = k.worker()
		k.env = env
	}
	run := k.begin("lab")
	investigation = workflows.InvestigationID("lab", run.GetRunID())
	pass := k.reach(investigation)
	victim.kill()
	pass()
	if k.meanwhile != nil {
		k.meanwhile(investigation)
	}
	k.comeBack()
	if result := k.end("lab"); result.Status != agent.StatusCompleted || result.Report != "the report of gamma" {
		k.t.Errorf("result after the kill: %+v", result)
	}
	return investigation
}

// reach waits for the point of the kill. pass releases the hold there.
func (k *kill) reach(investigation string) (pass func()) {
	k.t.Helper()
	pass = k.lab.hold.Release
	if k.gate != nil {
		pass = k.gate.Wait(k.t)
	} else {
		k.lab.hold.Wait(k.t)
	}
	if !strings.HasSuffix(k.lab.heldAt, " 1") {
		k.until(investigation, func(e transcript.Entry) bool { return e.Text == "beta knows five" }) // Beta is not in a model call
	}
	if !k.lost {
		return pass
	}
	k.proxy.hold()
	before := len(k.entries(investigation))
	pass()
	k.until(investigation, func(e transcript.Entry) bool {
		return e.Seq > int64(before) && (e.Kind == transcript.KindReply && k.gate == nil || e.Kind == transcript.KindResult && k.gate != nil)
	})
	return func() {}
}

func (w *world) entries(investigation string) []transcript.Entry {
	w.t.Helper()
	s, err := store.Open(context.Background(), store.At(w.store))
	if err != nil {
		w.t.Fatal(err)
	}
	defer s.Close() // a test that reads many investigations would take all connections of PostgreSQL
	entries, err := s.After(context.Background(), investigation, 0, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	return entries
}

// comeBack restarts the processes and measures how soon the investigation continues.
func (k *kill) comeBack() {
	before := len(k.model.Requests())
	if k.whole {
		k.dev()
	} else {
		k.worker()
	}
	back := time.Now()
	if k.gate != nil && !k.lost {
		k.gate.Wait(k.t)() // the call that may be retried
	}
	if !k.finishing() {
		k.model.Wait(before + 1)
	}
	if after := time.Since(back); after > resumed {
		k.t.Errorf("it went on only after %s", after)
	} else {
		k.t.Logf("it went on after %s", after.Round(time.Millisecond))
	}
}

// finishing reports whether all model calls have been made.
func (k *kill) finishing() bool { return k.lost && k.lab.heldAt == "Gamma 2" }

// effects returns the number of calls of lab.counter.
func (w *world) effects() int {
	w.t.Helper()
	body, err := os.ReadFile(filepath.Join(w.data, "effects"))
	if err != nil && !errors.Is(err, os.ErrNotExist) { // the first call creates the file
		w.t.Fatal(err)
	}
	return strings.Count(string(body), "\n")
}

// A call that is not idempotent is not retried, and the model is told. A destructive call counts as not
// idempotent, unless configured otherwise.
func TestKillInACallThatIsNotIdempotent(t *testing.T) {
	t.Parallel()
	killInCalls(t, map[string]bool{"counter, worker": false, "delete, dev": true})
}

// TestLongKillInACallThatIsNotIdempotent does the same in the other ways.
func TestLongKillInACallThatIsNotIdempotent(t *testing.T) {
	takesLong(t)
	t.Parallel()
	killInCalls(t, map[string]bool{"counter, dev": true, "delete, worker": false})
}

// killInCalls kills a worker, or all of dev, during a call to a tool. The keys of whole are "<tool>, <victim>".
func killInCalls(t *testing.T, whole map[string]bool) {
	for name, whole := range whole {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool, _, _ := strings.Cut(name, ",")
			gate := tooltest.NewGate(t)
			w, l := newLab(t, func(l *lab) {
				l.replace["Alpha 2"] = llmtest.Calls(llmtest.Call{Name: "lab__" + tool, Args: fmt.Sprintf(`{"file":"effects","gate":%q}`, gate.Path)})
			})
			w.configure(strings.Replace(labConfig, "defaults:", "defaults:\n  tool_config: {confirm_destructive: false}", 1))
			w.knownQuick("lab." + tool) // the tool changes nothing
			k := kill{world: w, lab: l, gate: gate, whole: whole}
			var victim *process
			if whole {
				victim = w.dev()
			} else {
				w.dev("--no-worker")
				victim = w.worker()
			}
			run := w.begin("lab")
			pass := gate.Wait(t)
			victim.kill()
			pass()
			if whole {
				w.dev()
			} else {
				w.worker()
			}
			w.end("lab")
			if n := w.effects(); n != 1 {
				t.Errorf("the call was made %d times", n)
			}
			timedOut := func(e *historypb.HistoryEvent) bool { return e.GetActivityTaskTimedOutEventAttributes() != nil }
			if events := w.history(workflows.InvestigationID("lab", run.GetRunID()) + "/dig/Alpha"); !slices.ContainsFunc(events, timedOut) {
				t.Error("the workflow was not told that the worker has died: nobody counts how often")
			}
			results := 0
			for _, e := range k.entries(workflows.InvestigationID("lab", run.GetRunID())) {
				if e.Kind == transcript.KindResult && e.Call.Name == "lab."+tool {
					results++
					if e.ErrorType != "OutcomeUnknown" {
						t.Errorf("the model was told %s: %s", e.ErrorType, e.Text)
					}
				}
			}
			if results != 1 {
				t.Errorf("%d results of the call", results)
			}
		})
	}
}

// A pause survives a kill of all processes, and no model call is made meanwhile.
func TestKillWhilePaused(t *testing.T) {
	t.Parallel()
	want, requests := baseline(t)
	w, l := newLab(t, func(l *lab) { l.heldAt = "Alpha 2" })
	dev := w.dev()
	run := w.begin("lab")
	id := workflows.InvestigationID("lab", run.GetRunID())
	l.hold.Wait(t)
	w.signal("lab", workflows.SignalPause, nil)
	eventually(t, "Alpha is paused", func() bool { return w.agentStatus(id+"/dig/Alpha").Status == agent.StatusPaused })
	l.hold.Release()
	w.until(id, func(e transcript.Entry) bool { return e.Kind == transcript.KindResult && e.Call.Name == "lab.counter" })
	dev.kill()
	before := len(w.model.Requests())
	w.dev()
	eventually(t, "Alpha is still paused", func() bool {
		s := w.agentStatus(id + "/dig/Alpha")
		return s.Status == agent.StatusPaused && s.Doing == "paused"
	})
	if n := len(w.model.Requests()); n != before {
		t.Errorf("%d model calls while paused", n-before)
	}
	w.signal("lab", workflows.SignalResume, nil)
	w.end("lab")
	if diff := cmp.Diff(want, w.log(id)); diff != "" {
		t.Errorf("transcript (-undisturbed +after the kill):\n%s", diff)
	}
	if n := len(w.model.Requests()); n != requests {
		t.Errorf("%d model calls, want %d", n, requests)
	}
}

// The worker is killed while it waits for a provider's Retry-After.
func TestLongKillInBackoff(t *testing.T) {
	takesLong(t)
	t.Parallel()
	want, requests := baseline(t)
	var once sync.Once
	limited := make(chan struct{})
	w, l := newLab(t, nil)
	inner := l.script()
	w.model = llmtest.Start(t, func(req llmtest.Request) llmtest.Reply {
		reply := inner(req)
		if who(req) == "Beta" && turnOf(req) == 2 {
			once.Do(func() {
				reply = llmtest.RateLimited(3 * time.Second)
				close(limited)
			})
		}
		return reply
	})
	w.env = append(w.env, "E2E_MODEL="+w.model.URL)
	dev := w.dev()
	run := w.begin("lab")
	<-limited
	dev.kill()
	w.dev()
	w.end("lab")
	if diff := cmp.Diff(want, w.log(workflows.InvestigationID("lab", run.GetRunID()))); diff != "" {
		t.Errorf("transcript (-undisturbed +after the kill):\n%s", diff)
	}
	if n := len(w.model.Requests()); n < requests+1 {
		t.Errorf("%d model calls, want at least %d: one was refused", n, requests+1)
	}
}

// The processes are killed repeatedly at random points, and the data stays consistent.
func TestKillAtRandom(t *testing.T) {
	t.Parallel()
	want, requests := baseline(t)
	w, _ := newLab(t, nil)
	dev := w.dev()
	run := w.begin("lab")
	id := workflows.InvestigationID("lab", run.GetRunID())
	const kills = 5
	for n := 1; n <= kills; n++ {
		seen := 0
		w.until(id, func(transcript.Entry) bool { seen++; return seen >= 4*n })
		dev.kill()
		dev = w.dev()
	}
	w.end("lab")
	// The kill was between the intent and the result of the non-repeatable call, which may or may not have taken effect.
	unknown := slices.ContainsFunc(w.entries(id), func(e transcript.Entry) bool {
		return e.Kind == transcript.KindResult && e.Call.Name == "lab.counter" && e.ErrorType == "OutcomeUnknown"
	})
	if n := w.effects(); n > 1 || n == 0 && !unknown {
		t.Errorf("the call that must happen once happened %d times", n)
	}
	if diff := cmp.Diff(want, w.log(id)); diff != "" && !unknown {
		t.Errorf("transcript (-undisturbed +after %d kills):\n%s", kills, diff)
	}
	if n := len(w.model.Requests()); n > requests+2*kills {
		t.Errorf("%d model calls for %d kills, want at most two more for each than %d", n, kills, requests)
	}
}

func (w *world) signal(id, name string, payload any) {
	w.t.Helper()
	if err := w.client().SignalWorkflow(context.Background(), id, "", name, payload); err != nil {
		w.t.Fatal(err)
	}
}

// beats waits until the only activity of a workflow has sent a heartbeat. A call that was expected to be quick becomes an
// activity after a second.
func (w *world) beats(workflowID string) {
	w.t.Helper()
	eventually(w.t, workflowID+" has an activity with a heartbeat", func() bool {
		described, err := w.client().DescribeWorkflowExecution(context.Background(), workflowID, "")
		if err != nil {
			w.t.Fatal(err)
		}
		pending := described.GetPendingActivities()
		return len(pending) == 1 && pending[0].GetLastHeartbeatTime() != nil
	})
}

// agentStatus queries an agent. It returns the zero status if no worker is back yet.
func (w *world) agentStatus(workflowID string) (status workflows.AgentStatus) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if value, err := w.client().QueryWorkflow(ctx, workflowID, "", workflows.QueryStatus); err == nil {
		_ = value.Get(&status)
	}
	return status
}
