package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

// previousRelease is the commit that users upgrade from.
const previousRelease = "e9679fae"

// buildPrevious builds the programs of the previous release, once for all tests, and returns their folder.
func buildPrevious(t *testing.T) string {
	t.Helper()
	programs, err := previousPrograms()
	if err != nil {
		t.Fatal(err)
	}
	return programs
}

var previousPrograms = sync.OnceValues(func() (programs string, err error) {
	programs, source := filepath.Join(bin, "previous"), filepath.Join(bin, "previous-source")
	for _, dir := range []string{programs, source} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return "", err
		}
	}
	unpack := exec.Command("sh", "-c", "git archive "+previousRelease+" | tar -x -C "+source)
	unpack.Dir = "../.."
	if out, err := unpack.CombinedOutput(); err != nil {
		return "", fmt.Errorf("read the previous release, %s, which needs a clone with its history: %w\n%s", previousRelease, err, out)
	}
	build := exec.Command("go", "build", "-ldflags", linked, "-o", programs, "./dev", "./worker", "./starter")
	build.Dir = source
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the previous release: %w\n%s", err, out)
	}
	return programs, nil
})

// upgradeConfig has a chain for every kind of work that can be in progress during an upgrade.
const upgradeConfig = `
llm_providers:
  lab-model: {type: openai, model: gpt-4o, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
mcp_servers:
  lab: {transport: {type: stdio, command: "{{.E2E_TOOLS}}"}}
defaults: {llm_provider: lab-model, compression: {compress_context: false}}
agents:
  Counter: {mcp_servers: [lab], tool_config: {enabled_tools: [lab.counter]}}
  Joiner: {}
  Clerk: {mcp_servers: [lab], tool_config: {enabled_tools: [lab.set], tool_permissions: {lab.set: {requires_approval: true}}}}
  Planner: {type: llm}
  Worker: {}
  Lead: {sub_agents: [Worker]}
  Sleeper: {type: memgpt}
  Talker: {type: memgpt}
agent_chains:
  model:
    stages:
      - {name: dig, agents: [{name: Counter}, {name: Joiner}], synthesis: {agent: SynthesisAgent}}
      - {name: tell, agents: [{name: Joiner}]}
  approval: {stages: [{name: dig, agents: [{name: Clerk}]}]}
  question: {stages: [{name: plan, agents: [{name: Planner}]}]}
  paused: {stages: [{name: dig, agents: [{name: Counter}]}]}
  children: {stages: [{name: dig, agents: [{name: Lead}]}]}
  asleep: {stages: [{name: dig, agents: [{name: Sleeper}]}]}
  scored: {scoring: {enabled: true}, stages: [{name: dig, agents: [{name: Joiner}]}]}
  finished: {stages: [{name: dig, agents: [{name: Joiner}]}]}
`

// upgrades is the model of those chains. Its replies are held until the new build runs.
type upgrades struct {
	model, paused, children, scored *llmtest.Hold
}

func (u upgrades) script(req llmtest.Request) llmtest.Reply {
	name, turn, data := who(req), turnOf(req), req.Task()
	call := func(tool, args string) llmtest.Reply {
		return llmtest.Calls(llmtest.Call{Name: tool, Args: args})
	}
	switch {
	case name == "Counter" && turn == 1:
		return call("lab__counter", `{"file":"effects"}`)
	case name == "Counter" && strings.Contains(data, "held by its model"):
		return llmtest.Text("counted").Chunked(3, 0).Hold(u.model, 1)
	case name == "Counter" && turn == 2 && strings.Contains(data, "to be paused"):
		return call("lab__counter", `{"file":"effects"}`).Hold(u.paused, 0)
	case name == "Clerk" && turn == 1:
		return call("lab__set", `{"file":"set"}`)
	case name == "Planner" && !strings.Contains(wholeText(req), "checkout"):
		return llmtest.Text(`{"outcome": "clarify", "question": "Which service?"}`)
	case name == "Planner":
		return llmtest.Text(`{"cause": "checkout is done"}`)
	case name == "Lead" && turn == 1:
		return call("dispatch_agent", `{"name":"Worker","task":"dig"}`)
	case name == "Worker":
		return llmtest.Text("dug").Hold(u.children, 0)
	case name == "Sleeper" && turn == 1:
		return call(agent.ToolPauseHeartbeats, `{"minutes":60}`)
	case name == "ScoringAgent" && !strings.Contains(req.Last().Text(), "tool"):
		return llmtest.Text("As good as it gets.\n80").Hold(u.scored, 1)
	case name == "Talker" && strings.Contains(said(req), "remember") && req.Last().Role != "tool":
		return call(agent.ToolCoreMemoryAppend, `{"label":"facts","content":"the pool is small"}`)
	}
	return llmtest.Text(name + " is done")
}

func wholeText(req llmtest.Request) string {
	var out strings.Builder
	for _, m := range req.Messages {
		out.WriteString(m.Text() + "\n")
	}
	return out.String()
}

