package e2e

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/store/postgrestest"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

// TestFleet has two workers share a PostgreSQL, on two hosts if the system allows tests a second one. Their
// model thinks and signs its thoughts. The loss of a worker or of the database does not show in the transcript.
func TestFleet(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.dev("--no-worker")
	f.workers = []*process{
		f.with("INQUEST_STORE=").worker("--store", f.store),
		f.with("INQUEST_STORE=", "DATABASE_URL="+f.store).workerElsewhere(), // uses system.store
	}
	undisturbed := f.investigate("undisturbed", func(string) {})
	once := []string{"Alpha 1", "Alpha 2", "Alpha 3", "Beta 1", "Beta 2", "SynthesisAgent 1", "Gamma 1", "Gamma 2"}
	if diff := cmp.Diff(count(once), count(undisturbed.calls)); diff != "" {
		t.Errorf("model calls (-want +got):\n%s", diff)
	}
	tests := []struct {
		name     string
		disturb  func(id string)
		repeated []string // calls that are repeated because their stream was cut off
	}{
		{"a worker is killed", f.killWorker, []string{"Alpha 2"}},
		{"the database is killed", f.killDatabase, nil}, // its worker keeps the reply
		{"the database stalls", f.stallDatabase, nil},
	}
	for _, tt := range tests {
		got := f.investigate(strings.ReplaceAll(tt.name, " ", "-"), tt.disturb)
		if diff := cmp.Diff(undisturbed.log, got.log); diff != "" {
			t.Errorf("%s: transcript (-undisturbed +got):\n%s", tt.name, diff)
		}
		if diff := cmp.Diff(count(append(once, tt.repeated...)), count(got.calls)); diff != "" {
			t.Errorf("%s: model calls (-want +got):\n%s", tt.name, diff)
		}
	}
	shown := f.must("show", undisturbed.id)
	if !strings.Contains(shown, "now once only") || !strings.Contains(shown, "the report of gamma") {
		t.Errorf("starter shows of the store:\n%s", shown)
	}
}

// A worker that cannot read its store from the configuration reports the cause without revealing the value.
func TestStoreOfTheConfiguration(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newScript().script(), fleetConfig()).with("INQUEST_STORE=")
	for name, tt := range map[string]struct{ env, says string }{
		"no variable":      {"UNRELATED=1", "system.store.postgres.dsn: variables that are not set: DATABASE_URL"},
		"an empty one":     {"DATABASE_URL=", "system.store.postgres.dsn: {{.DATABASE_URL}} is empty"},
		"libpq's spelling": {"DATABASE_URL=host=127.0.0.1 user=u password=" + key, "the address must be postgres://"},
		"nobody listens":   {"DATABASE_URL=postgres://u:" + key + "@127.0.0.1:1/db", store.ErrUnavailable.Error()},
		"a path":           {"DATABASE_URL=/" + key, "the address must be postgres://"},
	} {
		_, errs, code := w.with(tt.env).program(filepath.Join(bin, "worker"), "", "--config", w.config)
		if code == 0 || !strings.Contains(errs, tt.says) {
			t.Errorf("%s: exit code %d, and it does not say %q:\n%s", name, code, tt.says, errs)
		}
		w.hidden(errs)
	}
}

// fleet is a world with content in PostgreSQL and Gemini as its model.
type fleet struct {
	*world
	database *postgrestest.Server
	workers  []*process
	script   llmtest.Script
	point    atomic.Pointer[point]
}

// point is an agent's turn whose stream is held after its first chunk.
type point struct {
	turn string // "<agent> <turn>"
	hold *llmtest.Hold
}

// fleetConfig is the lab's configuration, with Gemini as the provider and a PostgreSQL database from the
// environment.
func fleetConfig() string {
	return strings.NewReplacer(
		`type: openai, model: lab-1, base_url: "{{.E2E_MODEL}}"`, `type: google, model: gemini-3-lab, base_url: "{{.E2E_GEMINI}}"`,
		"defaults:\n", "system: {store: {postgres: {dsn: \"{{.DATABASE_URL}}\"}}}\ndefaults:\n  llm_backend: native-gemini\n",
	).Replace(labConfig)
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{database: postgrestest.Start(t), script: newScript().script()}
	f.world = newWorld(t, f.reply, fleetConfig())
	f.store = f.database.Database(t, "fleet")
	f.env = append(f.env, "INQUEST_STORE="+f.store)
	return f
}

