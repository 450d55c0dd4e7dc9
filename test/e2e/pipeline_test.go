package e2e

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

// The example: a question that outlives everything that runs, an answer, and a
// loop that ends when the critic has enough.
func TestPlanExecuteCritique(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, "{}")
	var err error
	if w.config, err = filepath.Abs("../../examples/plan-execute-critique"); err != nil {
		t.Fatal(err)
	}
	dev := w.dev()
	run := w.start("starter answer shop", "starter", "run", "--chain", "plan-execute-critique", "--data", "The shop is slow.", "--workflow-id", "shop")
	dev.kill() // while it waits for the answer
	run.kill()
	w.dev()
	var inbox []struct{ Name, Question string }
	w.decode(&inbox, "inbox", "--json")
	if len(inbox) != 1 || inbox[0].Question != "Which service do your customers complain about?" {
		t.Fatalf("in the inbox: %+v", inbox)
	}
	w.mustFail(1, `the answer needs "text"`, "answer", "shop", "--approve")
	w.mustFail(1, `no question "q9" waits`, "answer", "shop", "q9", "--text", "x")
	w.must("answer", "shop", "--text", "checkout", "--by", "Ada")
	w.mustFail(1, "no pending interrupt to resume", "answer", "shop", "--text", "again")
	result := w.end("shop")
	var verdict struct{ Verdict, Cause string }
	if err := json.Unmarshal([]byte(result.Report), &verdict); err != nil || verdict.Verdict != "enough" || !strings.HasPrefix(verdict.Cause, "inventory: ") {
		t.Errorf("report (%v):\n%s", err, result.Report)
	}
	status := w.statusOf("shop")
	want := []string{"plan clarify", "plan#2 success", "execute success", "critique replan", "plan#3 success", "execute#2 success", "critique#2 success"}
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

// statusOf asks an investigation for its status, also one that has ended.
func (w *world) statusOf(id string) (status workflows.Status) {
	w.t.Helper()
	value, err := w.client().QueryWorkflow(context.Background(), id, "", workflows.QueryStatus)
	if err == nil {
		err = value.Get(&status)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return status
}

// decode reads what the starter prints as JSON.
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
    alert_types: [asks]
    interrupts: {clarification_timeout: 2s, confirmation_timeout: 1h}
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

// Every way in which a chain can end, but by its last stage.
func TestPipelineEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(req llmtest.Request) llmtest.Reply {
		if strings.Contains(req.System(), "Ask for more") {
			return llmtest.Text(`{"outcome":"loop_back"}`)
		}
		return llmtest.Text(`{"said":"it"}`)
	}, interruptConfig)
	w.dev()
	for _, tt := range []struct {
		chain string
		end   agent.EndReason
		ran   string
	}{
		{"asks", agent.EndDenied, "gate success"},
		{"expires", agent.EndInterruptExpired, "gate success"},
		{"loops", agent.EndMaxPasses, "work success, judge loop_back, work#2 success, judge#2 loop_back"},
		{"spends", agent.EndMaxLLMCalls, "one success, two success, three partial"},
	} {
		t.Run(tt.chain, func(t *testing.T) {
			t.Parallel()
			w := w.in(t)
			w.beginWith(tt.chain, agent.Request{Chain: tt.chain, Data: []byte(`"x"`)})
			if tt.chain == "asks" {
				eventually(t, "it asks", func() bool { return len(w.statusOf(tt.chain).Questions) == 1 })
				w.must("answer", tt.chain, "--deny", "--text", "not today")
			}
			result := w.end(tt.chain)
			if result.EndReason != tt.end || result.Status != agent.StatusCompleted || !strings.Contains(result.Report, "{") {
				t.Errorf("%s, %s, report %q", result.Status, result.EndReason, result.Report)
			}
			if ran := strings.Join(ranStages(w.statusOf(tt.chain)), ", "); ran != tt.ran {
				t.Errorf("ran %s, want %s", ran, tt.ran)
			}
		})
	}
}

// Everything dies while the chain has just gone back, in the midst of its second
// pass: it goes on there, and nothing is said twice.
func TestKillInALoop(t *testing.T) {
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
	hold.Release()
	result := w.end("loops")
	want := []string{"work success", "judge loop_back", "work#2 success", "judge#2 success"}
	if diff := cmp.Diff(want, ranStages(w.statusOf("loops"))); diff != "" || result.EndReason != agent.EndCompleted {
		t.Errorf("%s (-want +got):\n%s", result.EndReason, diff)
	}
	w.saidOnce(result.ID)
}

// Temporal's own CLI answers, too.
func TestAnswerWithTheStockCLI(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(llmtest.Request) llmtest.Reply { return llmtest.Text(`{"said":"it"}`) }, interruptConfig)
	w.dev()
	w.beginWith("asks", agent.Request{Chain: "asks", Data: []byte(`"x"`)})
	eventually(t, "it asks", func() bool { return len(w.statusOf("asks").Questions) == 1 })
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
	if result := w.end("asks"); result.EndReason != agent.EndDenied {
		t.Errorf("got %+v", result)
	}
}
