package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/audit"
	"github.com/inquest-dev/inquest/workflows"
)

// previousRelease is the commit that users upgrade from.
var previousRelease = flag.String("previous", "67a5c1de", "the commit that the tests of upgrades start from")

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
	unpack := exec.Command("sh", "-c", "git archive "+*previousRelease+" | tar -x -C "+source)
	unpack.Dir = "../.."
	if out, err := unpack.CombinedOutput(); err != nil {
		return "", fmt.Errorf("read the previous release, %s, which needs a clone with its history: %w\n%s", *previousRelease, err, out)
	}
	return programs, build(source, programs, "./dev", "./worker", "./starter")
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
		return call("dispatch_agent", fmt.Sprintf(`{"name":"Worker","task":%q}`, "dig "+onThisBuild.FindString(data)))
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

// onThisBuild finds the data of investigations that TestRollbackInPlace starts after the upgrade.
var onThisBuild = regexp.MustCompile(`begun on this build`)

func newUpgrades() upgrades {
	return upgrades{llmtest.NewHold(), llmtest.NewHold(), llmtest.NewHold(), llmtest.NewHold()}
}

func (u upgrades) all() []*llmtest.Hold {
	return []*llmtest.Hold{u.model, u.paused, u.children, u.scored}
}

// release lets all replies continue.
func (u upgrades) release() {
	for _, hold := range u.all() {
		hold.Release()
	}
}

func wholeText(req llmtest.Request) string {
	var out strings.Builder
	for _, m := range req.Messages {
		out.WriteString(m.Text() + "\n")
	}
	return out.String()
}

// ofPreviousRelease returns the same installation with the programs of the previous release.
func (w *world) ofPreviousRelease() *world {
	w.t.Helper()
	previous := *w
	previous.bin = buildPrevious(w.t)
	return &previous
}

// upgrade is an installation with every kind of work in flight, whose programs are replaced by those of another release.
type upgrade struct {
	*world          // with the programs of this build
	previous *world // with those of the previous release
	held     upgrades
	ids      map[string]string // investigation IDs by workflow ID
}

func newUpgrade(t *testing.T, held upgrades, script llmtest.Script) *upgrade {
	t.Helper()
	u := &upgrade{held: held, ids: map[string]string{}}
	u.world = newWorld(t, script, upgradeConfig)
	u.previous = u.ofPreviousRelease()
	return u
}

func (u *upgrade) start(workflowID, chain, data string) {
	u.t.Helper()
	run := u.beginWith(workflowID, agent.Request{Chain: chain, Data: fmt.Appendf(nil, "%q", data)})
	u.ids[workflowID] = workflows.InvestigationID(workflowID, run.GetRunID())
}

// startEverything starts every kind of work that can be in flight, and waits until each is at its worst point for an upgrade.
func (u *upgrade) startEverything(prefix string) (question string) {
	u.t.Helper()
	for chain, data := range map[string]string{
		"scored": "x", "model": "held by its model", "paused": "to be paused", "approval": "x", "question": "x", "children": "x", "asleep": "x",
	} {
		u.start(prefix+chain, chain, data)
	}
	u.previous.send("Talker", prefix+"thread", "remember")
	for _, hold := range u.held.all() {
		hold.Wait(u.t)
	}
	u.previous.must("pause", prefix+"paused")
	u.waitsFor(prefix+"approval", "lab.set")
	u.sleepsUntil(u.ids[prefix+"asleep"] + "/dig/Sleeper")
	return u.question(prefix+"question", "")
}

// finish lets everything end that startEverything started, with the commands of one release.
func (u *upgrade) finish(by *world, prefix, question string) {
	u.t.Helper()
	u.held.release()
	by.must("decide", prefix+"approval", "c1_0", "--approve", "--by", "Ada")
	by.must("answer", prefix+"question", question, "--text", "checkout", "--by", "Ada")
	eventually(u.t, "it is paused", func() bool { return strings.Contains(by.must("status", prefix+"paused"), "paused") })
	by.must("resume", prefix+"paused")
	u.signal(u.ids[prefix+"asleep"]+"/dig/Sleeper", workflows.SignalResumeHeartbeats, nil)
}

// remembers continues a conversation and expects the given turn and the agent's memory.
func (u *upgrade) remembers(by *world, thread string, turn int) {
	u.t.Helper()
	if reply := by.send("Talker", thread, "hello"); reply.Text != "Talker is done" || reply.Turn != turn {
		u.t.Errorf("%s continues with turn %d, %q; want turn %d", thread, reply.Turn, reply.Text, turn)
	}
	if last := wholeText(by.lastRequestOf("Talker")); !strings.Contains(last, "the pool is small") {
		u.t.Errorf("the agent of %s has lost its memory:\n%s", thread, last)
	}
}

