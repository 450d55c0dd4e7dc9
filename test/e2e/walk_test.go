package e2e

import (
	"context"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/workflows"
)

const walkConfig = `
llm_providers:
  lab-model: {type: openai, model: lab-1, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
defaults: {llm_provider: lab-model}
agents: {Judge: {type: llm}, Again: {type: llm, custom_instructions: Ask for more.}}
`

// A chain that loops ends at its bound. No run of it has a long history, because it continues as new.
func TestLongManyHops(t *testing.T) {
	takesLong(t)
	t.Parallel()
	const stages, hops = 50, 500
	config := walkConfig + "agent_chains:\n  long:\n    bounds: {max_passes: 100, max_llm_calls: 10000, max_agent_hops: 500}\n    stages:\n"
	for n := range stages - 1 {
		config += fmt.Sprintf("      - {name: s%d, agents: [{name: Judge}]}\n", n)
	}
	config += "      - {name: last, loop_target: s0, agents: [{name: Again}]}\n"
	w := newWorld(t, func(req llmtest.Request) llmtest.Reply {
		if strings.Contains(req.System(), "Ask for more") {
			return llmtest.Text(`{"outcome":"loop_back"}`)
		}
		return llmtest.Text(`{"done":true}`)
	}, config)
	w.dev()
	run := w.beginWith("long", agent.Request{Chain: "long", Data: []byte(`"x"`)})
	ctx, cancel := context.WithTimeout(context.Background(), 6*time.Minute) // other tests run in parallel
	defer cancel()
	var result workflows.InvestigationResult
	if err := run.Get(ctx, &result); err != nil {
		t.Fatal(err)
	}
	if result.EndReason != agent.EndMaxHops || result.Status != agent.StatusCompleted ||
		result.Usage.ModelCalls != hops || result.Report == "" {
		t.Errorf("got %s, %s after %d model calls", result.Status, result.EndReason, result.Usage.ModelCalls)
	}
	runs := w.runsOf("long")
	if len(runs) < 2 {
		t.Errorf("%d runs", len(runs))
	}
	for _, events := range runs {
		if len(events) >= 4096 {
			t.Errorf("a run has %d events", len(events))
		}
	}
}

// runsOf returns the histories of all runs of a workflow, newest first.
func (w *world) runsOf(workflowID string) (all [][]*historypb.HistoryEvent) {
	w.t.Helper()
	for run := ""; ; {
		var events []*historypb.HistoryEvent
		iter := w.client().GetWorkflowHistory(context.Background(), workflowID, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for iter.HasNext() {
			event, err := iter.Next()
			if err != nil {
				w.t.Fatal(err)
			}
			events = append(events, event)
		}
		all = append(all, events)
		if run = events[0].GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId(); run == "" {
			return all
		}
	}
}

// For random chains and random verdicts, every run ends within its bounds with a valid reason, and its history
// can be replayed.
func TestLongRandomChains(t *testing.T) {
	takesLong(t)
	t.Parallel()
	const chains = 12
	config := walkConfig + "agent_chains:\n"
	for seed := range chains {
		config += randomChain(uint64(seed))
	}
	w := newWorld(t, func(req llmtest.Request) llmtest.Reply { return llmtest.Text(verdict(req)) }, config)
	w.dev()
	for seed := range chains {
		w.beginWith(fmt.Sprint("c", seed), agent.Request{Chain: fmt.Sprint("c", seed), Data: []byte(fmt.Sprint(seed))})
	}
	ended := map[agent.EndReason]int{}
	for seed := range chains {
		id := fmt.Sprint("c", seed)
		_ = w.client().GetWorkflow(context.Background(), id, "").Get(context.Background(), nil) // it may have failed
		result := w.result(id)
		ended[result.EndReason]++
		if !slices.Contains(ends, result.EndReason) || !result.Status.Closed() || result.Usage.ModelCalls > 14 {
			t.Errorf("%s: %s, %s after %d model calls\n%s", id, result.Status, result.EndReason, result.Usage.ModelCalls, randomChain(uint64(seed)))
		}
		for _, events := range w.runsOf(id) {
			if err := replayed(events); err != nil {
				t.Errorf("%s: %v", id, err)
			}
		}
	}
	t.Log(ended)
	if len(ended) < 3 {
		t.Errorf("all end alike: %v", ended)
	}
}

// result returns an investigation's result, even if it failed.
func (w *world) result(id string) (result workflows.InvestigationResult) {
	w.t.Helper()
	value, err := w.client().QueryWorkflow(context.Background(), id, "", workflows.QueryResult)
	if err == nil {
		err = value.Get(&result)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return result
}

var ends = []agent.EndReason{
	agent.EndCompleted, agent.EndMaxPasses, agent.EndMaxLLMCalls, agent.EndMaxHops, agent.EndMaxLoop, agent.EndPolicyViolation,
	agent.EndInterruptExpired, agent.EndToolFailed, agent.EndLLMFailed,
}

func replayed(events []*historypb.HistoryEvent) error {
	replayer := worker.NewWorkflowReplayer()
	workflows.Register(replayer)
	started := events[0].GetWorkflowExecutionStartedEventAttributes()
	logger := sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))
	return replayer.ReplayWorkflowHistoryWithOptions(logger, &historypb.History{Events: events}, worker.ReplayWorkflowHistoryOptions{
		OriginalExecution: workflow.Execution{ID: started.GetWorkflowId(), RunID: started.GetOriginalExecutionRunId()},
	})
}

// verdict returns an agent's reply: a hash of its prompt.
func verdict(req llmtest.Request) string {
	hash := fnv.New32()
	fmt.Fprint(hash, req.System(), req.Last().Text())
	n := hash.Sum32()
	if outcomes := []string{"replan", "loop_back", "clarify", "terminate"}; n%3 == 0 {
		return fmt.Sprintf(`{"v":%d,"outcome":%q,"question":"what?"}`, n%4, outcomes[n/3%4])
	}
	if n%23 == 1 {
		return "this is no JSON"
	}
	return fmt.Sprintf(`{"v":%d}`, n%4)
}

// randomChain returns the configuration of a chain with jumps, or of a graph.
func randomChain(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 1))
	n, graph := 2+r.IntN(5), seed%3 == 2
	var out strings.Builder
	fmt.Fprintf(&out,
		"  c%d:\n    bounds: {max_passes: %d, max_llm_calls: %d}\n    interrupts: {clarification_timeout: 1s, on_expiry: %s}\n    stages:\n",
		seed, 1+r.IntN(4), 6+r.IntN(8), []string{"end", "continue"}[r.IntN(2)])
	for i := range n {
		fmt.Fprintf(&out, "      - name: s%d\n        agents: [{name: Judge}]\n", i)
		targets := n
		if graph {
			targets = i + 1 // jumps only go back
		}
		for v := range r.IntN(3) {
			if v == 0 {
				out.WriteString("        routing_rules:\n")
			}
			fmt.Fprintf(&out, "          - {condition: v, value: %d, target: s%d}\n", v, r.IntN(targets))
		}
		if r.IntN(2) == 0 {
			fmt.Fprintf(&out, "        loop_target: s%d\n", r.IntN(i+1))
		}
		if r.IntN(3) == 0 {
			out.WriteString("        error_next: end\n")
		}
		if graph && i > 0 {
			fmt.Fprintf(&out, "        %s: [s%d]\n", []string{"requires", "after"}[r.IntN(2)], r.IntN(i))
		}
	}
	return out.String()
}
