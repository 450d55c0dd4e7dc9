package faults

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/workflows"
)

// busy is a run of agents of all patterns with everything that can be interrupted: calls of every class,
// memory, and messages from people, twice.
func busy(t *testing.T, s *store.Store, id string, quick bool) *run {
	r := newRun(s, id, 1, profile{name: "busy"})
	r.quick = quick
	var workers []worker
	for n, row := range []string{"default", "memgpt", "llm", "tool_plan", "service", "synthesis"} {
		workers = append(workers, newWorker(rowOf(t, row), string(rune('A'+n)), id))
	}
	calls := func(names ...string) llm.Response {
		reply := llm.Response{Finish: llm.FinishToolCalls}
		for _, name := range names {
			for _, call := range everything() {
				if call.Name == name {
					reply.ToolCalls = append(reply.ToolCalls, call)
				}
			}
		}
		return reply
	}
	r.steps = calls("lab__once", "lab__read").ToolCalls
	r.employ(workers...)
	says := map[string]func(place) llm.Response{
		"work/A": script(calls("lab__once", "lab__read", "lab__set"), calls("lab__once")),
		"work/B": script(calls("core_memory_append", "lab__once"), calls("archival_memory_insert")),
	}
	r.says = func(at place) llm.Response {
		if script, ok := says[at.execution]; ok {
			return script(at)
		}
		return llm.Response{Content: `{"said":"done"}`, Finish: llm.FinishStop}
	}
	var early, late sync.Once
	r.moment = func(at place, activity string, req *llm.Request) {
		switch {
		case req != nil && at.execution == "work/A":
			early.Do(func() { r.env.SignalWorkflow(workflows.SignalGuide, workflows.Guide{Text: "an early word"}) })
		case activity == "SaveStage":
			late.Do(func() { r.env.SignalWorkflow(workflows.SignalGuide, workflows.Guide{Text: "a late word"}) })
		}
	}
	return r
}

// checkBusy checks that everything completes, and that each recipient read each message once, or that the
// message is reported.
func (r *run) checkBusy(ctx context.Context) []string {
	r.check(ctx)
	var result workflows.InvestigationResult
	if err := r.env.GetWorkflowResult(&result); err != nil || result.Status != agent.StatusCompleted {
		r.problem("it ended as %s: %v", result.Status, err)
	}
	executions, err := r.store.Executions(ctx, r.investigation())
	if err != nil || len(executions) != 7 {
		r.problem("%d executions: %v", len(executions), err)
	}
	for _, e := range executions {
		if e.Status != agent.StatusCompleted || e.EndedAt == nil {
			r.problem("%s is recorded as %s", e.Name, e.Status)
		}
	}
	all, err := r.store.After(ctx, r.investigation(), 0, 0)
	if err != nil {
		r.problem("read the log: %v", err)
	}
	for _, word := range []string{"an early word", "a late word"} {
		readers := map[string]int{}
		for _, e := range all {
			if e.Mail > 0 && strings.Contains(e.Text, word) {
				readers[e.Execution]++
			}
		}
		reported := slices.ContainsFunc(result.Undelivered, func(line string) bool { return strings.Contains(line, word) })
		if reported == (len(readers) > 0) {
			r.problem("%q was read by %v, and is reported: %t", word, readers, reported)
		}
		for who, times := range readers {
			if times != 1 {
				r.problem("%s has read %q %d times", who, word, times)
			}
		}
	}
	return r.problems
}
