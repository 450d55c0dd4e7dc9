package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

// The example: a question that survives a restart of everything, an answer, and a loop that ends when the
// critic is satisfied.
func TestPipelinePlanExecuteCritique(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, "{}")
	var err error
	if w.config, err = filepath.Abs("../../examples/plan-execute-critique"); err != nil {
		t.Fatal(err)
	}
	dev := w.dev()
	w.must("chain", "graph", "--chain", "plan-execute-critique", "--config", w.config, "--format", "text")
	run := w.start("starter answer shop", "starter", "run", "--chain", "plan-execute-critique", "--data", "The shop is slow.",
		"--workflow-id", "shop")
	dev.kill() // while it waits for the answer
	run.kill()
	w.dev()
	watch := w.start("starter answer shop", "starter", "watch", "shop")
	var inbox []struct{ Name, Question string }
	w.decode(&inbox, "inbox", "--json")
	if len(inbox) != 1 || inbox[0].Question != "Which service do your customers complain about?" {
		t.Fatalf("in the inbox: %+v", inbox)
	}
	w.stands("shop", 1, 1)
	w.mustFail(1, `the answer needs "text"`, "answer", "shop", "--approve")
	w.mustFail(1, `unknown question "q9"; available: `, "answer", "shop", "q9", "--text", "x")
	w.must("answer", "shop", inbox[0].Name, "--text", "checkout", "--by", "Ada")
	w.mustFail(1, "no pending interrupt to resume", "answer", "shop", "--text", "again")
	result := w.end("shop")
	if code := watch.wait(); code != 0 || !strings.Contains(watch.log.String(), `"verdict": "enough"`) {
		t.Errorf("watch ends with %d:\n%s", code, watch.log)
	}
	var verdict struct{ Verdict, Cause string }
	if err := json.Unmarshal([]byte(result.Report), &verdict); err != nil || verdict.Verdict != "enough" ||
		!strings.HasPrefix(verdict.Cause, "inventory: ") {
		t.Errorf("report (%v):\n%s", err, result.Report)
	}
	status := w.statusOf("shop")
	want := []string{"plan clarify", "plan#2 success", "execute success", "critique replan", "plan#3 success",
		"execute#2 success", "critique#2 success"}
	if diff := cmp.Diff(want, ranStages(status)); diff != "" {
		t.Errorf("the stages that ran (-want +got):\n%s", diff)
	}
	if status.Pass != 2 || status.Hops != 7 || status.EndReason != agent.EndCompleted || len(status.Outputs) != 3 {
		t.Errorf("pass %d, %d hops, %s, outputs %v", status.Pass, status.Hops, status.EndReason, status.Outputs)
	}
	w.saidOnce(result.ID)
	if *recordHistories {
		w.record("loop")
	}
}

// A question that is repeated after a reset has a new ID: an answer to the old question is rejected.
func TestQuestionAfterReset(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, "{}")
	var err error
	if w.config, err = filepath.Abs("../../examples/plan-execute-critique"); err != nil {
		t.Fatal(err)
	}
	w.dev()
	w.beginWith("shop", agent.Request{Chain: "plan-execute-critique", Data: json.RawMessage(`"The shop is slow."`)})
	old := w.question("shop", "")
	w.reset("shop", func(*historypb.HistoryEvent) bool { return true })
	put := w.question("shop", old)
	w.mustFail(1, `unknown question "`+old+`"; available: `+put, "answer", "shop", old, "--text", "payments")
	w.must("answer", "shop", put, "--text", "checkout")
	if result := w.end("shop"); result.Status != agent.StatusCompleted {
		t.Errorf("result: %+v", result)
	}
}

// question waits until an investigation asks a question other than old, and returns its ID.
func (w *world) question(id, old string) (put string) {
	w.t.Helper()
	eventually(w.t, "a question", func() bool {
		asked := w.statusOf(id).Questions
		if len(asked) == 1 {
			put = asked[0].ID
		}
		return put != "" && put != old
	})
	return put
}

// statusOf queries an investigation's status, even after it has ended.
func (w *world) statusOf(id string) (status workflows.Status) {
	w.t.Helper()
	eventually(w.t, "an answer to the query of "+id, func() bool {
		value, err := w.client().QueryWorkflow(context.Background(), id, "", workflows.QueryStatus)
		if _, slow := errors.AsType[*serviceerror.DeadlineExceeded](err); slow || errors.Is(err, context.DeadlineExceeded) {
			return false // its worker was killed, or the machine is busy
		}
		if err == nil {
			err = value.Get(&status)
		}
		if err != nil {
			w.t.Fatal(err)
		}
		return true
	})
	return status
}

