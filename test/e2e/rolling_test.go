package e2e

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/audit"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/store/postgrestest"
	"github.com/inquest-dev/inquest/workflows"
)

// rollingConfig adds the load of a rolling upgrade. The chain "load" has two stages, parallel agents, a call that must not
// be repeated, and a synthesis.
const rollingConfig = upgradeConfig + `
  load:
    stages:
      - {name: dig, agents: [{name: Counter}, {name: Joiner}], synthesis: {agent: SynthesisAgent}}
      - {name: tell, agents: [{name: Joiner}]}
`

// rolling is a fleet of four workers on PostgreSQL whose workers are replaced one by one, under load.
type rolling struct {
	*world
	previous *world // with the programs of the previous release
	held     upgrades
	workers  [4]*process
	each     int // investigations of the load that begin before each replacement, and as many during it

	mu    sync.Mutex
	holds map[string]*llmtest.Hold // by the name of the step: model replies that are in flight during it
	ids   map[string]string        // investigation IDs by workflow ID
	step  int
}

// marked finds the subject of a load investigation, which each of its prompts contains.
var marked = regexp.MustCompile(`(load|approval)-step\d+(-\d+)?`)

func (r *rolling) script(req llmtest.Request) llmtest.Reply {
	name, turn, mark := who(req), turnOf(req), marked.FindString(wholeText(req))
	switch {
	case mark == "":
		return r.held.script(req)
	case turn == 1 && (name == "Counter" || name == "Clerk"):
		tool := map[string]string{"Counter": "lab__counter", "Clerk": "lab__set"}[name]
		return llmtest.Calls(llmtest.Call{Name: tool, Args: fmt.Sprintf(`{"file":%q}`, "effects-"+mark)})
	case name == "Counter":
		step, _, _ := strings.Cut(strings.TrimPrefix(mark, "load-"), "-")
		return llmtest.Text("counted "+mark).Chunked(3, 0).Hold(r.hold(step), 1)
	}
	return llmtest.Text(name + " is done with " + mark)
}

func (r *rolling) hold(step string) *llmtest.Hold {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.holds[step] == nil {
		r.holds[step] = llmtest.NewHold()
	}
	return r.holds[step]
}

func newRolling(t *testing.T, each int) *rolling {
	t.Helper()
	r := &rolling{each: each, holds: map[string]*llmtest.Hold{}, ids: map[string]string{}}
	r.held = upgrades{llmtest.NewHold(), llmtest.NewHold(), llmtest.NewHold(), llmtest.NewHold()}
	r.world = newWorld(t, r.script, rollingConfig)
	r.store = postgrestest.Start(t).Database(t, "rolling")
	r.env = append(r.env, "INQUEST_STORE="+r.store)
	previous := *r.world
	previous.bin = buildPrevious(t)
	r.previous = &previous
	r.dev("--no-worker")
	for n := range r.workers {
		r.workers[n] = r.previous.worker()
	}
	return r
}

func (r *rolling) start(workflowID, chain, data string) {
	run := r.beginWith(workflowID, agent.Request{Chain: chain, Data: fmt.Appendf(nil, "%q", data)})
	r.ids[workflowID] = workflows.InvestigationID(workflowID, run.GetRunID())
}

// startEverything starts every kind of work that can be in flight, and waits until each is at its worst point for an upgrade.
func (r *rolling) startEverything() (question string) {
	for chain, data := range map[string]string{
		"scored": "x", "model": "held by its model", "paused": "to be paused", "approval": "x", "question": "x", "children": "x", "asleep": "x",
	} {
		r.start(chain, chain, data)
	}
	r.previous.tell("Talker", "thread", "remember")
	for _, hold := range []*llmtest.Hold{r.held.model, r.held.paused, r.held.children, r.held.scored} {
		hold.Wait(r.t)
	}
	r.previous.must("pause", "paused")
	r.waitsFor("approval", "lab.set")
	r.sleepsUntil(r.ids["asleep"] + "/dig/Sleeper")
	return r.question("question", "")
}

