package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/workflows"
)

// talkConfig has an agent with memory and an agent whose calls need approval.
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
  watch: {alert_types: [watch], stages: [{name: dig, agents: [{name: Memo}]}]}
  desk: {alert_types: [desk], stages: [{name: dig, agents: [{name: Clerk}]}]}
`

// talks is the model. The first word of the last message is the command, and the rest is its argument.
type talks struct{ hold *llmtest.Hold }

func (k talks) script(req llmtest.Request) llmtest.Reply {
	req.Messages = slices.DeleteFunc(slices.Clone(req.Messages), func(m llmtest.Message) bool { // the notice that reports what the call did
		return strings.HasPrefix(m.Text(), "Your core memory has changed")
	})
	if strings.Contains(req.Last().Text(), "heartbeat pause is over") {
		return llmtest.Text("awake")
	}
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

// said returns the last message from a person, or the part of an investigation's data after "do: ".
func said(req llmtest.Request) (text string) {
	for _, m := range req.Messages {
		if m.Role == "user" {
			text = m.Text()
		}
	}
	if _, order, ok := strings.Cut(text, "do: "); ok {
		text, _, _ = strings.Cut(order, "\n")
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

// send sends one message with the CLI and returns the reply.
func (w *world) send(agentName, thread, text string) (out chatted) {
	w.t.Helper()
	body := w.must("chat", "--agent", agentName, "--thread", thread, "--message", text, "--by", "Ada", "--json")
	if err := json.Unmarshal([]byte(body), &out); err != nil {
		w.t.Fatalf("%v in %s", err, body)
	}
	return out
}

// lastRequest returns the last request that reached the model.
func (w *world) lastRequest() llmtest.Request {
	all := w.model.Requests()
	return all[len(all)-1]
}

// lastRequestOf returns the last request that an agent sent to the model, while others send theirs.
func (w *world) lastRequestOf(agentName string) (last llmtest.Request) {
	for _, req := range w.model.Requests() {
		if who(req) == agentName {
			last = req
		}
	}
	return last
}

// TestConversation holds conversations with the CLI, as people and scripts do.
func TestConversation(t *testing.T) {
	t.Parallel()
	w, k := newTalks(t)
	w.dev()

	first := w.send("Memo", "one", "remember the disk is on node 7")
	if first.Text != "done: Successfully updated memory block 'facts'" || first.StopReason != agent.StopEndTurn ||
		first.Thread != "one" || first.Turn != 1 || first.Iterations != 2 || first.Usage.ToolCalls != 1 {
		t.Errorf("first turn: %+v", first)
	}
	shown, err := w.client().DescribeWorkflow(w.context(), "one", "")
	if err != nil {
		t.Fatal(err)
	}
	if summary, err := shown.GetStaticSummary(); err != nil || summary != "conversation with Memo" {
		t.Errorf("the Temporal UI shows %q, %v", summary, err)
	}
	w.send("Memo", "two", "what do you know?")
	if system := w.lastRequest().System(); !strings.Contains(system, "the disk is on node 7") {
		t.Errorf("another conversation does not know what the agent remembers:\n%s", system)
	}
	if found := w.send("Memo", "two", "find node"); !strings.Contains(found.Text, "[User]: remember the disk is on node 7") {
		t.Errorf("found %q", found.Text)
	}
	t.Run("pause", w.testTalkPause)
	t.Run("long", w.testTalkLong)
	t.Run("refused", func(t *testing.T) { w.testTalkRefused(t, k) })
	t.Run("failed", w.testTalkFailed)
	t.Run("approval", w.testTalkApproval)
	t.Run("close", w.testTalkClose)
}

// in returns the same world for a subtest.
func (w *world) in(t *testing.T) *world {
	other := *w
	other.t = t
	return &other
}

func (w *world) testTalkPause(t *testing.T) {
	w = w.in(t)
	paused := w.send("Memo", "two", "pause")
	if left := time.Until(paused.PausedUntil); paused.StopReason != agent.StopPauseHeartbeats || left < 29*time.Minute ||
		left > 30*time.Minute {
		t.Errorf("paused: %+v", paused)
	}
	_, errs, _ := w.starter("", "chat", "--thread", "two", "--message", "pause")
	if !strings.Contains(errs, "stopped: pause_heartbeats") || !strings.Contains(errs, "heartbeats paused until") {
		t.Errorf("the person is told:\n%s", errs)
	}
	if woken := w.send("Memo", "two", "hello"); woken.StopReason != agent.StopEndTurn || !woken.PausedUntil.IsZero() {
		t.Errorf("woken: %+v", woken)
	}
}

// A message of 100,000 characters reaches the model whole, and the history contains it once.
func (w *world) testTalkLong(t *testing.T) {
	w = w.in(t)
	text := strings.Repeat("ünï", 33_333) + "!"
	path := filepath.Join(t.TempDir(), "message")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if reply := w.send("Memo", "long", "@"+path); reply.Text != fmt.Sprintf("heard %d characters", len(text)) {
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

// Turns run one at a time: a second message is rejected with the turn that is running.
func (w *world) testTalkRefused(t *testing.T, k talks) {
	w = w.in(t)
	running := w.start("Conversation busy", "starter", "chat", "--agent", "Memo", "--thread", "busy", "--message", "wait", "--by", "Ada")
	k.hold.Wait(t)
	_, errs, code := w.starter("", "chat", "--thread", "busy", "--message", "me too")
	if code != 1 || !strings.Contains(errs, "the message was not accepted: a turn is running: the agent is answering Ada") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	w.mustFail(2, "is with Memo, not with Clerk", "chat", "--agent", "Clerk", "--thread", "busy", "--message", "x")
	k.hold.Release()
	if code := running.wait(); code != 0 || !strings.Contains(running.log.String(), "waited long") {
		t.Errorf("exit code %d:\n%s", code, running.log)
	}
}

// After a failed turn, the next one includes all that the agent was told.
func (w *world) testTalkFailed(t *testing.T) {
	w = w.in(t)
	w.mustFail(1, "the turn failed", "chat", "--agent", "Memo", "--thread", "ill", "--message", "fail")
	w.send("Memo", "ill", "better now?")
	last := w.lastRequest()
	if !strings.Contains(last.System(), "<memory_blocks>") || len(last.Messages) != 3 || last.Messages[1].Text() != "fail" {
		t.Errorf("after the failure the model is told: %+v", last.Messages)
	}
	_, errs, code := w.starter("", "chat", "--agent", "Nobody", "--message", "x")
	if code != 2 || !strings.Contains(errs, `unknown agent "Nobody"`) || strings.Contains(errs, "To continue it later") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	w.mustFail(2, "is a workflow of type", "chat", "--thread", w.begin2("watched"), "--message", "x")
}

// begin2 runs an investigation of the other chain.
func (w *world) begin2(id string) string {
	w.beginWith(id, agent.Request{Chain: "watch", Data: json.RawMessage(`"hello"`)})
	w.end(id)
	return id
}

// The chat names the call that needs approval and the command to approve it.
func (w *world) testTalkApproval(t *testing.T) {
	w = w.in(t)
	asking := w.start("Decide: starter decide", "starter", "chat", "--agent", "Clerk", "--thread", "desk", "--message", "set it")
	w.must(w.received(asking, "set")...)
	if code := asking.wait(); code != 0 || !strings.Contains(asking.log.String(), "done: ") {
		t.Errorf("exit code %d:\n%s", code, asking.log)
	}
	away := w.with("INQUEST_STORE=" + filepath.Join(t.TempDir(), "none")) // without the store, which leaves only the reply
	asking = away.start("Decide: starter decide", "starter", "chat", "--thread", "desk", "--message", "set it")
	w.must(w.received(asking, "set")...)
	if code := asking.wait(); code != 0 || !strings.HasSuffix(asking.log.String(), "\ndone: 2\n") {
		t.Errorf("without a store: exit code %d:\n%s", code, asking.log)
	}
}

// A closed thread starts anew: nothing of the old conversation remains.
func (w *world) testTalkClose(t *testing.T) {
	w = w.in(t)
	listed := func() string { return w.must("chat", "--list", "--limit", "0") }
	eventually(t, "the conversation is listed", func() bool { return strings.Contains(listed(), "one ") })
	w.must("chat", "--thread", "one", "--close")
	eventually(t, "it is not any more", func() bool { return !strings.Contains(listed(), "one ") })
	w.mustFail(1, "no open conversation one", "chat", "--thread", "one", "--close")
	w.mustFail(2, "set --agent to start one", "chat", "--thread", "one", "--message", "x")
	if second := w.send("Memo", "one", "hello"); second.Turn != 1 || len(w.lastRequest().Messages) != 2 {
		t.Errorf("%+v after %d messages", second, len(w.lastRequest().Messages))
	}
}

// All processes are killed during a turn. The turn continues, nothing is called twice, and a client that waits,
// or repeats the same ID, gets the reply.
func TestKillInATurn(t *testing.T) {
	t.Parallel()
	w, k := newTalks(t)
	dev := w.dev()
	waiting := w.start("counter", "starter", "chat", "--agent", "Memo", "--thread", "one", "--message", "count")
	k.hold.Wait(t)
	second := w.sendUpdate("two", "again", "count") // also held
	w.model.Wait(4)
	dev.kill()
	w.dev()
	k.hold.Release()
	if code := waiting.wait(); code != 0 || !strings.Contains(waiting.log.String(), "counted") {
		t.Errorf("who waited: exit code %d\n%s", code, waiting.log)
	}
	second() // its outcome does not matter
	var reply workflows.Reply
	handle := w.client().GetWorkflowUpdateHandle(client.GetWorkflowUpdateHandleOptions{WorkflowID: "two", UpdateID: "again"})
	if err := handle.Get(w.context(), &reply); err != nil || reply.Text != "counted" {
		t.Errorf("who asked again: %+v, %v", reply, err)
	}
	if n, calls := w.effects(), len(w.model.Requests()); n != 2 || calls != 6 { // two replies each, and two that were cut off
		t.Errorf("%d tool calls, %d model calls", n, calls)
	}
}

func (w *world) context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	w.t.Cleanup(cancel)
	return ctx
}

// sendUpdate sends a message with the SDK without waiting for the reply. stop cancels it.
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

// A conversation that outgrows its history continues in a new run, and nothing is lost.
func TestLongConversationContinuesAsNew(t *testing.T) {
	takesLong(t)
	t.Parallel()
	w, _ := newTalks(t)
	w.dev()
	w.send("Memo", "long", "remember that it is long")
	w.outgrow("long")
	reply := w.send("Memo", "long", "and now?")
	texts := []string{}
	for _, m := range w.lastRequest().Messages[1:] {
		first, _, _ := strings.Cut(m.Text(), "\n")
		texts = append(texts, first)
	}
	const updated = "Successfully updated memory block 'facts'"
	want := []string{
		"remember that it is long", "", updated, "Your core memory has changed. This version replaces the earlier one:",
		"done: " + updated, "and now?",
	}
	if diff := cmp.Diff(want, texts); diff != "" || reply.Turn != 2 {
		t.Errorf("%+v; the model was shown (-want +got):\n%s", reply, diff)
	}
	if list := w.must("chat", "--list", "--json"); !strings.Contains(list, `"agent": "Memo"`) {
		t.Errorf("the list says\n%s", list)
	}
	w.must("chat", "--thread", "long", "--close")
	if *recordHistories {
		w.record("conversation-continued")
	}
}

// outgrow sends signals until Temporal suggests a new run, at 4,096 events, and the new run exists.
func (w *world) outgrow(id string) {
	w.t.Helper()
	c := w.client()
	run := func() string {
		found, err := c.DescribeWorkflowExecution(w.context(), id, "")
		if err != nil {
			w.t.Fatal(err)
		}
		return found.GetWorkflowExecutionInfo().GetExecution().GetRunId()
	}
	for first := run(); run() == first; {
		var senders sync.WaitGroup
		for range 4 {
			senders.Go(func() {
				for range 16 {
					if err := c.SignalWorkflow(w.context(), id, "", workflows.SignalResume, nil); err != nil {
						w.t.Error(err)
					}
				}
			})
		}
		senders.Wait()
	}
}

// TestConversationShapes produces histories with conversations, approvals and heartbeats. With -record, they
// are added to the corpus.
func TestConversationShapes(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(*world){
		"conversation": func(w *world) {
			w.send("Clerk", "lab", "hello")
			w.mustFail(1, "the turn failed", "chat", "--thread", "lab", "--message", "fail")
			asking := w.start("Decide: starter decide", "starter", "chat", "--thread", "lab", "--message", "set it")
			w.must(w.received(asking, "set")...)
			asking.wait()
			w.must("chat", "--thread", "lab", "--close")
		},
		"memory": func(w *world) {
			w.send("Memo", "lab", "remember it")
			w.send("Memo", "lab", "pause")
			w.send("Memo", "lab", "hello")
			w.must("chat", "--thread", "lab", "--close")
		},
		"approval": func(w *world) {
			w.beginWith("lab", agent.Request{Chain: "desk", Data: json.RawMessage(`"do: set it"`)})
			call := w.waitsFor("lab", "lab.set").Waiting[0]
			w.must("decide", "lab", call.Execution+"/"+call.CallID, "--approve")
			w.end("lab")
		},
		"heartbeats": func(w *world) {
			run := w.beginWith("lab", agent.Request{Chain: "watch", Data: json.RawMessage(`"do: pause"`)})
			id := workflows.InvestigationID("lab", run.GetRunID()) + "/dig/Memo"
			eventually(w.t, "Memo sleeps", func() bool { return strings.Contains(w.agentStatus(id).Doing, "heartbeats paused until") })
			w.signal("lab", workflows.SignalResumeHeartbeats, nil)
			w.end("lab")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _ := newTalks(t)
			w.dev()
			run(w)
			w.list() // all of them have ended
			if *recordHistories {
				w.record(name)
			}
		})
	}
}

// The stock CLI holds a conversation: start or continue in one call, query, close.
func (s stock) testConversation(t *testing.T) {
	s = s.in(t)
	t.Parallel()
	send := func(text string) (reply workflows.Reply) {
		var out struct{ UpdateResult workflows.Reply }
		s.decode(s.cli("execute-update-with-start", "--type", "Conversation", "--task-queue", "inquest", "--workflow-id", "thread",
			"--id-conflict-policy", "UseExisting", "--input", `{"agent":"Gamma"}`, "--update-name", "send",
			"--update-input", fmt.Sprintf(`{"text":%q,"author":"Ada"}`, text), "-o", "json"), &out)
		return out.UpdateResult
	}
	if first := send("hello"); first.Turn != 1 || first.Text != "the report of gamma" || first.StopReason != agent.StopEndTurn {
		t.Errorf("first turn: %+v", first)
	}
	if status := query[workflows.ConversationStatus](s, "thread", "status"); !status.Open || status.Agent != "Gamma" || status.Turns != 1 ||
		status.Answering != "" {
		t.Errorf("status: %+v", status)
	}
	_, errs, code := s.program(s.path, "", "workflow", "update", "execute", "--workflow-id", "thread", "--name", "send",
		"--input", `{"text":""}`)
	if code == 0 || !strings.Contains(errs, "the message is empty") {
		t.Errorf("an empty message: exit code %d: %s", code, errs)
	}
	_, errs, code = s.program(s.path, "", "workflow", "update", "execute", "--workflow-id", "thread", "--name", "send", "--input", `"hello"`)
	if code == 0 {
		t.Errorf("a message that is no object: %s", errs)
	}
	s.cli("signal", "--workflow-id", "thread", "--name", "close")
	if end, code := s.closing("thread"); code != 0 || end.Status != "COMPLETED" {
		t.Errorf("closed: exit code %d, %+v", code, end)
	}
}