// stands checks the position of a running investigation as the starter prints it.
func (w *world) stands(id string, pass, hops int) {
	w.t.Helper()
	var status workflows.Status
	w.decode(&status, "status", id, "--json")
	if status.Pass != pass || status.Hops != hops || status.Status.Closed() {
		w.t.Errorf("%s: pass %d, %d hops, %s; want pass %d, %d hops", id, status.Pass, status.Hops, status.Status, pass, hops)
	}
}

// decode parses the starter's JSON output.
func (w *world) decode(out any, args ...string) {
	w.t.Helper()
	if err := json.Unmarshal([]byte(w.must(args...)), out); err != nil {
		w.t.Fatal(err)
	}
}

// ranStages lists the runs of stages and their outcomes.
func ranStages(status workflows.Status) (runs []string) {
	for _, run := range status.History {
		runs = append(runs, run.Stage+" "+string(run.Outcome))
	}
	return runs
}

// saidOnce checks that no model call of an investigation was repeated.
func (w *world) saidOnce(investigation string) {
	w.t.Helper()
	seen := map[string]bool{}
	for _, e := range w.entries(investigation) {
		if e.Kind != transcript.KindReply {
			continue
		}
		key := e.Execution + string(rune('0'+e.Iteration))
		if seen[key] || e.Superseded {
			w.t.Errorf("%s, iteration %d: said twice", e.Execution, e.Iteration)
		}
		seen[key] = true
	}
}

const interruptConfig = walkConfig + `
agent_chains:
  asks:
    stages:
      - {name: gate, default_next: confirmation, agents: [{name: Judge}]}
  expires:
    interrupts: {clarification_timeout: 1s}
    stages:
      - {name: gate, default_next: clarification, agents: [{name: Judge}]}
  loops:
    bounds: {max_passes: 2}
    stages:
      - {name: work, agents: [{name: Judge}]}
      - {name: judge, loop_target: work, agents: [{name: Again}]}
  spends:
    bounds: {max_llm_calls: 2}
    stages:
      - {name: one, default_next: two, agents: [{name: Judge}]}
      - {name: two, agents: [{name: Judge}]}
      - {name: three, agents: [{name: Judge}]}
`

// All ways in which a chain can end, except by its last stage.
func TestPipelineEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(req llmtest.Request) llmtest.Reply {
		if strings.Contains(req.System(), "Ask for more") {
			return llmtest.Text(`{"outcome":"loop_back"}`)
		}
		return llmtest.Text(`{"said":"it","data":{"host":"db-1"}}`)
	}, interruptConfig)
	w.dev()
	for _, tt := range []struct {
		chain string
		end   agent.EndReason
		ran   string
		calls int    // of the model
		has   string // part of the report
	}{
		{"asks", agent.EndDenied, "gate success", 1, `{"said":"it","data":{"host":"db-1"}}`},
		{"expires", agent.EndInterruptExpired, "gate success", 1, `{"said":"it","data":{"host":"db-1"}}`},
		{"loops", agent.EndMaxPasses, "work success, judge loop_back, work#2 success, judge#2 loop_back", 4, `{"outcome":"loop_back"}`},
		{"spends", agent.EndMaxLLMCalls, "one success, two success, three partial", 2, `{"said":"it","data":{"host":"db-1"}}`},
	} {
		t.Run(tt.chain, func(t *testing.T) {
			t.Parallel()
			w := w.in(t)
			w.beginWith(tt.chain, agent.Request{Chain: tt.chain, Data: []byte(`"x"`)})
			if tt.chain == "asks" {
				eventually(t, "it asks", func() bool { return len(w.statusOf(tt.chain).Questions) == 1 })
				type question struct {
					ID   string
					Data struct{ Host string }
				}
				var inbox []question // may include questions of other chains
				w.decode(&inbox, "inbox", "--json")
				at := slices.IndexFunc(inbox, func(q question) bool { return q.ID == tt.chain })
				if at < 0 || inbox[at].Data.Host != "db-1" {
					t.Errorf("in the inbox: %+v", inbox)
				}
				w.must("answer", tt.chain, "--deny", "--text", "not today")
			}
			result := w.end(tt.chain)
			if result.EndReason != tt.end || result.Status != agent.StatusCompleted || result.Report != tt.has ||
				result.Usage.ModelCalls != tt.calls {
				t.Errorf("%s, %s after %d calls, report %q", result.Status, result.EndReason, result.Usage.ModelCalls, result.Report)
			}
			if ran := strings.Join(ranStages(w.statusOf(tt.chain)), ", "); ran != tt.ran {
				t.Errorf("ran %s, want %s", ran, tt.ran)
			}
		})
	}
}

