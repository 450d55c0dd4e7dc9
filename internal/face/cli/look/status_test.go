package look

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/workflows"
)

// A status names a problem of an agent once, although its stage and the investigation fail with it.
func TestStatusNamesAProblemOnce(t *testing.T) {
	t.Parallel()
	const behind = "the store lacks entries that Temporal has seen"
	stage := record.Stage{Name: "one", Status: agent.StatusFailed, Error: "A failed: " + behind, Envelope: record.StageEnvelope{
		Version: 1, Agents: []record.AgentSummary{{Name: "A", Status: agent.StatusFailed, Error: behind}},
	}}
	r := record.Investigation{ID: "inc:1", Chain: "c", Status: agent.StatusFailed, Error: "stage one: A failed: " + behind}
	var out bytes.Buffer
	if err := printStatus(&base.CLI{Out: &out}, system.Status{Status: client.StatusOf(r, []record.Stage{stage}, nil)}); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.Count(text, behind) != 1 || !strings.Contains(text, "! stage one: A failed: "+behind+"\n") {
		t.Errorf("got\n%s", text)
	}
}

// A status lists what could not be read of the alert, apart from the other metadata.
func TestStatusOfAnAlert(t *testing.T) {
	t.Parallel()
	r := record.Investigation{ID: "inc:1", Chain: "c", Status: agent.StatusRunning, Labels: agent.Labels{
		Metadata: map[string]string{"severity": "high", agent.AlertNotes: "starts_at \"a\" was left out\ntitle \"b\" was left out\x1b"}}}
	var out bytes.Buffer
	if err := printStatus(&base.CLI{Out: &out}, system.Status{Status: client.StatusOf(r, nil, nil)}); err != nil {
		t.Fatal(err)
	}
	const want = "inc:1 · c · running · tokens unknown · severity=high\n" +
		"! alert: starts_at \"a\" was left out\n! alert: title \"b\" was left out"
	if text := out.String(); !strings.HasPrefix(text, want) || strings.Contains(text, "\x1b") {
		t.Errorf("got\n%s", text)
	}
}

// The status of a looping chain lists its stage runs in order of time, each with its own agents, and shows its limits and who requested
// it.
func TestStatusOfAChainThatLooped(t *testing.T) {
	t.Parallel()
	end := time.Date(2026, 3, 17, 14, 0, 9, 0, time.UTC)
	order := 0
	run := func(name string, index int, agents ...string) record.Stage {
		order++
		s := record.Stage{Name: name, Index: index, Status: agent.StatusCompleted, EndedAt: &end,
			Envelope: record.StageEnvelope{Version: 1, Order: order}}
		for _, a := range agents {
			s.Envelope.Agents = append(s.Envelope.Agents, record.AgentSummary{Name: a, Status: agent.StatusCompleted, Model: "m", Iterations: 1})
		}
		return s
	}
	stages := []record.Stage{run("plan", 0, "Planner"), run("judge", 1, "Judge"), run("plan#2", 0, "Planner"),
		run("judge#2", 1, "Judge", "Clerk")}
	stages[1], stages[2] = stages[2], stages[1] // as in the plan
	r := record.Investigation{ID: "inc:1", Chain: "c", Status: agent.StatusCompleted, EndReason: agent.EndMaxPasses, Envelope: record.Envelope{
		Version: 1, Undelivered: []string{`guide: no agent "Nobody" is running or still to run`}, By: "Ada", Pending: []string{"tell"},
		Bounds: []plan.Bound{{Name: "max_passes", Limit: "2", From: "a.yaml:7"}, {Name: "max_llm_calls", Limit: "10", From: "default"}},
	}}
	var out bytes.Buffer
	c := &base.CLI{Out: &out}
	if err := printStatus(c, system.Status{Status: client.StatusOf(r, stages, nil)}); err != nil {
		t.Fatal(err)
	}
	const want = `inc:1 · c · completed · cut short: max_passes_exceeded · tokens unknown · requested by Ada
! not delivered: guide: no agent "Nobody" is running or still to run
bounds: max_passes 2 (a.yaml:7) · max_llm_calls 10 (default)
plan       completed
  Planner  completed  m  1 iteration · tokens unknown
judge      completed
  Judge    completed  m  1 iteration · tokens unknown
plan#2     completed
  Planner  completed  m  1 iteration · tokens unknown
judge#2    completed
  Judge    completed  m  1 iteration · tokens unknown
  Clerk    completed  m  1 iteration · tokens unknown
tell       skipped
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

// The reserved call for the conclusion does not count as an iteration beyond the limit.
func TestTheLastCallConcludes(t *testing.T) {
	t.Parallel()
	for iteration, want := range map[int]string{20: "iteration 20 of 20 · waiting for m · tokens unknown",
		21: "concluding · waiting for m · tokens unknown"} {
		now := map[string]workflows.AgentStatus{"w": {Iteration: iteration, MaxIterations: 20, Doing: "waiting for m"}}
		if got := doing(workflows.AgentSummary{WorkflowID: "w"}, now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	fault := workflows.CallFault{Tool: "kube.logs", ErrorType: "RateLimited", Fault: agent.Fault{RetryAfter: 30}}
	now := map[string]workflows.AgentStatus{"w": {Iteration: 1, MaxIterations: 20, LastFault: &fault}}
	const want = "iteration 1 of 20 · tokens unknown · last failed call: kube.logs, RateLimited, retry after 30s"
	if got := doing(workflows.AgentSummary{WorkflowID: "w"}, now); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