// replace stops one worker and starts its replacement. Meanwhile, model replies are in flight, investigations start, a person decides
// on a call twice, with the starters of both releases, and a conversation receives a message.
func (r *rolling) replace(n int, next *world) {
	r.t.Helper()
	r.step++
	step := fmt.Sprintf("step%d", r.step)
	load := func(from int) {
		for i := range r.each {
			r.start(fmt.Sprintf("load-%s-%d", step, from+i), "load", fmt.Sprintf("load-%s-%d", step, from+i))
		}
	}
	load(0)
	approval := "approval-" + step
	r.start(approval, "approval", approval)
	r.hold(step).Wait(r.t)
	r.waitsFor(approval, "lab.set")

	old := r.workers[n]
	_ = old.cmd.Process.Signal(syscall.SIGTERM)
	r.hold(step).Release()
	load(r.each)
	var deciders sync.WaitGroup
	for _, w := range []*world{r.world, r.previous} {
		deciders.Go(func() { w.starter("", "decide", approval, "c1_0", "--approve", "--by", "Ada") }) // one of them is second
	}
	deciders.Wait()
	if reply := r.tell("Talker", "thread", "hello"); reply.Text != "Talker is done" {
		r.t.Errorf("%s: the conversation continues with %q", step, reply.Text)
	}
	if code := old.wait(); code != 0 {
		r.t.Errorf("%s: the worker ends with exit code %d:\n%s", step, code, old.log)
	}
	r.workers[n] = next.worker()
}

// expand changes the store as the next release might.
func (r *rolling) expand() {
	r.t.Helper()
	db, err := sql.Open("pgx", r.store)
	if err != nil {
		r.t.Fatal(err)
	}
	defer db.Close()
	const statements = `ALTER TABLE investigations ADD COLUMN mood TEXT NOT NULL DEFAULT '';
		CREATE TABLE IF NOT EXISTS goose_expansions (id INTEGER PRIMARY KEY GENERATED BY DEFAULT AS IDENTITY,
			version_id BIGINT NOT NULL, is_applied BOOLEAN NOT NULL, tstamp TIMESTAMP NOT NULL DEFAULT now());
		INSERT INTO goose_expansions (version_id, is_applied) VALUES (999, TRUE)`
	if _, err := db.ExecContext(r.t.Context(), statements); err != nil {
		r.t.Fatal(err)
	}
}

// schedule starts an investigation every second, five times.
func (r *rolling) schedule() (handle client.ScheduleHandle) {
	r.t.Helper()
	handle, err := r.client().ScheduleClient().Create(r.t.Context(), client.ScheduleOptions{
		ID: "nightly", Spec: client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: time.Second}}},
		Overlap: enumspb.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL, RemainingActions: scheduled,
		Action: &client.ScheduleWorkflowAction{
			ID: "nightly", Workflow: workflows.TypeInvestigation, TaskQueue: workflows.TaskQueue,
			WorkflowTaskTimeout: workflows.WorkflowTaskTimeout, Args: []any{agent.Request{Chain: "finished", Data: []byte(`"x"`)}},
		},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return handle
}

const scheduled = 5

// finish lets everything end that startEverything started.
func (r *rolling) finish(question string) {
	for _, hold := range []*llmtest.Hold{r.held.model, r.held.paused, r.held.children, r.held.scored} {
		hold.Release()
	}
	r.must("decide", "approval", "c1_0", "--approve", "--by", "Ada")
	r.must("answer", "question", question, "--text", "checkout", "--by", "Ada")
	r.must("resume", "paused")
	r.signal(r.ids["asleep"]+"/dig/Sleeper", workflows.SignalResumeHeartbeats, nil)
	if last := r.tell("Talker", "thread", "hello again"); last.Turn != r.step+2 {
		r.t.Errorf("the last turn of the conversation is number %d, want %d", last.Turn, r.step+2)
	}
}

