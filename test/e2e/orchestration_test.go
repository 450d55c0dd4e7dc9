package e2e

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/proto"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

const leadConfig = `
llm_providers:
  lab-model: {type: openai, model: lab-1, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
mcp_servers:
  lab: {transport: {type: stdio, command: "{{.E2E_TOOLS}}"}}
defaults:
  llm_provider: lab-model
agents:
  Digger: {description: digs, mcp_servers: [lab]}
  Lead: {sub_agents: [Digger], orchestrator: {max_concurrent_agents: 5}}
agent_chains:
  lead: {alert_types: [lab], stages: [{name: look, agents: [{name: Lead}]}]}
`

// leadScript makes Lead dispatch total agents, atATime at a time, and report when all have finished.
func leadScript(total, atATime int, digger func(turn int) llmtest.Reply) llmtest.Script {
	return func(req llmtest.Request) llmtest.Reply {
		if who(req) == "Digger" {
			return digger(turnOf(req))
		}
		dispatched, received := 0, 0
		for _, m := range req.Messages {
			if m.Content != nil {
				received += strings.Count(*m.Content, "[Sub-agent completed]")
				dispatched += strings.Count(*m.Content, "Execution ID:")
			}
		}
		switch {
		case received == total:
			return llmtest.Text(fmt.Sprintf("%d agents have reported", received))
		case received < dispatched:
			return llmtest.Text("I wait.")
		}
		var calls []llmtest.Call
		for range atATime {
			calls = append(calls, llmtest.Call{Name: "dispatch_agent", Args: `{"name":"Digger","task":"dig"}`})
		}
		return llmtest.Calls(calls...)
	}
}

// All processes are killed while three sub-agents run: each continues where it was, and nothing is done or reported twice.
func TestKillWithSubAgents(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}, 20), make(chan struct{})
	w := newWorld(t, leadScript(3, 3, func(turn int) llmtest.Reply {
		if turn == 1 {
			return llmtest.Calls(llmtest.Call{Name: "lab__counter", Args: `{"file":"effects"}`})
		}
		arrived <- struct{}{}
		<-release
		return llmtest.Text("dug")
	}), leadConfig)
	dev := w.dev()
	run := w.begin("lead")
	for n := range 3 {
		select {
		case <-arrived:
		case <-time.After(patience):
			t.Fatalf("%d sub-agents have come to their second call", n)
		}
	}
	dev.kill()
	close(release)
	w.dev()
	result := w.end("lead")
	if result.Status != agent.StatusCompleted || result.Report != "3 agents have reported" {
		t.Errorf("result: %+v", result)
	}
	if n := w.effects(); n != 3 {
		t.Errorf("what three agents do once was done %d times", n)
	}
	id := workflows.InvestigationID("lead", run.GetRunID())
	results, received, replies := map[string]int{}, map[string]int{}, map[string]int{}
	for _, e := range w.entries(id) {
		switch e.Kind {
		case transcript.KindResult:
			results[e.Execution+" "+e.Status]++
		case transcript.KindReply:
			replies[e.Execution]++
		case transcript.KindUser:
			if _, rest, ok := strings.Cut(e.Text, "[Sub-agent completed] Digger (exec "); ok {
				name, _, _ := strings.Cut(rest, ")")
				received[name]++
			}
		}
	}
	if results["look/Lead success"] != 3 {
		t.Errorf("results: %v", results)
	}
	for n := range 3 {
		name := fmt.Sprintf("look/Lead/Digger-%d", n+1)
		if results[name+" success"] != 1 || received[name] != 1 || replies[name] != 2 {
			t.Errorf("%s: results %v, told %v, replies %v", name, results, received, replies)
		}
	}
	status := w.must("status", "lead")
	for n := range 3 {
		if !strings.Contains(status, fmt.Sprintf("\n    Digger-%d  completed", n+1)) {
			t.Errorf("the status is\n%s", status)
		}
	}
	if *recordHistories {
		w.record("orchestrator")
	}
}

