package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// talking is an inbox whose configuration has an agent to talk to.
type talking struct{ inbox }

func (talking) Scoring(context.Context, agent.Request, string) (plan.Stage, error) {
	return plan.Stage{}, nil
}

func (talking) Conversation(context.Context, agent.ConversationRequest) (plan.Plan, error) {
	a := plan.Agent{Name: "Memo", Type: "memory", Providers: []plan.Provider{{Model: "m"}}}
	return plan.Plan{Conversation: true, Stages: []plan.Stage{{Name: "chat", Agents: []plan.Agent{a}}}}, nil
}

// A worker may die between a step's writes and the end of the workflow task. The step then runs again as the same
// attempt of the same local activity. It returns the same result, and the store does not change.
func TestStepsThatRunAgain(t *testing.T) {
	t.Parallel()
	source := []activities.Source{{Stage: "s", Execution: "s/A"}}
	answered := func(b *bench) {
		b.reply = func(llm.Request) (llm.Response, error) {
			return llm.Response{Content: "It was the disk.", Finish: llm.FinishStop}, nil
		}
		if _, err := b.generate(activities.GenerateIn{Iteration: 1}); err != nil {
			b.t.Fatal(err)
		}
		b.post("look at the disks")
	}
	called := func(b *bench) { b.asks(agent.ToolCall{Name: "lab__read", Arguments: `{}`}) }
	ended := time.Now()
	for name, tt := range map[string]struct {
		before func(*bench)
		step   func(*activities.Activities) any
		in     func(*bench) any
	}{
		"Resolve": {nil, func(a *activities.Activities) any { return a.Resolve }, func(b *bench) any {
			return activities.ResolveIn{Investigation: "inv-2", RunID: "run"}
		}},
		"OpenConversation": {nil, func(a *activities.Activities) any { return a.OpenConversation }, func(b *bench) any {
			return activities.OpenConversationIn{Conversation: "inv-2", RunID: "run"}
		}},
		"ListTools": {nil, func(a *activities.Activities) any { return a.ListTools }, func(b *bench) any {
			return activities.ListToolsIn{Ref: b.ref, Server: "lab"}
		}},
		"SaveStage": {answered, func(a *activities.Activities) any { return a.SaveStage }, func(b *bench) any {
			return activities.SaveStageIn{
				Plan: b.ref.Plan, Executions: []activities.ExecutionSummary{{Ref: b.ref, Status: agent.StatusCompleted, Iterations: 1}},
				Stage: record.Stage{Investigation: "inv", Name: "s", Status: agent.StatusCompleted, Result: "s/A", StartedAt: ended, EndedAt: &ended},
			}
		}},
		"Finish": {answered, func(a *activities.Activities) any { return a.Finish }, func(b *bench) any {
			return activities.FinishIn{
				Investigation: "inv", Plan: b.ref.Plan, Status: agent.StatusCompleted, EndReason: agent.EndCompleted, Results: source,
			}
		}},
		"SaveStatus": {nil, func(a *activities.Activities) any { return a.SaveStatus }, func(b *bench) any {
			return activities.SaveStatusIn{Investigation: "inv", Status: agent.StatusPaused, Seq: 1}
		}},
		"Post": {nil, func(a *activities.Activities) any { return a.Post }, func(b *bench) any {
			return activities.PostIn{Investigation: "inv", Plan: b.ref.Plan, Ordinal: 1, Text: []byte("look")}
		}},
		"Notice": {nil, func(a *activities.Activities) any { return a.Notice }, func(b *bench) any {
			return activities.NoticeIn{Investigation: "inv", Plan: b.ref.Plan, Ordinal: 1, Text: "not delivered"}
		}},
		"HasMail": {nil, func(a *activities.Activities) any { return a.HasMail }, func(b *bench) any {
			return activities.HasMailIn{Ref: b.ref, Iteration: 1}
		}},
		"ExtendBudget": {nil, func(a *activities.Activities) any { return a.ExtendBudget }, func(b *bench) any {
			return activities.ExtendBudgetIn{Investigation: "inv", Key: "u", By: plan.Extension{LLMCalls: 2}}
		}},
		"Unanswered": {nil, func(a *activities.Activities) any { return a.Unanswered }, func(b *bench) any {
			return activities.UnansweredIn{Call: activities.GenerateIn{Ref: b.ref, Iteration: 1}, Why: "no key"}
		}},
		"RecordDecided": {called, func(a *activities.Activities) any { return a.RecordDecided }, func(b *bench) any {
			return activities.DecidedIn{Ref: b.ref, Results: []activities.Input{{
				Kind: activities.InputResult, Iteration: 1, ErrorType: activities.ResultDenied, Text: "The call was not made.",
				Decision: &activities.Decision{By: "Ada", At: ended},
			}}}
		}},
		"ReadReply": {answered, func(a *activities.Activities) any { return a.ReadReply }, func(b *bench) any {
			return activities.ReadReplyIn{Ref: b.ref, Iteration: 1}
		}},
		"PlanCalls": {nil, func(a *activities.Activities) any { return a.PlanCalls }, func(b *bench) any {
			return activities.PlanCallsIn{Ref: b.ref, Prior: source}
		}},
		"PlanResult": {nil, func(a *activities.Activities) any { return a.PlanResult }, func(b *bench) any {
			return activities.PlanResultIn{Ref: b.ref, Prior: source}
		}},
		"Serve": {nil, func(a *activities.Activities) any { return a.Serve }, func(b *bench) any { return activities.ServeIn{Ref: b.ref} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.act.Heartbeats = beats{temporal.NewCanceledError()} // not consulted
			b.act.Ledger, b.act.Memories = b.store, b.store
			inputs := talking{inbox(`{"chain":"lab","data":"x"}`)}
			if name == "OpenConversation" {
				inputs.inbox = `{"agent":"Memo"}`
			}
			b.act.Requests, b.act.Planner = inputs, inputs
			if tt.before != nil {
				tt.before(b)
			}
			first, stored := b.locally(tt.step(b.act), tt.in(b)), b.everything()
			second := b.locally(tt.step(b.act), tt.in(b))
			if diff := cmp.Diff(first, second); diff != "" {
				t.Errorf("result (-first +second):\n%s", diff)
			}
			if diff := cmp.Diff(stored, b.everything()); diff != "" {
				t.Errorf("the store (-first +second):\n%s", diff)
			}
		})
	}
}

