package faults

import (
	"fmt"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/store/storetest"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// TestOrchestrators plays an agent that dispatches others under every kind of fault: each of them works once, and
// what each has said reaches the agent once.
func TestOrchestrators(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	for seed := range 5 * len(profiles) {
		p := profiles[seed%len(profiles)]
		r := newRun(s, fmt.Sprintf("lead-%d", seed), uint64(seed), p)
		lead, sub := newWorker(rowOf(t, "default"), "A", r.id), newWorker(rowOf(t, "default"), "L", r.id)
		lead.plan.Orchestrator = &plan.Orchestrator{OrchestratorLimits: plan.OrchestratorLimits{MaxConcurrent: 2}, Agents: []plan.Agent{sub.plan}}
		r.employ(lead)
		dispatch := llm.Response{Finish: llm.FinishToolCalls}
		for n := range 3 {
			call := agent.ToolCall{ID: "same", Name: "dispatch_agent", Arguments: `{"name":"L","task":"dig"}`}
			dispatch.ToolCalls = append(dispatch.ToolCalls, call)
			if n < 2 { // the third is one too many
				r.agents[fmt.Sprintf("work/A/L-%d", n+1)] = sub
			}
		}
		work := llm.Response{Finish: llm.FinishToolCalls, ToolCalls: []agent.ToolCall{
			{ID: "same", Name: "lab__once", Arguments: "{}"}, {ID: "same", Name: "lab__read", Arguments: `{"n":1}`},
		}}
		r.says = func(at place) llm.Response {
			switch {
			case at.iteration > 1:
				return llm.Response{Content: "said " + mark(at, 0), Finish: llm.FinishStop}
			case at.execution == "work/A":
				return dispatch
			}
			return work
		}
		r.play()
		r.checkDispatched(t)
		for _, problem := range r.check(t.Context()) {
			t.Errorf("seed %d, %s: %s", seed, p.name, r.normal(problem))
		}
	}
}

func (r *run) checkDispatched(t *testing.T) {
	t.Helper()
	entries, err := r.store.Entries(t.Context(), r.scope("work/A"))
	if err != nil {
		t.Fatal(err)
	}
	received, results, replies := map[string]int{}, map[string]int{}, 0
	for _, e := range entries {
		switch {
		case e.Kind == transcript.KindUser && strings.HasPrefix(e.Text, "[Sub-agent "):
			_, rest, _ := strings.Cut(e.Text, "(exec ")
			id, _, _ := strings.Cut(rest, ")")
			received[id]++
		case e.Kind == transcript.KindResult:
			results[e.Status]++
		case e.Kind == transcript.KindReply:
			replies++
		}
	}
	if replies < 2 { // a provider or the store has failed for good
		return
	}
	if results["success"] != 2 || results["error"] != 1 || received["work/A/L-1"] != 1 || received["work/A/L-2"] != 1 {
		r.problem("%d replies, results %v, told %v", replies, results, received)
	}
	executions, err := r.store.Executions(t.Context(), r.investigation())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range executions {
		if !e.Status.Closed() || e.EndedAt == nil {
			r.problem("%s is recorded as %s", e.Name, e.Status)
		}
	}
}
