package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"go.temporal.io/api/workflowservice/v1"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/prompt"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/workflows"
)

const judgedConfig = `
llm_providers:
  lab-model: {type: openai, model: gpt-4o, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
defaults: {llm_provider: lab-model, scoring: {enabled: true}, executive_summary: {enabled: true}}
agents:
  Digger: {}
agent_chains:
  dig: {alert_types: [dig], stages: [{name: dig, agents: [{name: Digger}]}]}
`

// judged is a model for all agents of a chain with a synthesis and a judge. The judge's first reply is held.
func judged(hold *llmtest.Hold) llmtest.Script {
	return func(req llmtest.Request) llmtest.Reply {
		switch who := prompt.AgentOf(req.System()); {
		case who == "ExecSummaryAgent":
			return llmtest.Text("The pool was too small.\nMake it larger.")
		case who != "ScoringAgent":
			return llmtest.Text("It is the pool.")
		case req.Last().Text() == prompt.MissingTools:
			return llmtest.Text("A tracing tool.")
		}
		return llmtest.Text("Too early: premature_conclusion.\n42").Hold(hold, 1)
	}
}

// All processes are killed while an ended investigation is scored: nothing is lost, and it is scored once.
// Another scoring cannot start until the first has finished.
func TestKillWhileScoring(t *testing.T) {
	t.Parallel()
	hold := llmtest.NewHold()
	w := newWorld(t, judged(hold), judgedConfig)
	dev := w.dev()
	run := w.beginWith("lab", agent.Request{Chain: "dig", Data: []byte(`"x"`)})
	id := workflows.InvestigationID("lab", run.GetRunID())
	hold.Wait(t)
	result := w.end("lab") // it does not wait for its score
	if result.Status != agent.StatusCompleted || result.Report != "It is the pool." ||
		result.Summary != "The pool was too small.\nMake it larger." {
		t.Errorf("result: %+v", result)
	}
	if _, stderr, code := w.starter("", "score", "lab"); code != 1 ||
		!strings.Contains(stderr, "is already being scored, by workflow "+id+"-score") {
		t.Errorf("a second score at the same time: exit code %d\n%s", code, stderr)
	}
	dev.kill()
	w.dev()
	hold.Release()
	var shown struct{ Scores []record.Score }
	scores := func(n int) []record.Score {
		eventually(t, "the score is there", func() bool {
			shown.Scores = nil
			if err := json.Unmarshal([]byte(w.must("show", "lab", "--json")), &shown); err != nil {
				t.Fatal(err)
			}
			return len(shown.Scores) == n && shown.Scores[n-1].EndedAt != nil
		})
		return shown.Scores
	}
	first := scores(1)[0]
	if first.Score == nil || *first.Score != 42 || first.Assessment != "Too early: premature_conclusion." ||
		first.MissingTools != "A tracing tool." ||
		len(first.Tags) != 1 || first.Usage.ModelCalls != 2 {
		t.Errorf("the score: %+v", first)
	}
	eventually(t, "Temporal lists the score", func() bool {
		page, err := w.client().ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{
			Query: "InquestScore = 42 AND InquestChain = 'dig' AND InquestStatus = 'completed'",
		})
		if err != nil {
			t.Fatal(err)
		}
		return len(page.GetExecutions()) == 1 && page.GetExecutions()[0].GetExecution().GetWorkflowId() == id+"-score"
	})
	if n := len(w.model.Requests()); n != 5 { // one was cut off
		t.Errorf("%d model calls", n)
	}
	if out := w.must("score", "lab", "--by", "Ada"); !strings.Contains(out, "score: 42 of 100 · premature_conclusion · requested by Ada") {
		t.Errorf("asked again: %s", out)
	}
	if second := scores(2)[1]; second.By != "Ada" || second.PromptHash != first.PromptHash || second.Execution == first.Execution {
		t.Errorf("asked again: %+v, before it %+v", second, first)
	}
	if *recordHistories {
		w.record("scored")
	}
}
