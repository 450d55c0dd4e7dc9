package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

// labConfig is a chain with every supported shape: two parallel agents with real tools, a synthesis, and a
// second stage.
const labConfig = `
llm_providers:
  lab-model: {type: openai, model: lab-1, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
mcp_servers:
  lab: {transport: {type: stdio, command: "{{.E2E_TOOLS}}"}}
defaults:
  llm_provider: lab-model
agents:
  Alpha: {description: digs, mcp_servers: [lab]}
  Beta: {description: counts, mcp_servers: [lab]}
  Gamma: {description: tells, mcp_servers: [lab]}
agent_chains:
  lab:
    alert_types: [lab]
    stages:
      - name: dig
        agents: [{name: Alpha}, {name: Beta}]
        synthesis: {agent: SynthesisAgent}
      - name: tell
        agents: [{name: Gamma}]
`

// lab is the script of that chain, with the places at which it can be held.
type lab struct {
	gates   map[string]string // by tool: the gate that its calls pass through
	hold    *llmtest.Hold
	heldAt  string                   // "<agent> <turn>": its stream is held after the first chunk
	replace map[string]llmtest.Reply // by "<agent> <turn>": another reply
	alias   string                   // prefix of replicas, which use the agent's script without their number
	refuse  string                   // the model without remaining credit
}

func (l *lab) script() llmtest.Script {
	args := func(tool string, in map[string]string) llmtest.Call {
		if gate := l.gates[tool]; gate != "" {
			in["gate"] = gate
		}
		body, _ := json.Marshal(in)
		return llmtest.Call{Name: "lab__" + tool, Args: string(body)}
	}
	replies := map[string][]llmtest.Reply{
		"Alpha": {
			llmtest.Calls(args("echo", map[string]string{"text": "hello"}), args("set", map[string]string{})).Thinking("first a look"),
			llmtest.Calls(args("counter", map[string]string{"file": "effects"})).Thinking("now once only"),
			llmtest.Text("alpha knows"),
		},
		"Beta":           {llmtest.Calls(llmtest.Call{Name: "lab__add", Args: `{"a":2,"b":3}`}), llmtest.Text("beta knows five")},
		"SynthesisAgent": {llmtest.Text("both know")},
		"Gamma":          {llmtest.Calls(args("echo", map[string]string{"text": "again"})), llmtest.Text("the report of gamma")},
	}
	return func(req llmtest.Request) llmtest.Reply {
		name, turn := who(req), turnOf(req)
		if l.refuse != "" && req.Model == l.refuse {
			return llmtest.QuotaExhausted()
		}
		if l.alias != "" && strings.HasPrefix(name, l.alias) {
			name = strings.TrimSuffix(l.alias, "-")
		}
		at := fmt.Sprintf("%s %d", name, turn)
		if other, ok := l.replace[at]; ok {
			return other
		}
		if turn > len(replies[name]) {
			return llmtest.Status(400, `{"error":{"message":"the script has no such turn"}}`)
		}
		reply := replies[name][turn-1].Chunked(4, 0)
		if at == l.heldAt {
			return reply.Hold(l.hold, 1)
		}
		return reply
	}
}

// who returns the agent that a request is for: "You are <name>,".
func who(req llmtest.Request) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(req.System(), "You are "), ",")
	return name
}

// turnOf counts the model's own messages: a retried call is the same turn.
func turnOf(req llmtest.Request) int {
	turn := 1
	for _, m := range req.Messages {
		if m.Role == "assistant" {
			turn++
		}
	}
	return turn
}

func newScript() *lab {
	return &lab{hold: llmtest.NewHold(), gates: map[string]string{}, replace: map[string]llmtest.Reply{}}
}

// newLab is a world with the lab's chain; prepare changes the script first.
func newLab(t *testing.T, prepare func(*lab)) (*world, *lab) {
	t.Helper()
	l := newScript()
	if prepare != nil {
		prepare(l)
	}
	return newWorld(t, l.script(), labConfig), l
}

