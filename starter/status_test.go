package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/workflows"
)

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
		Version: 1, Undelivered: []string{`guide: no agent "Nobody" runs now or later`}, By: "Ada", Pending: []string{"tell"},
		Bounds: []plan.Bound{{Name: "max_passes", Limit: "2", From: "a.yaml:7"}, {Name: "max_llm_calls", Limit: "10", From: "default"}},
	}}
	var out bytes.Buffer
	c := &cli{out: &out}
	if err := printStatus(c, client.Status{Status: client.StatusOf(r, stages, nil)}); err != nil {
		t.Fatal(err)
	}
	const want = `inc:1 · c · completed · cut short: max_passes_exceeded · - tokens · requested by Ada
! guide: no agent "Nobody" runs now or later
bounds: max_passes 2 (a.yaml:7) · max_llm_calls 10 (default)
plan       completed
  Planner  completed  m  1 iteration · - tokens
judge      completed
  Judge    completed  m  1 iteration · - tokens
plan#2     completed
  Planner  completed  m  1 iteration · - tokens
judge#2    completed
  Judge    completed  m  1 iteration · - tokens
  Clerk    completed  m  1 iteration · - tokens
tell       skipped
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

// The reserved call for the conclusion does not count as an iteration beyond the limit.
func TestTheLastCallConcludes(t *testing.T) {
	t.Parallel()
	for iteration, want := range map[int]string{20: "iteration 20 of 20 · waiting for m · - tokens",
		21: "concluding · waiting for m · - tokens"} {
		now := map[string]workflows.AgentStatus{"w": {Iteration: iteration, MaxIterations: 20, Doing: "waiting for m"}}
		if got := doing(workflows.AgentSummary{WorkflowID: "w"}, now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	fault := workflows.CallFault{Tool: "kube.logs", ErrorType: "RateLimited", Fault: agent.Fault{RetryAfter: 30}}
	now := map[string]workflows.AgentStatus{"w": {Iteration: 1, MaxIterations: 20, LastFault: &fault}}
	const want = "iteration 1 of 20 · - tokens · last failed: kube.logs, RateLimited, retry after 30s"
	if got := doing(workflows.AgentSummary{WorkflowID: "w"}, now); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestExitCodeOfEnd checks that scripts can tell from the exit code of run and watch how an investigation ended.
func TestExitCodeOfEnd(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status agent.Status
		reason agent.EndReason
		want   int
	}{
		{agent.StatusCompleted, agent.EndCompleted, 0},
		{agent.StatusCompleted, "", 0},
		{agent.StatusCompleted, agent.EndBudget, command.ExitCut},
		{agent.StatusCompleted, agent.EndMaxPasses, command.ExitCut},
		{agent.StatusCompleted, agent.EndMaxLLMCalls, command.ExitCut},
		{agent.StatusCompleted, agent.EndMaxHops, command.ExitCut},
		{agent.StatusCompleted, agent.EndMaxLoop, command.ExitCut},
		{agent.StatusCompleted, agent.EndPartial, command.ExitCut},
		{agent.StatusFailed, agent.EndBudget, command.ExitFailed}, // there is no report
		{agent.StatusTimedOut, agent.EndTimedOut, command.ExitFailed},
		{agent.StatusCancelled, agent.EndCancelled, command.ExitFailed},
		{agent.StatusRefused, "", command.ExitUsage},
	} {
		var said strings.Builder
		c := cli{err: &said}
		if got := c.exitCode(t.Context(), verdict("lab", tt.status, tt.reason, "")); got != tt.want {
			t.Errorf("%s, %s: exit code %d, want %d", tt.status, tt.reason, got, tt.want)
		}
		cut := strings.Contains(said.String(), "reached a limit") || strings.Contains(said.String(), "is partial")
		if cut != (tt.want == command.ExitCut) {
			t.Errorf("%s, %s: %q", tt.status, tt.reason, said.String())
		}
	}
}