// locally runs a local activity, and returns its result as JSON.
func (b *bench) locally(step, in any) string {
	b.t.Helper()
	value, err := b.env.ExecuteLocalActivity(step, in)
	if err != nil {
		b.t.Fatal(err)
	}
	var out json.RawMessage
	if value.HasValue() {
		err = value.Get(&out)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return string(out)
}

// everything returns all stored data on the bench's investigations, as JSON.
func (b *bench) everything() string {
	b.t.Helper()
	ctx := b.t.Context()
	var all []any
	for _, id := range []string{"inv", "inv-2"} {
		inv, err := b.store.Investigation(ctx, id)
		if inv.EndedAt != nil {
			inv.EndedAt = &inv.StartedAt // of the last try
		}
		log, errLog := b.store.After(ctx, id, 0, 0)
		mail, errMail := b.store.Unread(ctx, id)
		stages, errStages := b.store.Stages(ctx, id)
		executions, errExecutions := b.store.Executions(ctx, id)
		catalogues, errCatalogues := b.store.Catalogues(ctx, transcript.Scope{Investigation: id, Execution: "s/A"})
		if errors.Is(err, record.ErrNotFound) {
			err = nil
		}
		if err := errors.Join(err, errLog, errMail, errStages, errExecutions, errCatalogues); err != nil {
			b.t.Fatal(err)
		}
		all = append(all, inv, log, mail, stages, executions, catalogues)
	}
	body, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		b.t.Fatal(err)
	}
	return string(body)
}