// check expects that everything has completed, and that nothing was lost or done twice.
func (r *rolling) check(nightly client.ScheduleHandle) {
	r.t.Helper()
	described, err := nightly.Describe(r.t.Context())
	if err != nil || described.Info.NumActions != scheduled {
		r.t.Errorf("the schedule has started %d of %d (%v)", described.Info.NumActions, scheduled, err)
	}
	for _, started := range described.Info.RecentActions {
		run := started.StartWorkflowResult
		r.ids[run.WorkflowID] = workflows.InvestigationID(run.WorkflowID, run.FirstExecutionRunID)
	}
	content := r.open()
	for workflowID, id := range r.ids {
		if result := r.end(workflowID); result.Status != agent.StatusCompleted {
			r.t.Errorf("%s is %s: %s", workflowID, result.Status, result.Error)
		}
		r.saidOnce(id)
		r.calledOnce(id)
		acts := map[audit.What]int{}
		filter := store.ActFilter{Investigation: id}
		if err := content.Acts(r.t.Context(), filter, func(act audit.Act) error { acts[act.What]++; return nil }); err != nil {
			r.t.Error(err)
		}
		if want := strings.Count(workflowID, "approval"); acts[audit.Decided] != want {
			r.t.Errorf("%s: %d decisions were taken, want %d", workflowID, acts[audit.Decided], want)
		}
		if strings.Contains(workflowID, "-step") {
			if n := r.linesOf("effects-" + workflowID); n != 1 {
				r.t.Errorf("%s: the tool server was called %d times", workflowID, n)
			}
		}
	}
	calls := map[string]int{}
	for _, req := range r.model.Requests() {
		if mark := marked.FindString(wholeText(req)); mark != "" {
			calls[fmt.Sprintf("%s: %s of %s, turn %d", mark, who(req), partOf(req), turnOf(req))]++
		}
	}
	for call, n := range calls {
		if n != 1 {
			r.t.Errorf("%s was asked of the model %d times", call, n)
		}
	}
	r.t.Logf("%d investigations, %d model calls of the load, each once", len(r.ids), len(calls))
	eventually(r.t, "the score", func() bool {
		scores, err := content.Scores(r.t.Context(), r.ids["scored"])
		good := func(s record.Score) bool { return s.Score != nil && *s.Score == 80 }
		return err == nil && len(scores) == 1 && slices.ContainsFunc(scores, good)
	})
}

// partOf distinguishes the two stages of the load: the second one receives the results of the first.
func partOf(req llmtest.Request) string {
	if strings.Contains(wholeText(req), "SynthesisAgent is done") {
		return "tell"
	}
	return "dig"
}

func (r *rolling) linesOf(file string) int {
	r.t.Helper()
	body, err := os.ReadFile(filepath.Join(r.data, file))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		r.t.Fatal(err)
	}
	return strings.Count(string(body), "\n")
}

// stuck counts the workflow task attempts that workers left to others.
func (r *rolling) stuck() (n int) {
	for _, w := range r.workers {
		n += strings.Count(w.log.String(), "TMPRL1100")
	}
	return n
}

// TestRollingUpgrade replaces four workers of the previous release one by one with workers of this build, rolls
// two of them back, and goes forward again, all under load.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	testRollingUpgrade(t, 1, 1)
}

// TestRollingUpgradeUnderLoad does the same several times with more load.
func TestRollingUpgradeUnderLoad(t *testing.T) {
	if !*long {
		t.Skip("takes minutes: `make upgrade`")
	}
	testRollingUpgrade(t, 8, 3)
}

func testRollingUpgrade(t *testing.T, each, rounds int) {
	r := newRolling(t, each)
	nightly := r.schedule()
	question := r.startEverything()
	for round := range rounds {
		for n := range 2 {
			r.replace(n, r.world)
		}
		if round == 0 {
			r.expand()
		}
		for n := range 2 {
			r.replace(n, r.previous)
		}
	}
	t.Logf("after the rollback: %d attempts at workflow tasks left to others", r.stuck())
	r.start("old-again", "finished", "x") // the older workers serve the expanded store
	if result := r.end("old-again"); result.Status != agent.StatusCompleted {
		t.Errorf("after the rollback: %+v", result)
	}
	for n := range r.workers {
		r.replace(n, r.world)
	}
	r.finish(question)
	r.check(nightly)
}
