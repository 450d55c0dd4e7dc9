package activities_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/knowledge/memory"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/builtin"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// ownBuiltins are the tools that touch only the store and the workflow.
type ownBuiltins struct{}

func (ownBuiltins) Specs(plan.Agent) []tool.Spec {
	return append(memory.Specs(), builtin.PauseHeartbeats().Spec)
}

func (ownBuiltins) Call(ctx context.Context, _ plan.Agent, call tool.Call) (tool.Result, error) {
	return builtin.PauseHeartbeats().Run(ctx, call), nil
}

// decided calls the n-th tool of the first reply after a decision.
func (b *bench) decided(n int, d *activities.Decision) (out activities.CallToolOut) {
	b.t.Helper()
	value, err := b.env.ExecuteActivity(b.act.CallTool, activities.CallToolIn{Ref: b.ref, Iteration: 1, Call: n, Decision: d})
	if err == nil {
		err = value.Get(&out)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

func (b *bench) callAs(iteration, n int, d *activities.Decision) transcript.Entry {
	b.t.Helper()
	if _, err := b.env.ExecuteActivity(b.act.CallTool,
		activities.CallToolIn{Ref: b.ref, Iteration: iteration, Call: n, Decision: d}); err != nil {
		b.t.Fatal(err)
	}
	return b.last()
}

func TestACallThatNeedsApproval(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.plan(func(a *plan.Agent) {
		a.Tools.Permissions = map[string]plan.Permission{"lab.read": {RequiresApproval: true}}
	})
	b.reply = func(llm.Request) (llm.Response, error) {
		return llm.Response{Finish: llm.FinishToolCalls, ToolCalls: []agent.ToolCall{
			{Name: "lab__read", Arguments: `{"n":1}`}, {Name: "lab__read", Arguments: `{"n":"x"}`}, {Name: "lab__read", Arguments: `{"n":2}`},
		}}, nil
	}
	out, err := b.generate(activities.GenerateIn{Iteration: 1})
	if err != nil {
		t.Fatal(err)
	}
	digest := func(args string) string {
		return tool.Decision{Spec: labTools[0], Arguments: json.RawMessage(args)}.Digest()
	}
	want := []activities.Call{
		{Name: "lab.read", Approve: &activities.Approve{ID: "c1_0", Risk: agent.RiskReadOnly, Arguments: `{"n":1}`, Digest: digest(`{"n":1}`)}},
		{Name: "lab.read"}, // no approval is requested for a call that cannot be made
		{Name: "lab.read", Approve: &activities.Approve{ID: "c1_2", Risk: agent.RiskReadOnly, Arguments: `{"n":2}`, Digest: digest(`{"n":2}`)}},
	}
	if diff := cmp.Diff(want, out.Calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if e := b.callAs(1, 0, nil); e.ErrorType != tool.ErrorPermissionDenied || len(b.calls) != 0 {
		t.Errorf("without approval: %+v, %d calls made", e.Body, len(b.calls))
	}
	if e := b.callAs(1, 1, nil); e.ErrorType != tool.ErrorInvalidArguments {
		t.Errorf("bad arguments: %+v", e.Body)
	}
	if out := b.decided(2, &activities.Decision{Approved: true, By: "Ada", Digest: digest(`{"n":1}`)}); len(b.calls) != 0 {
		t.Errorf("approved was another call: %+v, %d calls made", out, len(b.calls))
	} else if diff := cmp.Diff(want[2].Approve, out.Approve, cmpopts.IgnoreFields(activities.Approve{}, "Notes")); diff != "" ||
		len(out.Approve.Notes) != 1 {
		t.Errorf("asked anew (-want +got):\n%s", diff)
	}
	if e := b.callAs(1, 2, &activities.Decision{Approved: true, By: "Ada", Digest: digest(`{"n":2}`)}); e.Status != "success" ||
		len(b.calls) != 1 {
		t.Errorf("approved: %+v, %d calls made", e.Body, len(b.calls))
	}
	entries, err := b.store.Entries(t.Context(), b.scope())
	if err != nil {
		t.Fatal(err)
	}
	if intent := entries[len(entries)-2]; intent.Kind != transcript.KindCall || intent.Decision != "approved by Ada" ||
		intent.Digest != digest(`{"n":2}`) {
		t.Errorf("the transcript says %+v", intent)
	}
}

func TestRateLimit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.act.Limits = b.store
	b.plan(func(a *plan.Agent) {
		a.Tools.Permissions = map[string]plan.Permission{"lab.read": {RatePerMinute: 2}}
	})
	call := agent.ToolCall{Name: "lab__read", Arguments: `{"n":1}`}
	b.asks(call, call, call)
	for n, want := range []string{"", "", tool.ErrorRateLimited} {
		if e := b.callAs(1, n, nil); e.ErrorType != want || (want != "" && !strings.Contains(e.Text, "retry_after: ")) ||
			(e.RetryAfter > 0) != (want != "") || e.Recoverable != (want != "") {
			t.Errorf("call %d: %+v", n, e.Body)
		}
	}
	if len(b.calls) != 2 {
		t.Errorf("%d calls were made", len(b.calls))
	}
}

// remembering is an agent with memory whose model requests the calls.
func remembering(t *testing.T, typ string, calls ...agent.ToolCall) *bench {
	t.Helper()
	b := newBench(t)
	b.act.Memories, b.act.Builtins = b.store, ownBuiltins{}
	b.plan(func(a *plan.Agent) {
		a.Type, a.Servers = typ, nil
		a.MemoryBlocks = []agent.MemoryBlock{{Label: "human", Value: "Name: Ada", Limit: 100}}
	})
	b.asks(calls...)
	return b
}

func (b *bench) callOwn(calls ...int) (out activities.CallOwnToolsOut) {
	b.t.Helper()
	value, err := b.env.ExecuteLocalActivity(b.act.CallOwnTools, activities.CallOwnToolsIn{Ref: b.ref, Iteration: 1, Calls: calls})
	if err == nil {
		err = value.Get(&out)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

// Calls that touch only our own store are made once and in order, however often the activity runs, and the model sees
// its current memory.
func TestOwnTools(t *testing.T) {
	t.Parallel()
	add := func(text string) agent.ToolCall {
		return agent.ToolCall{Name: agent.ToolCoreMemoryAppend, Arguments: `{"label":"human","content":"` + text + `"}`}
	}
	b := remembering(t, "memgpt_agent", add("likes Go"), agent.ToolCall{Name: agent.ToolPauseHeartbeats, Arguments: `{"minutes":7}`},
		add("works nights"))
	for range 2 {
		if out := b.callOwn(0, 1, 2); out.Pause != 7 {
			t.Errorf("pause of %d minutes", out.Pause)
		}
	}
	if _, err := b.generate(activities.GenerateIn{Iteration: 2}); err != nil {
		t.Fatal(err)
	}
	first, second := b.requests[0].Messages[0].Content, ""
	for _, m := range b.requests[1].Messages {
		if m.Memory {
			second = m.Content
		}
	}
	if !strings.Contains(first, "<value>Name: Ada</value>") || !strings.Contains(second, "<value>Name: Ada\nlikes Go\nworks nights</value>") {
		t.Errorf("memory in the first request: %q\nin the second: %q", first, second)
	}
	var results []string
	for _, m := range b.requests[1].Messages {
		if m.Role == agent.ToolRole {
			results = append(results, m.Content)
		}
	}
	want := []string{
		"Successfully updated memory block 'human'", "Heartbeats paused for 7 minute(s). I'll stop thinking for now.",
		"Successfully updated memory block 'human'",
	}
	if diff := cmp.Diff(want, results); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

func TestOwnToolsOfAnotherType(t *testing.T) {
	t.Parallel()
	b := remembering(t, "letta_v1_agent", agent.ToolCall{Name: agent.ToolPauseHeartbeats},
		agent.ToolCall{Name: agent.ToolArchivalMemoryInsert, Arguments: `{"content":"x"}`})
	if out := b.callOwn(0, 1); out.Pause != 0 {
		t.Errorf("a type without heartbeats paused for %d minutes", out.Pause)
	}
	if n, err := b.generate(activities.GenerateIn{Iteration: 2}); err != nil {
		t.Fatal(n, err)
	}
	for _, m := range b.requests[1].Messages {
		if m.Role == agent.ToolRole && !strings.Contains(m.Content, "not allowed for this agent") {
			t.Errorf("result %q", m.Content)
		}
	}
}
