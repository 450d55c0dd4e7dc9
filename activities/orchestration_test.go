package activities_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/builtin"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// dispatching are the tools of an agent that dispatches others.
type dispatching struct{ noBuiltins }

func (dispatching) Specs(p plan.Agent) []tool.Spec { return builtin.Orchestration(p.Orchestrator) }

func newDispatcher(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	b.act.Builtins = dispatching{}
	b.plan(func(a *plan.Agent) {
		sub := *a
		sub.Name, sub.Description, sub.Servers = "Logs", "Reads the logs", nil
		a.Orchestrator = &plan.Orchestrator{OrchestratorLimits: plan.OrchestratorLimits{MaxConcurrent: 2}, Agents: []plan.Agent{sub}}
	})
	return b
}

// A dispatch is offered, judged and recorded like every call. Its task reaches the dispatched agent, and that agent's
// answer reaches the agent that dispatched it.
func TestDispatch(t *testing.T) {
	t.Parallel()
	b := newDispatcher(t)
	b.ref.Started = time.Date(2026, 11, 28, 6, 30, 59, 0, time.UTC)
	const begun = "# Time\nYou begin on Saturday 2026-11-28 at 06:30 UTC.\n"
	b.reply = func(llm.Request) (llm.Response, error) {
		return llm.Response{Finish: llm.FinishToolCalls, ToolCalls: []agent.ToolCall{
			{Name: "dispatch_agent", Arguments: `{"name": "Logs", "task": "Find the first error."}`},
			{Name: "dispatch_agent", Arguments: `{"name": "Nobody", "task": "x"}`},
			{Name: "cancel_agent", Arguments: `{"execution_id": "s/A/Logs-1"}`},
			{Name: "list_agents", Arguments: ``},
		}}, nil
	}
	out, err := b.generate(activities.GenerateIn{Iteration: 1})
	if err != nil {
		t.Fatal(err)
	}
	want := []activities.Call{
		{Name: "dispatch_agent", Sub: &activities.SubCall{Name: "Logs"}},
		{Name: "dispatch_agent"}, // refused, so an activity answers it
		{Name: "cancel_agent", Sub: &activities.SubCall{Execution: "s/A/Logs-1"}},
		{Name: "list_agents", Sub: &activities.SubCall{}},
	}
	if diff := cmp.Diff(want, out.Calls); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if first := b.requests[0].Messages; !strings.HasSuffix(first[len(first)-1].Content, begun) {
		t.Errorf("no time in %+v", first)
	}
	if offered := b.requests[0].Tools[0]; !strings.Contains(offered.Description, "- Logs: Reads the logs") {
		t.Errorf("offered %+v", offered)
	}
	if _, err := b.callTool(1, 1); err != nil {
		t.Fatal(err)
	}
	if refused := b.last(); refused.ErrorType != tool.ErrorInvalidArguments || !strings.Contains(refused.Text, "'Logs'") {
		t.Errorf("refused with %s: %s", refused.ErrorType, refused.Text)
	}

	top := b.ref
	b.ref.Execution, b.ref.Sub = "s/A/Logs-1", "Logs"
	b.reply = func(llm.Request) (llm.Response, error) {
		return llm.Response{Content: "It began at noon.", Finish: llm.FinishStop}, nil
	}
	if _, err := b.generate(activities.GenerateIn{Iteration: 1, Task: &activities.TaskRef{Execution: "s/A", Iteration: 1}}); err != nil {
		t.Fatal(err)
	}
	asked := b.requests[1].Messages
	if task := asked[len(asked)-1].Content; !strings.Contains(task, "Find the first error.") || strings.Contains(task, "Alert") ||
		!strings.HasSuffix(task, begun) {
		t.Errorf("the task is %s", task)
	}
	if len(b.requests[1].Tools) != 0 {
		t.Errorf("a sub-agent is offered %+v", b.requests[1].Tools)
	}

	b.ref = top
	in := activities.GenerateIn{Iteration: 2, Inputs: []activities.Input{
		{Kind: activities.InputResult, Iteration: 1, Call: 0, Done: true, Text: "Dispatched. Execution ID: s/A/Logs-1"},
		{Kind: activities.InputSubAgent, Sub: &activities.SubEnded{Name: "Logs", Execution: "s/A/Logs-1", Status: agent.StatusCompleted}},
		{Kind: activities.InputSubAgent, Sub: &activities.SubEnded{Name: "Logs", Execution: "s/A/Logs-2",
			Status: agent.StatusFailed, Error: "no model"}},
	}}
	if _, err := b.generate(in); err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, e := range entries(t, b) {
		if e.Call != nil && e.CallIndex() == 0 || e.Iteration == 2 && e.Kind == transcript.KindUser {
			text, _, _ := strings.Cut(e.Text, "<")
			rows = append(rows, strings.TrimSpace(string(e.Kind)+" "+e.Status+" "+text))
		}
	}
	wantRows := []string{
		"call", "result success Dispatched. Execution ID: s/A/Logs-1",
		"user  [Sub-agent completed] Logs (exec s/A/Logs-1):", "user  [Sub-agent failed] Logs (exec s/A/Logs-2): no model",
	}
	if diff := cmp.Diff(wantRows, rows); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if pushed := b.last(); pushed.Kind != transcript.KindReply {
		t.Errorf("the last entry is %+v", pushed)
	}
	asked = b.requests[2].Messages
	if said := asked[len(asked)-2].Content; !strings.Contains(said, "It began at noon.") {
		t.Errorf("the agent was told %s", said)
	}
}

func TestSaveExecution(t *testing.T) {
	t.Parallel()
	b := newDispatcher(t)
	b.ref.Execution, b.ref.Sub = "s/A/Logs-1", "Logs"
	if _, err := b.generate(activities.GenerateIn{Iteration: 1}); err != nil {
		t.Fatal(err)
	}
	in := activities.SaveExecutionIn{Execution: activities.ExecutionSummary{Ref: b.ref, Status: agent.StatusCompleted, Iterations: 1}}
	if _, err := b.env.ExecuteActivity(b.act.SaveExecution, in); err != nil {
		t.Fatal(err)
	}
	all, err := b.store.Executions(t.Context(), "inv")
	if err != nil || len(all) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	got := record.Execution{Name: all[0].Name, Stage: all[0].Stage, Agent: all[0].Agent, Status: all[0].Status}
	want := record.Execution{Name: "s/A/Logs-1", Stage: "s", Agent: "A", Status: agent.StatusCompleted}
	if diff := cmp.Diff(want, got); diff != "" || all[0].EndedAt == nil {
		t.Errorf("-want +got:\n%s", diff)
	}
}