// TestUpgradeInPlace starts every kind of work with the previous release, stops that release, and starts this
// build on the same data: everything completes, nothing is lost, and nothing is done twice.
func TestUpgradeInPlace(t *testing.T) {
	t.Parallel()
	u := upgrades{llmtest.NewHold(), llmtest.NewHold(), llmtest.NewHold(), llmtest.NewHold()}
	w := newWorld(t, u.script, upgradeConfig)
	old := *w
	old.bin = buildPrevious(t)
	dev := old.dev()
	ids := map[string]string{}
	begin := func(chain, data string) {
		run := old.beginWith(chain, agent.Request{Chain: chain, Data: fmt.Appendf(nil, "%q", data)})
		ids[chain] = workflows.InvestigationID(chain, run.GetRunID())
	}
	begin("finished", "x")
	if got := old.ended("finished"); got.Status != agent.StatusCompleted {
		t.Fatalf("with the previous release: %+v", got)
	}
	begin("scored", "x")
	begin("model", "held by its model")
	begin("paused", "to be paused")
	begin("approval", "x")
	begin("question", "x")
	begin("children", "x")
	begin("asleep", "x")
	old.tell("Talker", "thread", "remember")
	for _, hold := range []*llmtest.Hold{u.model, u.paused, u.children, u.scored} {
		hold.Wait(t)
	}
	old.must("pause", "paused")
	old.waitsFor("approval", "lab.set")
	question := old.question("question", "")
	old.sleepsUntil(ids["asleep"] + "/dig/Sleeper")

	if code := dev.terminate(); code != 0 {
		t.Errorf("the previous release ends with exit code %d:\n%s", code, dev.log)
	}
	w.dev()
	for _, hold := range []*llmtest.Hold{u.model, u.paused, u.children, u.scored} {
		hold.Release()
	}
	w.must("decide", "approval", "c1_0", "--approve", "--by", "Ada")
	w.must("answer", "question", question, "--text", "checkout", "--by", "Ada")
	eventually(t, "it is paused", func() bool { return strings.Contains(w.must("status", "paused"), "paused") })
	w.must("resume", "paused")
	w.signal(ids["asleep"]+"/dig/Sleeper", workflows.SignalResumeHeartbeats, nil)
	if reply := w.tell("Talker", "thread", "hello"); reply.Text != "Talker is done" {
		t.Errorf("the conversation goes on with %q", reply.Text)
	}
	if last := wholeText(w.lastRequestOf("Talker")); !strings.Contains(last, "the pool is small") {
		t.Errorf("the agent of the conversation has lost its memory:\n%s", last)
	}
	for chain, id := range ids {
		if got := w.ended(chain); got.Status != agent.StatusCompleted {
			t.Errorf("%s is %s: %s", chain, got.Status, got.Error)
		}
		w.saidOnce(id)
		w.calledOnce(id)
		if report := w.must("report", chain); !strings.Contains(report, "done") {
			t.Errorf("report of %s:\n%s", chain, report)
		}
	}
	if n := w.effects(); n != 3 {
		t.Errorf("the counter was called %d times, want 3", n)
	}
	eventually(t, "the score", func() bool {
		scores, err := w.open().Scores(t.Context(), ids["scored"])
		return err == nil && slices.ContainsFunc(scores, func(s record.Score) bool { return s.Score != nil && *s.Score == 80 })
	})
}

// TestRollbackInPlace upgrades with work in flight, begins more, and returns to the previous release on the same data.
// Investigations that have recorded no change of workflows complete there.
func TestRollbackInPlace(t *testing.T) {
	t.Parallel()
	u := upgrades{llmtest.NewHold(), llmtest.NewHold(), llmtest.NewHold(), llmtest.NewHold()}
	w := newWorld(t, u.script, upgradeConfig)
	previous := *w
	previous.bin = buildPrevious(t)
	ids := map[string]string{}
	begin := func(by *world, workflowID, chain string) {
		run := by.beginWith(workflowID, agent.Request{Chain: chain, Data: []byte(`"x"`)})
		ids[workflowID] = workflows.InvestigationID(workflowID, run.GetRunID())
	}

	dev := previous.dev()
	begin(&previous, "old-approval", "approval")
	previous.waitsFor("old-approval", "lab.set")
	previous.tell("Talker", "thread", "remember")
	if code := dev.terminate(); code != 0 {
		t.Errorf("the previous release ends with exit code %d:\n%s", code, dev.log)
	}

	dev = w.dev()
	begin(w, "new-question", "question")
	question := w.question("new-question", "")
	begin(w, "new-finished", "finished")
	if got := w.ended("new-finished"); got.Status != agent.StatusCompleted {
		t.Errorf("with this build: %+v", got)
	}
	w.tell("Talker", "thread", "hello")
	if code := dev.terminate(); code != 0 {
		t.Errorf("this build ends with exit code %d:\n%s", code, dev.log)
	}

	previous.dev()
	previous.must("decide", "old-approval", "c1_0", "--approve", "--by", "Ada")
	previous.must("answer", "new-question", question, "--text", "checkout", "--by", "Ada")
	if reply := previous.tell("Talker", "thread", "hello again"); reply.Turn != 3 {
		t.Errorf("the conversation continues with turn %d, want 3", reply.Turn)
	}
	if last := wholeText(previous.lastRequestOf("Talker")); !strings.Contains(last, "the pool is small") {
		t.Errorf("the agent of the conversation has lost its memory:\n%s", last)
	}
	for workflowID, id := range ids {
		if got := previous.ended(workflowID); got.Status != agent.StatusCompleted {
			t.Errorf("%s is %s: %s", workflowID, got.Status, got.Error)
		}
		previous.saidOnce(id)
		previous.calledOnce(id)
	}
}

// calledOnce checks that the transcript has no gaps and no call with two results.
func (w *world) calledOnce(investigation string) {
	w.t.Helper()
	seen := map[string]bool{}
	for n, e := range w.entries(investigation) {
		if e.Seq != int64(n+1) {
			w.t.Errorf("%s: entry %d has the number %d", investigation, n+1, e.Seq)
		}
		key := fmt.Sprintf("%s %d/%d", e.Execution, e.Iteration, e.Position)
		if e.Kind == transcript.KindResult && seen[key] {
			w.t.Errorf("%s: %s has two results", investigation, key)
		}
		seen[key] = seen[key] || e.Kind == transcript.KindResult
	}
}
