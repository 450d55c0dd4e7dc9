package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/workflows"
)

// talkConfig has an agent that remembers and one whose calls people approve.
const talkConfig = `
llm_providers:
  lab-model: {type: openai, model: gpt-4o, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
mcp_servers:
  lab: {transport: {type: stdio, command: "{{.E2E_TOOLS}}"}}
defaults: {llm_provider: lab-model, compression: {compress_context: false}}
agents:
  Memo: {type: memgpt, mcp_servers: [lab]}
  Clerk: {mcp_servers: [lab], tool_config: {tool_permissions: {lab.set: {requires_approval: true}}}}
agent_chains:
  watch: {stages: [{name: dig, agents: [{name: Memo}]}]}
`

// talks is what the model does about the last thing that was said: the first word
// is what it is to do, the rest is with what.
type talks struct{ hold *llmtest.Hold }

func (k talks) script(req llmtest.Request) llmtest.Reply {
	if req.Last().Role == "tool" {
		if strings.Contains(said(req), "count") {
			return llmtest.Text("counted").Chunked(3, 0).Hold(k.hold, 1)
		}
		return llmtest.Text("done: " + req.Last().Text())
	}
	call := func(name string, args map[string]any) llmtest.Reply {
		body, _ := json.Marshal(args)
		return llmtest.Calls(llmtest.Call{Name: name, Args: string(body)})
	}
	do, what, _ := strings.Cut(said(req), " ")
	switch do {
	case "remember":
		return call(agent.ToolCoreMemoryAppend, map[string]any{"label": "facts", "content": what}).Thinking("worth keeping")
	case "find":
		return call(agent.ToolConversationSearch, map[string]any{"query": what})
	case "pause":
		return call(agent.ToolPauseHeartbeats, map[string]any{"minutes": 30})
	case "count":
		return call("lab__counter", map[string]any{"file": "effects"})
	case "set":
		return call("lab__set", map[string]any{"file": what})
	case "fail":
		return llmtest.BadKey()
	case "wait":
		return llmtest.Text("waited long").Chunked(3, 0).Hold(k.hold, 1)
	}
	return llmtest.Text(fmt.Sprintf("heard %d characters", len(said(req)))).Chunked(4, 0)
}

// said is what a person has said last.
func said(req llmtest.Request) (text string) {
	for _, m := range req.Messages {
		if m.Role == "user" {
			text = m.Text()
		}
	}
	return text
}

func newTalks(t *testing.T) (*world, talks) {
	t.Helper()
	k := talks{hold: llmtest.NewHold()}
	return newWorld(t, k.script, talkConfig), k
}

// chatted is a reply as `starter chat --json` prints it.
type chatted struct {
	Thread string
	workflows.Reply
}

// tell has one turn by the CLI.
func (w *world) tell(agentName, thread, text string) (out chatted) {
	w.t.Helper()
	body := w.must("chat", "--agent", agentName, "--thread", thread, "--message", text, "--by", "Ada", "--json")
	if err := json.Unmarshal([]byte(body), &out); err != nil {
		w.t.Fatalf("%v in %s", err, body)
	}
	return out
}

// last is the last request that reached the model.
func (w *world) lastRequest() llmtest.Request {
	all := w.model.Requests()
	return all[len(all)-1]
}

// TestConversation holds conversations by the CLI, as people and scripts do.
func TestConversation(t *testing.T) {
	t.Parallel()
	w, k := newTalks(t)
	w.dev()

	first := w.tell("Memo", "one", "remember the disk is on node 7")
	if first.Text != "done: Successfully updated memory block 'facts'" || first.StopReason != agent.StopEndTurn ||
		first.Thread != "one" || first.Turn != 1 || first.Iterations != 2 || first.Usage.ToolCalls != 1 {
		t.Errorf("first turn: %+v", first)
	}
	w.tell("Memo", "two", "what do you know?")
	if system := w.lastRequest().System(); !strings.Contains(system, "the disk is on node 7") {
		t.Errorf("another conversation does not know what the agent remembers:\n%s", system)
	}
	if found := w.tell("Memo", "two", "find node"); !strings.Contains(found.Text, "[User]: remember the disk is on node 7") {
		t.Errorf("found %q", found.Text)
	}
	t.Run("pause", w.testTalkPause)
	t.Run("long", w.testTalkLong)
	t.Run("refused", func(t *testing.T) { w.testTalkRefused(t, k) })
	t.Run("failed", w.testTalkFailed)
	t.Run("approval", w.testTalkApproval)
	t.Run("close", w.testTalkClose)
}