// Fifty sub-agents run, five at a time, with one too many requested each time: the limit holds, and no history becomes too long.
func TestLongManySubAgents(t *testing.T) {
	takesLong(t)
	t.Parallel()
	const total = 50
	var mu sync.Mutex
	var most, working atomic.Int64
	w := newWorld(t, leadScript(total, 6, func(turn int) llmtest.Reply {
		mu.Lock()
		defer mu.Unlock()
		switch turn {
		case 1:
			most.Store(max(most.Load(), working.Add(1)))
			return llmtest.Calls(llmtest.Call{Name: "lab__add", Args: `{"a":2,"b":3}`})
		default:
			working.Add(-1)
			return llmtest.Text("dug")
		}
	}), leadConfig)
	w.dev()
	run := w.begin("lead")
	result := w.end("lead")
	if result.Report != fmt.Sprintf("%d agents have reported", total) || result.Usage.ModelCalls < 2*total+20 {
		t.Errorf("result: %+v", result)
	}
	if most.Load() > 5 {
		t.Errorf("%d agents worked at the same time", most.Load())
	}
	id := workflows.InvestigationID("lead", run.GetRunID())
	for _, name := range []string{id + "/look/Lead", id + "/look", "lead"} {
		events := len(w.history(name))
		t.Logf("%s: %d events", name, events)
		if events >= 4096 {
			t.Errorf("the history of %s has %d events", name, events)
		}
	}
}

// Fifty sub-agents run at once and each requests two approvals: the notices to their parents do not fill a history.
func TestLongManyApprovals(t *testing.T) {
	takesLong(t)
	t.Parallel()
	const total, times = 50, 2
	config := strings.Replace(leadConfig, "mcp_servers: [lab]}",
		"mcp_servers: [lab], tool_config: {tool_permissions: {lab.echo: {requires_approval: true}}}}", 1)
	w := newWorld(t, leadScript(total, total, func(turn int) llmtest.Reply {
		if turn > times {
			return llmtest.Text("dug")
		}
		return llmtest.Calls(llmtest.Call{Name: "lab__echo", Args: fmt.Sprintf(`{"text":%q}`, strings.Repeat("word ", 600))})
	}), strings.Replace(config, "max_concurrent_agents: 5", "max_concurrent_agents: 50", 1))
	w.dev()
	id := workflows.InvestigationID("lead", w.begin("lead").GetRunID())
	for decided, most := 0, 0; decided < total*times; most = max(most, len(w.statusOf("lead").Waiting)) {
		waiting := w.statusOf("lead").Waiting
		if len(waiting) < total && most < total { // until all have asked
			time.Sleep(100 * time.Millisecond)
			continue
		}
		for _, a := range waiting {
			if len(a.Arguments) < 3000 {
				t.Fatalf("the status has %d bytes of the arguments of %s", len(a.Arguments), a.Name())
			}
			_, err := w.client().UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{
				WorkflowID: a.WorkflowID, UpdateName: workflows.UpdateDecide, WaitForStage: client.WorkflowUpdateStageCompleted,
				Args: []any{workflows.Decide{CallID: a.CallID, Approved: new(true)}},
			})
			if err == nil {
				decided++
			}
		}
		time.Sleep(time.Second)
	}
	if result := w.end("lead"); result.Report != fmt.Sprintf("%d agents have reported", total) {
		t.Errorf("result: %+v", result)
	}
	for _, name := range []string{id + "/look/Lead", id + "/look", "lead"} {
		events, size := w.history(name), 0
		for _, e := range events {
			size += proto.Size(e)
		}
		t.Logf("%s: %d events, %d KB", name, len(events), size>>10)
		if len(events) >= 4096 || size > 4<<20 {
			t.Errorf("the history of %s has %d events, %d bytes", name, len(events), size)
		}
	}
}