// All processes are killed in the second pass, just after the chain has gone back: it continues there, and
// nothing is repeated.
func TestPipelineKilledInALoop(t *testing.T) {
	t.Parallel()
	hold := llmtest.NewHold()
	w := newWorld(t, func(req llmtest.Request) llmtest.Reply {
		if strings.Contains(req.System(), "Ask for more") {
			if strings.Contains(req.Last().Text(), "Earlier passes") {
				return llmtest.Text(`{"outcome":"success","done":true}`)
			}
			return llmtest.Text(`{"outcome":"loop_back"}`)
		}
		if strings.Contains(req.Last().Text(), "Earlier passes") {
			return llmtest.Text(`{"said":"more"}`).Chunked(2, 0).Hold(hold, 1)
		}
		return llmtest.Text(`{"said":"it"}`)
	}, interruptConfig)
	dev := w.dev()
	w.beginWith("loops", agent.Request{Chain: "loops", Data: []byte(`"x"`)})
	hold.Wait(t)
	dev.kill()
	w.dev()
	w.model.Wait(4) // the call that was cut off is retried and held
	w.stands("loops", 2, 3)
	hold.Release()
	result := w.end("loops")
	want := []string{"work success", "judge loop_back", "work#2 success", "judge#2 success"}
	if diff := cmp.Diff(want, ranStages(w.statusOf("loops"))); diff != "" || result.EndReason != agent.EndCompleted {
		t.Errorf("%s (-want +got):\n%s", result.EndReason, diff)
	}
	if made := len(w.model.Requests()); made != 5 {
		t.Errorf("%d model calls; four runs of stages and the one that was cut off make 5", made)
	}
	w.saidOnce(result.ID)
}

// plan → review → approve → apply → review → announce. All processes are killed during the review, while people
// are asked, and just after their answer: nothing is lost or done twice.
func TestPipelineGates(t *testing.T) {
	t.Parallel()
	review, apply := llmtest.NewHold(), llmtest.NewHold()
	w := newWorld(t, func(req llmtest.Request) llmtest.Reply {
		task := req.Last().Text()
		denied := strings.Contains(task, "not approved. name a way back")
		switch {
		case strings.Contains(req.System(), "You are Reviewer") && !strings.Contains(task, "and roll back if"):
			return llmtest.Text(`{"approved":false,"feedback":"name a way back"}`)
		case strings.Contains(req.System(), "You are Reviewer"):
			return llmtest.Text(`{"approved":true,"feedback":""}`).Chunked(2, 0).Hold(review, 1)
		case strings.Contains(req.System(), "stage \"plan\"") && denied:
			return llmtest.Text(`{"plan":"restart db-1, and roll back if it stays down"}`)
		case strings.Contains(req.System(), "stage \"plan\""):
			return llmtest.Text(`{"plan":"restart db-1"}`)
		case strings.Contains(req.System(), "stage \"apply\""):
			return llmtest.Text(`{"applied":true}`).Chunked(2, 0).Hold(apply, 1)
		}
		return llmtest.Text(`{"said":"db-1 is back"}`)
	}, strings.Replace(walkConfig, "agents: {", "agents: {Reviewer: {type: llm}, ", 1)+`
agent_chains:
  change:
    stages:
      - {name: plan, default_next: confirmation, agents: [{name: Judge}], agent_review: {agent: Reviewer, question: "Is it safe?"}}
      - {name: apply, agents: [{name: Judge}], agent_review: {question: "Is db-1 back?"}}
      - {name: announce, agents: [{name: Judge}]}
`)
	dev := w.dev()
	restart := func() {
		dev.kill()
		dev = w.dev()
	}
	asks := func(kind string) {
		eventually(t, "it asks", func() bool {
			questions := w.statusOf("change").Questions
			return len(questions) == 1 && questions[0].Kind == kind
		})
	}
	w.beginWith("change", agent.Request{Chain: "change", Data: []byte(`"db-1 is down"`)})
	review.Wait(t)
	restart()
	w.model.Wait(5) // the call that was cut off is retried and held
	review.Release()
	asks("confirmation")
	restart()
	asks("confirmation") // at the kill, Temporal may not have had what a query shows
	w.must("answer", "change", "--approve", "--by", "Ada")
	apply.Wait(t)
	restart()
	w.model.Wait(7)
	apply.Release()
	asks("agent_review")
	w.mustFail(1, `needs "approved"`, "answer", "change", "--decision", "fine")
	w.must("answer", "change", "--approve", "--by", "Bob")
	restart()
	result := w.end("change")
	want := []string{"plan success", "plan#2 success", "apply success", "announce success"}
	if diff := cmp.Diff(want, ranStages(w.statusOf("change"))); diff != "" || result.Report != `{"said":"db-1 is back"}` ||
		result.EndReason != agent.EndCompleted {
		t.Errorf("%s, %q (-want +got):\n%s", result.EndReason, result.Report, diff)
	}
	if made := len(w.model.Requests()); made != 8 {
		t.Errorf("%d model calls; six, and two that were cut off, make 8", made)
	}
	w.saidOnce(result.ID)
	if *recordHistories {
		w.record("gates")
	}
}

