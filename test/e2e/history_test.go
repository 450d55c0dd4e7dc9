package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/test/history"
	"github.com/inquest-dev/inquest/workflows"
)

const longConfig = `
llm_providers:
  lab-model: {type: openai, model: gpt-4o, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
mcp_servers:
  lab: {transport: {type: stdio, command: "{{.E2E_TOOLS}}"}}
defaults: {llm_provider: lab-model, max_iterations: 200}
agents:
  Alpha: {description: digs, mcp_servers: [lab]}
agent_chains:
  long:
    alert_types: [long]
    stages: [{name: dig, agents: [{name: Alpha}]}]
`

const (
	iterations = 100
	maxEvents  = 12
	maxBytes   = 2300
	// maxQuickEvents is the limit for an iteration whose tool is quick.
	maxQuickEvents = 7
	maxQuickBytes  = 1600
)

// A history holds decisions and references. The size of an iteration in it depends on neither the size of the
// conversation nor the number of the iteration.
func TestLongHistoryIsSmallAndFlat(t *testing.T) {
	takesLong(t)
	t.Parallel()
	t.Run("regular", func(t *testing.T) {
		t.Parallel()
		isFlat(t, iterations, "0", maxEvents, maxBytes)
	})
	t.Run("quick", func(t *testing.T) {
		t.Parallel()
		isFlat(t, iterations, "1s", maxQuickEvents, maxQuickBytes)
	})
}

// The same for a few iterations.
func TestHistoryOfQuickCalls(t *testing.T) {
	t.Parallel()
	isFlat(t, 5, "1s", maxQuickEvents, maxQuickBytes)
}

// If the model is quick too, an iteration is two markers, except where signals have to be delivered.
func TestHistoryOfAQuickModel(t *testing.T) {
	t.Parallel()
	events := isFlat(t, 20, "1s", maxQuickEvents+1, maxBytes, "model lab-model gpt-4o") // a call that becomes slow leaves a marker
	if least := slices.Min(events); least != 2 {                                        // a slow machine has many deliveries
		t.Errorf("no iteration is two markers: %v", events)
	}
}

func isFlat(t *testing.T, iterations int, under string, maxEvents, maxBytes int, quick ...string) (events []int) {
	config := strings.Replace(longConfig, "max_iterations: 200", "max_iterations: 200, tool_config: {quick_under: "+under+"}", 1)
	if len(quick) > 0 {
		config = strings.Replace(config, "E2E_KEY}", "E2E_KEY, quick_under: 1s}", 1)
	}
	w := newWorld(t, func(req llmtest.Request) llmtest.Reply {
		if turn := turnOf(req); turn <= iterations {
			return llmtest.Calls(llmtest.Call{Name: "lab__big", Args: `{"bytes":5120}`}).Text(fmt.Sprintf("Step %d: looking further.", turn))
		}
		return llmtest.Text("done")
	}, config)
	w.quick(append(quick, "lab.big")...)
	w.dev()
	data, _ := json.Marshal(strings.Repeat("A line of the incident's context, as long as such lines are.\n", 200<<10/62))
	run := w.beginWith("long", agent.Request{Chain: "long", Data: data})
	w.end("long")
	id := workflows.InvestigationID("long", run.GetRunID())

	events, bytes := perIteration(w.history(id + "/dig/Alpha"))
	if len(events) != iterations {
		t.Fatalf("the history has %d iterations, want %d", len(events), iterations)
	}
	for i := range events {
		if i%10 == 0 || i == iterations-1 {
			t.Logf("iteration %3d: %2d events, %5d bytes", i+1, events[i], bytes[i])
		}
		most := maxEvents
		if i == 0 {
			most += 2 // the timer that limits the wait for tool servers, and its end
		}
		most += handedOver
		if events[i] > most || bytes[i] > maxBytes+handedOverBytes {
			t.Errorf("iteration %d adds %d events and %d bytes; at most %d and %d", i+1, events[i], bytes[i], most, maxBytes+handedOverBytes)
		}
	}
	if median := slices.Sorted(slices.Values(events))[len(events)/2]; median > maxEvents {
		t.Errorf("half of the iterations add %d events or more; at most %d", median, maxEvents)
	}
	if median := slices.Sorted(slices.Values(bytes))[len(bytes)/2]; median > maxBytes {
		t.Errorf("half of the iterations add %d bytes or more; at most %d", median, maxBytes)
	}
	return events
}

// handedOver events and handedOverBytes bytes are what a busy machine adds to an iteration: a call that started
// as quick and turned out slow, or a workflow task that was retried.
const (
	handedOver      = 9
	handedOverBytes = 1000
)

