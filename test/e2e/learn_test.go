package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/prompt"
	"github.com/inquest-dev/inquest/workflows"
)

const learningConfig = `
llm_providers:
  lab-model: {type: openai, model: gpt-4o, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
defaults: {llm_provider: lab-model, scoring: {enabled: true}, memory: {enabled: true}}
agents:
  Digger: {}
agent_chains:
  dig: {alert_types: [dig], stages: [{name: dig, agents: [{name: Digger}]}]}
`

const learned = "When checkout is slow, the pool of payments is full: look at its connections first."

var reportRow = regexp.MustCompile(`\[row (\d+), iteration \d+\] reply`)

// learner is a model whose agents know the cause only if a learning tells them.
func learner(req llmtest.Request) llmtest.Reply {
	switch who := prompt.AgentOf(req.System()); {
	case who == "ReflectorAgent":
		row := reportRow.FindStringSubmatch(req.Last().Text())
		if row == nil || strings.Contains(req.Last().Text(), "(procedural, positive") {
			return llmtest.Text(`{"new":[],"confirmed":["L1"],"contradicted":[]}`)
		}
		return llmtest.Text(fmt.Sprintf(
			`{"new":[{"kind":"procedural","polarity":"positive","text":%q,"rows":[%s]}],"confirmed":[],"contradicted":[]}`, learned, row[1]))
	case who == "ConclusionAgent":
		return llmtest.Text(`{"verdicts":[{"number":1,"verdict":"different"}]}`)
	case who == "ScoringAgent" && req.Last().Text() == prompt.MissingTools:
		return llmtest.Text("None.")
	case who == "ScoringAgent":
		return llmtest.Text("Right.\n80")
	case strings.Contains(req.System(), learned):
		return llmtest.Text("The pool of payments is full.")
	}
	return llmtest.Text("The cause is unknown.")
}

// TestScoringLearns runs three investigations of the same alert: the first teaches, the second uses what it taught and confirms it,
// and the third belongs to another project, which knows nothing of it. The second one's conclusion depends on that learning.
func TestScoringLearns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, learner, learningConfig)
	w.dev()
	investigate := func(name, project string) (report string) {
		run := w.beginWith(name, agent.Request{Chain: "dig", Data: []byte(`"checkout is slow"`), Labels: agent.Labels{Project: project}})
		result := w.end(name)
		scoring := workflows.ScoringID(workflows.InvestigationID(name, run.GetRunID()))
		eventually(t, name+" has taught what it can", func() bool {
			return w.client().GetWorkflow(t.Context(), scoring, "").Get(t.Context(), nil) == nil
		})
		return result.Report
	}
	if got := investigate("first", ""); got != "The cause is unknown." {
		t.Errorf("without memory: %s", got)
	}
	if *recordHistories {
		w.record("learned")
	}
	if got := investigate("second", ""); got != "The pool of payments is full." {
		t.Errorf("with memory: %s", got)
	}
	if got := investigate("third", "other"); got != "The cause is unknown." {
		t.Errorf("of another project: %s", got)
	}
	var found whyFound
	w.decode(&found, "why", "second", "--leave-out", "memories", "--yes", "--json")
	if found.changes() != "L1 1 of 1, nothing 0 of 1" {
		t.Errorf("without a learning: %+v", found)
	}
}