// client connects to the world's Temporal.
func (w *world) client() client.Client {
	w.t.Helper()
	c, err := client.Dial(client.Options{HostPort: w.address, Logger: quiet{}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(c.Close)
	return c
}

// quiet drops the SDK's log output while servers are killed.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}

// begin starts an investigation of the lab's chain.
func (w *world) begin(id string) client.WorkflowRun {
	w.t.Helper()
	return w.beginWith(id, agent.Request{AlertType: "lab", Data: json.RawMessage(`"what happened?"`)})
}

func (w *world) beginWith(id string, req agent.Request) client.WorkflowRun {
	w.t.Helper()
	run, err := w.client().ExecuteWorkflow(context.Background(), client.StartWorkflowOptions{
		ID: id, TaskQueue: workflows.TaskQueue, WorkflowTaskTimeout: workflows.WorkflowTaskTimeout,
	}, workflows.TypeInvestigation, req)
	if err != nil {
		w.t.Fatal(err)
	}
	return run
}

// end waits for an investigation's result, even while its Temporal is down or slow.
func (w *world) end(id string) workflows.InvestigationResult {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), lasting(patience, 2*time.Hour))
	defer cancel()
	var result workflows.InvestigationResult
	for {
		err := w.client().GetWorkflow(ctx, id, "").Get(ctx, &result)
		_, away := errors.AsType[*serviceerror.Unavailable](err)
		_, late := errors.AsType[*serviceerror.DeadlineExceeded](err)
		switch {
		case err == nil:
			return result
		case ctx.Err() != nil || !away && !late:
			w.t.Fatalf("investigation %s: %v", id, err)
		}
	}
}

// log returns an investigation's transcript, execution by execution, as text that is equal for two runs of the
// same script: without times, run IDs and sequence numbers.
func (w *world) log(investigation string) string {
	w.t.Helper()
	entries, err := w.open().After(context.Background(), investigation, 0, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	byExecution := map[string][]transcript.Entry{}
	for i, e := range entries {
		if e.Seq != int64(i+1) {
			w.t.Errorf("sequence has a gap: entry %d has number %d", i+1, e.Seq)
		}
		if !e.Superseded {
			byExecution[e.Execution] = append(byExecution[e.Execution], e)
		}
	}
	var b strings.Builder
	for _, name := range []string{"dig/Alpha", "dig/Beta", "dig/SynthesisAgent", "tell/Gamma"} {
		sorted := byExecution[name]
		sortByKey(sorted)
		for _, e := range sorted {
			e.Body.Usage, e.Body.Compression, e.Body.ElapsedMS = nil, nil, 0
			for n := range e.Calls {
				e.Calls[n] = withoutRisk(e.Calls[n])
			}
			if e.Call != nil {
				*e.Call = withoutRisk(*e.Call)
			}
			body, _ := json.Marshal(e.Body)
			fmt.Fprintf(&b, "%s %d/%d %s %s\n", name, e.Iteration, e.Position, e.Kind, body)
		}
	}
	return incidental.ReplaceAllString(b.String(), "")
}

// incidental matches the differences between two runs of the same script: the hash in a delimiter, the time, and the gate of a held
// run, at any depth of quoting.
var incidental = regexp.MustCompile(`-[0-9a-f]{16}|You begin on \w+ [\d-]+ at [\d:]+ UTC|,?\\*"gate\\*":\\*"[^"\\]*\\*"`)

// withoutRisk removes from a call what world.quick changes: there, tools that write count as tools that read.
func withoutRisk(call transcript.Call) transcript.Call {
	call.Risk, call.Class, call.Untrusted = "", "", nil
	return call
}

func sortByKey(entries []transcript.Entry) {
	for i := range entries {
		for j := i; j > 0 && (entries[j].Iteration < entries[j-1].Iteration ||
			entries[j].Iteration == entries[j-1].Iteration && entries[j].Position < entries[j-1].Position); j-- {
			entries[j], entries[j-1] = entries[j-1], entries[j]
		}
	}
}

// until follows the store until a matching entry appears.
func (w *world) until(investigation string, found func(transcript.Entry) bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	seen := errors.New("seen")
	err := w.open().Follow(ctx, investigation, 0, func(u store.Update) error {
		for _, e := range u.Entries {
			if found(e) {
				return seen
			}
		}
		return nil
	})
	if !errors.Is(err, seen) {
		w.t.Fatalf("the entry did not come: %v", err)
	}
}

// eventually polls until yes returns true, for conditions that have no event in Temporal. It polls less and less often, because
// some conditions are queries, which delay what they wait for on a busy machine.
func eventually(t *testing.T, what string, yes func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for pause := 20 * time.Millisecond; !yes(); pause = min(pause*5/4, time.Second) {
		if time.Now().After(deadline) {
			t.Fatalf("not seen in %s: %s", patience, what)
		}
		time.Sleep(pause)
	}
}