// in is the world for another test.
func (w *world) in(t *testing.T) *world {
	other := *w
	other.t = t
	return &other
}

func (w *world) testTalkPause(t *testing.T) {
	w = w.in(t)
	paused := w.tell("Memo", "two", "pause")
	if left := time.Until(paused.PausedUntil); paused.StopReason != agent.StopPauseHeartbeats || left < 29*time.Minute || left > 30*time.Minute {
		t.Errorf("paused: %+v", paused)
	}
	_, errs, _ := w.starter("", "chat", "--thread", "two", "--message", "pause")
	if !strings.Contains(errs, "stopped: pause_heartbeats") || !strings.Contains(errs, "heartbeats paused until") {
		t.Errorf("the person is told:\n%s", errs)
	}
	if woken := w.tell("Memo", "two", "hello"); woken.StopReason != agent.StopEndTurn || !woken.PausedUntil.IsZero() {
		t.Errorf("woken: %+v", woken)
	}
}

// 100,000 characters reach the model whole, and the history holds them once.
func (w *world) testTalkLong(t *testing.T) {
	w = w.in(t)
	text := strings.Repeat("ünï", 33_333) + "!"
	path := filepath.Join(t.TempDir(), "message")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if reply := w.tell("Memo", "long", "@"+path); reply.Text != fmt.Sprintf("heard %d characters", len(text)) {
		t.Errorf("reply %q", reply.Text)
	}
	size := 0
	for _, e := range w.history("long") {
		size += e.Size()
	}
	if size > len(text)+32<<10 {
		t.Errorf("the history has %d bytes, the message %d", size, len(text))
	}
	_, errs, code := w.starter(text+"?", "chat", "--thread", "long")
	if code != 1 || !strings.Contains(errs, "the message has 100001 characters; 100000 are allowed") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// One turn at a time: the second one is told whose turn runs.
func (w *world) testTalkRefused(t *testing.T, k talks) {
	w = w.in(t)
	running := w.start("conversation busy", "starter", "chat", "--agent", "Memo", "--thread", "busy", "--message", "wait", "--by", "Ada")
	k.hold.Wait(t)
	_, errs, code := w.starter("", "chat", "--thread", "busy", "--message", "me too")
	if code != 1 || !strings.Contains(errs, "not said: a turn is running: the agent answers Ada") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	w.mustFail(2, "is with Memo, not with Clerk", "chat", "--agent", "Clerk", "--thread", "busy", "--message", "x")
	k.hold.Release()
	if code := running.wait(); code != 0 || !strings.Contains(running.log.String(), "waited long") {
		t.Errorf("exit code %d:\n%s", code, running.log)
	}
}

// A turn that fails is not the last; the next one brings all that the agent is told.
func (w *world) testTalkFailed(t *testing.T) {
	w = w.in(t)
	w.mustFail(1, "the turn failed", "chat", "--agent", "Memo", "--thread", "ill", "--message", "fail")
	w.tell("Memo", "ill", "better now?")
	last := w.lastRequest()
	if !strings.Contains(last.System(), "<memory_blocks>") || len(last.Messages) != 3 || last.Messages[1].Text() != "fail" {
		t.Errorf("after the failure the model is told: %+v", last.Messages)
	}
	w.mustFail(2, `no agent named "Nobody"`, "chat", "--agent", "Nobody", "--message", "x")
	w.mustFail(2, "is a workflow of type", "chat", "--thread", w.begin2("watched"), "--message", "x")
}

// begin2 runs an investigation of the other chain.
func (w *world) begin2(id string) string {
	w.beginWith(id, agent.Request{Chain: "watch", Data: json.RawMessage(`"hello"`)})
	w.end(id)
	return id
}

// Who chats is told which call waits, and what to type.
func (w *world) testTalkApproval(t *testing.T) {
	w = w.in(t)
	asking := w.start("Decide: starter decide", "starter", "chat", "--agent", "Clerk", "--thread", "desk", "--message", "set it")
	w.must(w.told(asking, "set")...)
	if code := asking.wait(); code != 0 || !strings.Contains(asking.log.String(), "done: ") {
		t.Errorf("exit code %d:\n%s", code, asking.log)
	}
}

// A thread that was closed begins anew: nothing is left of what was said.
func (w *world) testTalkClose(t *testing.T) {
	w = w.in(t)
	listed := func() string { return w.must("chat", "--list", "--limit", "0") }
	eventually(t, "the conversation is listed", func() bool { return strings.Contains(listed(), "one ") })
	w.must("chat", "--thread", "one", "--close")
	eventually(t, "it is not any more", func() bool { return !strings.Contains(listed(), "one ") })
	w.mustFail(1, "no conversation one is open", "chat", "--thread", "one", "--close")
	w.mustFail(2, "--agent says with whom", "chat", "--thread", "one", "--message", "x")
	if again := w.tell("Memo", "one", "hello"); again.Turn != 1 || len(w.lastRequest().Messages) != 2 {
		t.Errorf("%+v after %d messages", again, len(w.lastRequest().Messages))
	}
}

// Everything dies in the midst of a turn: it goes on, nothing is called twice, and
// who waits, or asks again with the same id, gets the reply.
func TestKillInATurn(t *testing.T) {
	t.Parallel()
	w, k := newTalks(t)
	dev := w.dev()
	waiting := w.start("counter", "starter", "chat", "--agent", "Memo", "--thread", "one", "--message", "count")
	k.hold.Wait(t)
	second := w.sendUpdate("two", "again", "count") // held, too
	w.model.Wait(4)
	dev.kill()
	w.dev()
	k.hold.Release()
	if code := waiting.wait(); code != 0 || !strings.Contains(waiting.log.String(), "counted") {
		t.Errorf("who waited: exit code %d\n%s", code, waiting.log)
	}
	second() // whatever came of it
	var reply workflows.Reply
	handle := w.client().GetWorkflowUpdateHandle(client.GetWorkflowUpdateHandleOptions{WorkflowID: "two", UpdateID: "again"})
	if err := handle.Get(w.context(), &reply); err != nil || reply.Text != "counted" {
		t.Errorf("who asked again: %+v, %v", reply, err)
	}
	if n, calls := w.effects(), len(w.model.Requests()); n != 2 || calls != 6 { // two replies each, and two that were cut
		t.Errorf("%d tool calls, %d model calls", n, calls)
	}
}

func (w *world) context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	w.t.Cleanup(cancel)
	return ctx
}