func (w *world) history(workflowID string) (events []*historypb.HistoryEvent) {
	w.t.Helper()
	iter := w.client().GetWorkflowHistory(context.Background(), workflowID, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for iter.HasNext() {
		event, err := iter.Next()
		if err != nil {
			w.t.Fatal(err)
		}
		events = append(events, event)
	}
	return events
}

// perIteration counts events and bytes from one model call to the next.
func perIteration(all []*historypb.HistoryEvent) (events, bytes []int) {
	for _, e := range all {
		if history.AsksModel(e) {
			events, bytes = append(events, 0), append(bytes, 0)
		}
		if n := len(events); n > 0 {
			events[n-1]++
			bytes[n-1] += e.Size()
		}
	}
	return events[:len(events)-1], bytes[:len(bytes)-1] // the last call ends the agent
}

// A 1 MB alert, inline and by reference, and a 10 MB tool result do no harm.
func TestLongLargeThings(t *testing.T) {
	takesLong(t)
	t.Parallel()
	w := newWorld(t, func(req llmtest.Request) llmtest.Reply {
		if turnOf(req) == 1 {
			return llmtest.Calls(llmtest.Call{Name: "lab__big", Args: `{"bytes":10485760}`})
		}
		return llmtest.Text("done")
	}, longConfig)
	w.dev()
	alert := strings.Repeat("disk full on node 7\n", 1<<20/20)
	inline, _ := json.Marshal(alert)
	ref, err := w.open().PutBlob(context.Background(), []byte(alert))
	if err != nil {
		t.Fatal(err)
	}
	for name, req := range map[string]agent.Request{
		"inline":       {Chain: "long", Data: inline, Attach: true},
		"by-reference": {Chain: "long", DataRef: ref, Attach: true},
	} {
		run := w.beginWith(name, req)
		if result := w.end(name); result.Report != "done" {
			t.Errorf("%s: %+v", name, result)
		}
		id := workflows.InvestigationID(name, run.GetRunID())
		size := 0
		for _, e := range w.history(id + "/dig/Alpha") {
			size += e.Size()
		}
		if size > 16<<10 {
			t.Errorf("%s: the agent's history has %d bytes", name, size)
		}
		w.wholeResult(id)
	}
}

// Data above the limit is rejected, regardless of the sender. If it is attached, the agent receives its
// beginning, and reads the rest even if it has no other tool.
func TestAttachedData(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(req llmtest.Request) llmtest.Reply {
		if turnOf(req) == 1 {
			return llmtest.Calls(llmtest.Call{Name: "read_result", Args: `{"ref":"request","grep":"needle"}`})
		}
		return llmtest.Text(req.Last().Text())
	}, `
llm_providers:
  lab-model: {type: openai, model: lab-1, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
system: {limits: {data: 100000}}
agents: {Reader: {}}
agent_chains: {read: {llm_provider: lab-model, stages: [{name: read, agents: [{name: Reader}]}]}}
`)
	w.dev()
	data, _ := json.Marshal(strings.Repeat("hay hay hay\n", 10_000) + "the needle, password: hunter22\n")
	w.beginWith("refused", agent.Request{Chain: "read", Data: data})
	var result workflows.InvestigationResult
	err := w.client().GetWorkflow(t.Context(), "refused", "").Get(t.Context(), &result)
	if err == nil || !strings.Contains(err.Error(), `"data" is 120031 bytes, over the limit of 100000 (system.limits.data)`) {
		t.Errorf("got %v", err)
	}
	w.beginWith("blank", agent.Request{Chain: "read", Data: []byte(`" "`)})
	if err := w.client().GetWorkflow(t.Context(), "blank", "").Get(t.Context(), &result); err == nil ||
		!strings.Contains(err.Error(), "nothing to investigate") {
		t.Errorf("got %v", err)
	}
	if n := len(w.model.Requests()); n != 0 {
		t.Fatalf("%d model calls were paid for nothing", n)
	}
	w.beginWith("attached", agent.Request{Chain: "read", Data: data, Attach: true})
	if result := w.end("attached"); !strings.Contains(result.Report, "10001@120000: the needle") ||
		strings.Contains(result.Report, "hunter22") {
		t.Errorf("got %+v", result)
	}
	if task := w.model.Requests()[0].Last().Text(); len(task) > 17_000 ||
		!strings.Contains(task, `Read the rest with the tool read_result: use "ref": "request"`) {
		t.Errorf("%d bytes of task: …%s", len(task), task[max(0, len(task)-500):])
	}
}

// wholeResult checks that all 10 MB are stored, although the transcript shows only the beginning.
func (w *world) wholeResult(investigation string) {
	w.t.Helper()
	entries, err := w.open().Entries(context.Background(), transcript.Scope{Investigation: investigation, Execution: "dig/Alpha"})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range entries {
		if e.Kind != transcript.KindResult {
			continue
		}
		body, err := w.open().Blob(context.Background(), e.Blob)
		if errors.Is(err, store.ErrNotFound) || len(body) != 10<<20 || len(e.Text) > 300<<10 {
			w.t.Errorf("kept %d bytes (%v), %d in the transcript", len(body), err, len(e.Text))
		}
		return
	}
	w.t.Error("there is no result")
}