// gateBlock is the guide's chain with two gates.
var gateBlock = regexp.MustCompile("(?s)```yaml\nagent_chains:\n  mend: .*?\n```\n")

// plan → approve → apply → approve → announce takes five lines, as in the guide. All processes are killed at
// each gate, before and after the answer: nothing is done twice or without approval.
func TestPipelineGateOfTheGuide(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../docs/reference/chains.md")
	if err != nil {
		t.Fatal(err)
	}
	chain := strings.TrimPrefix(strings.TrimSuffix(gateBlock.FindString(string(guide)), "```\n"), "```yaml\n")
	if lines := strings.Count(chain, "\n"); lines != 5 {
		t.Fatalf("the guide's gate has %d lines:\n%s", lines, chain)
	}
	agents := strings.Replace(walkConfig, "agents: {", "agents: {Planner: {type: llm}, Mender: {type: llm}, Herald: {type: llm}, ", 1)
	w := newWorld(t, func(req llmtest.Request) llmtest.Reply {
		return llmtest.Text(fmt.Sprintf(`{"told":%t}`, strings.Contains(req.Last().Text(), "approved. go ahead, twice")))
	}, agents+chain)
	dev := w.dev()
	w.beginWith("mend", agent.Request{Chain: "mend", Data: []byte(`"db-1 is down"`)})
	for _, gate := range []string{"plan", "apply"} {
		asks := func() bool {
			questions := w.statusOf("mend").Questions
			return len(questions) == 1 && questions[0].Stage == gate && questions[0].Kind == "confirmation"
		}
		eventually(t, "the gate asks", asks)
		dev.kill()
		dev = w.dev()
		eventually(t, "the gate still asks", asks)
		w.must("answer", "mend", "--approve", "--text", "go ahead, twice", "--by", "Ada")
		dev.kill()
		dev = w.dev()
	}
	result := w.end("mend")
	want := []string{"plan success", "apply success", "announce success"}
	diff := cmp.Diff(want, ranStages(w.statusOf("mend")))
	if diff != "" || result.EndReason != agent.EndCompleted || result.Report != `{"told":true}` {
		t.Errorf("%s, %q (-want +got):\n%s", result.EndReason, result.Report, diff)
	}
	w.saidOnce(result.ID)
}

// Temporal's own CLI can also answer, after a kill of every process that was waiting.
func TestPipelineAnsweredByTheStockCLI(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(llmtest.Request) llmtest.Reply { return llmtest.Text(`{"said":"it"}`) }, interruptConfig)
	dev := w.dev()
	w.beginWith("asks", agent.Request{Chain: "asks", Data: []byte(`"x"`)})
	asks := func() bool { return len(w.statusOf("asks").Questions) == 1 }
	eventually(t, "it asks", asks)
	dev.kill()
	w.dev()
	eventually(t, "it still asks", asks)
	s := stock{world: w, path: buildCLI(t)}
	update := func(input string) (string, int) {
		out, errs, code := s.program(s.path, "", "workflow", "update", "execute", "--workflow-id", "asks", "--name", "answer", "--input", input)
		return out + errs, code
	}
	if out, code := update(`{"text":"yes"}`); code == 0 || !strings.Contains(out, "the answer needs") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if out, code := update(`{"approved":false,"by":"Ada"}`); code != 0 {
		t.Errorf("exit code %d: %s", code, out)
	}
	if result := w.end("asks"); result.EndReason != agent.EndDenied || len(w.model.Requests()) != 1 {
		t.Errorf("after %d model calls: %+v", len(w.model.Requests()), result)
	}
}