// sendUpdate says something by the SDK, and does not wait for the reply; stop gives up.
func (w *world) sendUpdate(thread, id, text string) (stop func()) {
	w.t.Helper()
	c, ctx := w.client(), w.context()
	start := c.NewWithStartWorkflowOperation(client.StartWorkflowOptions{
		ID: thread, TaskQueue: workflows.TaskQueue, WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
	}, workflows.TypeConversation, agent.ConversationRequest{Agent: "Memo"})
	handle, err := c.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: start,
		UpdateOptions: client.UpdateWorkflowOptions{
			UpdateID: id, WorkflowID: thread, UpdateName: workflows.UpdateSend, WaitForStage: client.WorkflowUpdateStageAccepted,
			Args: []any{workflows.Message{Text: text, Author: "Bob"}},
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer close(done)
		_ = handle.Get(ctx, nil)
	}()
	return func() { cancel(); <-done }
}

// A conversation that outgrows a history goes on in a new one, and nothing is lost.
func TestConversationContinuesAsNew(t *testing.T) {
	t.Parallel()
	w, _ := newTalks(t)
	w.dev()
	w.tell("Memo", "long", "remember that it is long")
	before, err := w.client().DescribeWorkflowExecution(w.context(), "long", "")
	if err != nil {
		t.Fatal(err)
	}
	var signals sync.WaitGroup
	c := w.client()
	for range 8 { // Temporal suggests a new run at 4,096 events
		signals.Go(func() {
			for range 520 {
				if err := c.SignalWorkflow(w.context(), "long", "", workflows.SignalResume, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	signals.Wait()
	eventually(t, "another run", func() bool {
		now, err := w.client().DescribeWorkflowExecution(w.context(), "long", "")
		return err == nil && now.GetWorkflowExecutionInfo().GetExecution().GetRunId() != before.GetWorkflowExecutionInfo().GetExecution().GetRunId()
	})
	reply := w.tell("Memo", "long", "and now?")
	texts := []string{}
	for _, m := range w.lastRequest().Messages[1:] {
		texts = append(texts, m.Text())
	}
	if reply.Turn != 2 || strings.Join(texts, "|") != "remember that it is long||Successfully updated memory block 'facts'|done: Successfully updated memory block 'facts'|and now?" {
		t.Errorf("%+v after %q", reply, texts)
	}
	if list := w.must("chat", "--list", "--json"); !strings.Contains(list, `"agent": "Memo"`) {
		t.Errorf("the list says\n%s", list)
	}
}