// stop stops the programs of one release.
func (u *upgrade) stop(dev *process) {
	u.t.Helper()
	if code := dev.terminate(); code != 0 {
		u.t.Errorf("%s ends with exit code %d:\n%s", dev.cmd.Path, code, dev.log)
	}
}

// completes expects that an investigation completes, that nothing of it was lost or done twice, and that each decision and
// answer of a person was taken once.
func (u *upgrade) completes(workflowID string) {
	u.t.Helper()
	if result := u.end(workflowID); result.Status != agent.StatusCompleted {
		u.t.Errorf("%s is %s: %s", workflowID, result.Status, result.Error)
	}
	id := u.ids[workflowID]
	u.saidOnce(id)
	u.calledOnce(id)
	acts := map[audit.What]int{}
	count := func(act audit.Act) error { acts[act.What]++; return nil }
	s := u.open()
	defer s.Close() // hundreds of open stores would take all connections of PostgreSQL
	if err := s.Acts(u.t.Context(), store.ActFilter{Investigation: id}, count); err != nil {
		u.t.Error(err)
	}
	for what, chain := range map[audit.What]string{audit.Decided: "approval", audit.Answered: "question"} {
		if want := strings.Count(workflowID, chain); acts[what] != want {
			u.t.Errorf("%s: the audit log has %d acts %q, want %d", workflowID, acts[what], what, want)
		}
	}
}

// schedule creates a Temporal Schedule that starts investigations.
func (u *upgrade) schedule(id string) client.ScheduleHandle {
	u.t.Helper()
	handle, err := u.client().ScheduleClient().Create(u.t.Context(), client.ScheduleOptions{
		ID: id, Spec: client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: 30 * 24 * time.Hour}}},
		Action: &client.ScheduleWorkflowAction{
			ID: id, Workflow: workflows.TypeInvestigation, TaskQueue: workflows.TaskQueue,
			Args: []any{agent.Request{Chain: "finished", Data: []byte(`"x"`)}},
		},
	})
	if err != nil {
		u.t.Fatal(err)
	}
	return handle
}

// triggered triggers a schedule and expects that it has then started the given number of investigations, and that the last one
// completes.
func (u *upgrade) triggered(schedule client.ScheduleHandle, times int) {
	u.t.Helper()
	if err := schedule.Trigger(u.t.Context(), client.ScheduleTriggerOptions{}); err != nil {
		u.t.Fatal(err)
	}
	var last client.ScheduleWorkflowExecution
	eventually(u.t, "the schedule has started an investigation", func() bool {
		d, err := schedule.Describe(u.t.Context())
		if err != nil || len(d.Info.RecentActions) < times {
			return false
		}
		last = *d.Info.RecentActions[len(d.Info.RecentActions)-1].StartWorkflowResult
		return len(d.Info.RecentActions) == times && d.Info.NumActions == times
	})
	u.ids[last.WorkflowID] = workflows.InvestigationID(last.WorkflowID, last.FirstExecutionRunID)
	u.completes(last.WorkflowID)
}

// scored expects one score of an investigation.
func (u *upgrade) scored(workflowID string) {
	u.t.Helper()
	content := u.open()
	eventually(u.t, "the score of "+workflowID, func() bool {
		scores, err := content.Scores(u.t.Context(), u.ids[workflowID])
		return err == nil && len(scores) == 1 && scores[0].Score != nil && *scores[0].Score == 80
	})
}

// TestUpgradeInPlace starts every kind of work with the previous release, stops that release, and starts this
// build on the same data: everything completes, nothing is lost, and nothing is done twice.
func TestUpgradeInPlace(t *testing.T) {
	t.Parallel()
	held := newUpgrades()
	u := newUpgrade(t, held, held.script)
	dev := u.previous.dev()
	u.start("finished", "finished", "x")
	if got := u.previous.ended("finished"); got.Status != agent.StatusCompleted {
		t.Fatalf("with the previous release: %+v", got)
	}
	question := u.startEverything("")
	nightly := u.schedule("nightly")
	u.triggered(nightly, 1)
	u.stop(dev)

	u.dev()
	u.finish(u.world, "", question)
	u.triggered(nightly, 2)
	u.remembers(u.world, "thread", 2)
	for workflowID := range u.ids {
		u.completes(workflowID)
		if report := u.must("report", workflowID); !strings.Contains(report, "done") {
			t.Errorf("report of %s:\n%s", workflowID, report)
		}
	}
	if n := u.effects(); n != 3 {
		t.Errorf("the counter was called %d times, want 3", n)
	}
	u.scored("scored")
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