// reply is the lab's reply with a signature. Its calls have no IDs, as is usual on this wire format.
func (f *fleet) reply(req llmtest.Request) llmtest.Reply {
	turn := asked([]llmtest.Request{req})[0]
	reply := f.script(req).Signed(signature(turn))
	if p := f.point.Load(); p != nil && p.turn == turn {
		return reply.Hold(p.hold, 1)
	}
	return reply
}

// signature returns Gemini's signature of a turn's thoughts: bytes that must come back unchanged.
func signature(turn string) string {
	return base64.StdEncoding.EncodeToString([]byte("\x00\xff signed: " + turn))
}

// outcome is the result of an investigation.
type outcome struct {
	id, log string
	calls   []string // model calls: "<agent> <turn>"
}

// investigate runs an investigation and disturbs it.
func (f *fleet) investigate(workflowID string, disturb func(id string)) outcome {
	f.t.Helper()
	before := len(f.model.Requests())
	p := &point{turn: "Alpha 2", hold: llmtest.NewHold()}
	f.point.Store(p)
	id := workflows.InvestigationID(workflowID, f.begin(workflowID).GetRunID())
	p.hold.Wait(f.t)
	f.until(id, func(e transcript.Entry) bool { return e.Execution == "dig/Beta" && e.Text == "beta knows five" })
	disturb(id)
	p.hold.Release()
	if result := f.end(workflowID); result.Status != agent.StatusCompleted || result.Report != "the report of gamma" {
		f.t.Errorf("%s: %+v", workflowID, result)
	}
	requests := f.model.Requests()[before:]
	f.checkSigned(requests)
	if n := f.effects(); n != 1 {
		f.t.Errorf("%s: the call that must happen once happened %d times", workflowID, n)
	}
	if err := os.Remove(filepath.Join(f.data, "effects")); err != nil {
		f.t.Fatal(err)
	}
	return outcome{id, f.log(id), asked(requests)}
}

// killWorker kills the worker that is waiting for Alpha's reply.
func (f *fleet) killWorker(id string) {
	f.t.Helper()
	for i, worker := range f.workers {
		if strings.HasPrefix(f.runs(id+"/dig/Alpha"), fmt.Sprintf("%d@", worker.cmd.Process.Pid)) {
			worker.kill()
			f.workers = append(f.workers[:i], f.workers[i+1:]...)
			return
		}
	}
	f.t.Fatalf("no worker has the call: %s", f.runs(id+"/dig/Alpha"))
}

// runs returns the identity of the worker that runs an agent's activity. A call that was expected to be quick
// becomes an activity after a second.
func (f *fleet) runs(workflowID string) (identity string) {
	f.t.Helper()
	eventually(f.t, "one activity is pending, and begun", func() bool {
		described, err := f.client().DescribeWorkflowExecution(context.Background(), workflowID, "")
		if err != nil {
			f.t.Fatal(err)
		}
		if pending := described.GetPendingActivities(); len(pending) == 1 {
			identity = pending[0].GetLastWorkerIdentity()
		}
		return identity != ""
	})
	return identity
}

// killDatabase kills the database until a worker has noticed; Alpha's reply arrives meanwhile.
func (f *fleet) killDatabase(string) {
	f.t.Helper()
	f.database.Kill(f.t)
	f.point.Load().hold.Release()
	f.workers[0].says(1, store.ErrUnavailable.Error())
	time.Sleep(lasting(0, 10*time.Minute))
	f.database.Restart(f.t)
}

// stallDatabase stalls the database for longer than the heartbeat timeout, while Alpha's reply arrives.
func (f *fleet) stallDatabase(string) {
	f.t.Helper()
	f.database.Stall(f.t, func() {
		f.point.Load().hold.Release()
		time.Sleep(15 * time.Second)
	})
}

// checkSigned checks that every turn of the model comes back with its original signature on its first call, and
// that results answer their own calls.
func (f *fleet) checkSigned(requests []llmtest.Request) {
	f.t.Helper()
	for _, req := range requests {
		turn, open := 0, ""
		for _, m := range req.Messages {
			if m.Role == "tool" && !strings.Contains(open, "["+m.ToolCallID+"]") {
				f.t.Errorf("%s: a result for %q, asked for were %s", who(req), m.ToolCallID, open)
			}
			if m.Role != "assistant" {
				continue
			}
			turn++
			open = ""
			for n, call := range m.ToolCalls {
				open += "[" + call.ID + "]"
				want := ""
				if n == 0 {
					want = signature(fmt.Sprintf("%s %d", who(req), turn))
				}
				if call.Signature != want {
					f.t.Errorf("%s: call %d of turn %d came back signed %q, want %q", who(req), n, turn, call.Signature, want)
				}
			}
		}
	}
}
