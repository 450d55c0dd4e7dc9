package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	historypb "go.temporal.io/api/history/v1"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

// nearConfig serves the lab's server by the workers of a separate queue.
var nearConfig = strings.NewReplacer(
	`command: "{{.E2E_TOOLS}}"}}`, `command: "{{.E2E_TOOLS}}"}, task_queue: tools.lab}`,
	"defaults:\n", "queue: {graceful_shutdown_timeout: 4s}\ndefaults:\n  timeouts: {queue: 2s}\n",
).Replace(labConfig)

// without returns the same installation, with variables removed from its programs' environment.
func (w *world) without(names ...string) *world {
	other := *w
	other.env = slices.DeleteFunc(slices.Clone(w.env), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(names, name)
	})
	return &other
}

// Only the workers of its task queue list and use a server. Neither they nor the other workers need the others'
// variables.
func TestTaskQueueOfAServer(t *testing.T) {
	t.Parallel()
	w, _ := newLab(t, nil)
	w.configure(nearConfig)
	w.dev("--no-worker")
	far := w.without("E2E_TOOLS").start("worker started", "worker", "--config", w.config)
	near := w.without("E2E_KEY", "E2E_MODEL").start("only_tools_of=[lab]", "worker", "--config", w.config, "--task-queue", "tools.lab")
	w.begin("lab")
	result := w.end("lab")
	if result.Status != agent.StatusCompleted {
		t.Fatalf("got %+v", result)
	}
	if results := w.results(result.ID); len(results) != 5 ||
		slices.ContainsFunc(results, func(e transcript.Entry) bool { return e.Status != "success" }) {
		t.Errorf("results of tools: %+v", results)
	}
	for _, p := range []*process{far, near} {
		if code := p.terminate(); code != 0 || !strings.Contains(p.log.String(), "for_at_most=4s") {
			t.Errorf("exit code %d:\n%s", code, p.log)
		}
	}
}

// results returns the tool results in an investigation's transcript.
func (w *world) results(investigation string) []transcript.Entry {
	w.t.Helper()
	return slices.DeleteFunc(w.entries(investigation), func(e transcript.Entry) bool { return e.Kind != transcript.KindResult })
}

// If no worker serves the queue, the agent is told that it has no such tools. If its last worker goes away, the
// agent is told that its call failed. The investigation continues.
func TestTaskQueueThatNobodyServes(t *testing.T) {
	t.Parallel()
	for _, served := range []bool{false, true} {
		t.Run(fmt.Sprintf("served at first: %t", served), func(t *testing.T) {
			t.Parallel()
			w, l := newLab(t, func(l *lab) { l.heldAt = "Alpha 1" })
			w.configure(nearConfig)
			w.dev()
			var near *process
			if served {
				near = w.start("only_tools_of=[lab]", "worker", "--config", w.config, "--task-queue", "tools.lab")
			}
			w.begin("lab")
			l.hold.Wait(t) // Alpha has listed its tools
			if served {
				near.kill()
			}
			l.hold.Release()
			result := w.end("lab")
			if result.Status != agent.StatusCompleted {
				t.Fatalf("got %+v", result)
			}
			system, results := w.requestOf(t, "Alpha").System(), w.results(result.ID)
			results = slices.DeleteFunc(results, func(e transcript.Entry) bool { return e.Execution != "dig/Alpha" })
			if reported := strings.Contains(system, "Server lab is not available"); reported == served || len(results) != 3 {
				t.Errorf("%d results; Alpha was told\n%s", len(results), system)
			}
			for _, e := range results {
				if served && (e.Status == "success" || !strings.Contains(e.Text, "no worker picked up the call in time")) {
					t.Errorf("%s: %s", e.Call.Name, e.Text)
				}
			}
		})
	}
}

// requestOf returns the first request of an agent.
func (w *world) requestOf(t *testing.T, agent string) llmtest.Request {
	t.Helper()
	requests := w.model.Requests()
	i := slices.IndexFunc(requests, func(req llmtest.Request) bool { return who(req) == agent })
	if i < 0 {
		t.Fatalf("nobody has asked for %s", agent)
	}
	return requests[i]
}

// A worker runs as many calls in parallel as the configuration allows, or its flag, which takes precedence.
// Further calls wait.
func TestCallsAtOnce(t *testing.T) {
	t.Parallel()
	const agents = 6
	for name, tt := range map[string]struct {
		config string
		flags  []string
		most   int
	}{
		"configuration": {"queue: {worker_count: 2}\n", nil, 2},
		"flag":          {"queue: {worker_count: 1}\n", []string{"--max-calls", "3"}, 3},
		"unbounded":     {"", nil, agents},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hold := llmtest.NewHold()
			w := newWorld(t, func(llmtest.Request) llmtest.Reply { return llmtest.Text("done").Chunked(2, 0).Hold(hold, 1) }, tt.config+crowdConfig)
			w.dev("--no-worker")
			w.worker(tt.flags...)
			run := w.beginWith("crowd", agent.Request{Chain: "crowd", Data: json.RawMessage(`"hello"`)})
			eventually(t, "as many calls as may be", func() bool { return len(w.model.Requests()) == tt.most })
			hold.Release()
			w.end("crowd")
			var histories [][]*historypb.HistoryEvent
			for n := range agents {
				id := workflows.InvestigationID("crowd", run.GetRunID())
				histories = append(histories, w.history(fmt.Sprintf("%s/dig/Digger-%d", id, n+1)))
			}
			if most := atOnce(histories...); most != tt.most {
				t.Errorf("%d calls ran at once, want %d", most, tt.most)
			}
		})
	}
}

// crowdConfig has six independent agents.
const crowdConfig = `
llm_providers:
  lab-model: {type: openai, model: lab-1, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
defaults: {llm_provider: lab-model}
agents:
  Digger: {description: digs}
agent_chains:
  crowd: {alert_types: [crowd], stages: [{name: dig, replicas: 6, agents: [{name: Digger}]}]}
`

// atOnce returns the highest number of activities that ran at the same time.
func atOnce(histories ...[]*historypb.HistoryEvent) (most int) {
	var changes []change
	for _, history := range histories {
		for _, e := range history {
			switch {
			case e.GetActivityTaskStartedEventAttributes() != nil:
				changes = append(changes, change{e.GetEventTime().AsTime(), 1})
			case e.GetActivityTaskCompletedEventAttributes() != nil:
				changes = append(changes, change{e.GetEventTime().AsTime(), -1})
			}
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(a.at.Compare(b.at), a.by-b.by) })
	running := 0
	for _, c := range changes {
		running += c.by
		most = max(most, running)
	}
	return most
}

// change is the start or the end of an activity.
type change struct {
	at time.Time
	by int
}
