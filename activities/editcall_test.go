package activities_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// approving makes every call of lab.read need approval, and the model ask for one call.
func approving(t *testing.T, arguments string, more ...func(*plan.Agent)) (*bench, *activities.Approve) {
	t.Helper()
	b := newBench(t)
	b.plan(append([]func(*plan.Agent){func(a *plan.Agent) {
		a.Tools.Permissions = map[string]plan.Permission{"lab.read": {
			RequiresApproval: true, Allowed: map[string][]string{"pod": {"db-*"}}, MaxResults: 5,
		}}
	}}, more...)...)
	b.reply = func(llm.Request) (llm.Response, error) {
		return llm.Response{Finish: llm.FinishToolCalls, ToolCalls: []agent.ToolCall{{Name: "lab__read", Arguments: arguments}}}, nil
	}
	out, err := b.generate(activities.GenerateIn{Iteration: 1})
	if err != nil || len(out.Calls) != 1 || out.Calls[0].Approve == nil {
		t.Fatalf("%+v, %v", out, err)
	}
	return b, out.Calls[0].Approve
}

func (b *bench) edit(arguments string) (out activities.EditCallOut) {
	b.t.Helper()
	in := activities.EditCallIn{Ref: b.ref, Iteration: 1, Arguments: json.RawMessage(arguments)}
	value, err := b.env.ExecuteActivity(b.act.EditCall, in)
	if err == nil {
		err = value.Get(&out)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

// The schema and the policy also apply to arguments from people.
func TestArgumentsOfAPerson(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ arguments, refused string }{
		"allowed":                   {`{ "pod":"db-2", "n": 2 }`, ""},
		"against the schema":        {`{"n":"two","pod":"db-2"}`, "do not match the tool's schema"},
		"against the policy":        {`{"n":2,"pod":"web-1"}`, "pod"},
		"over a cap":                {`{"n":2,"pod":"db-2","max_results":50}`, `would change the arguments to {"max_results":5`},
		"no object":                 {`[]`, "object"},
		"a key that is there twice": {`{"n":2,"pod":"db-1","pod":"web-1"}`, "twice"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, asked := approving(t, `{"n":1,"pod":"db-1"}`)
			out := b.edit(tt.arguments)
			if tt.refused != "" {
				if out.Approve != nil || out.Edit != "" || !strings.Contains(out.Refused, tt.refused) {
					t.Errorf("%+v", out)
				}
				return
			}
			if out.Refused != "" || out.Approve.Arguments != `{"n":2,"pod":"db-2"}` || out.Approve.Digest == asked.Digest ||
				out.Approve.ID != asked.ID {
				t.Errorf("%+v of %+v", out.Approve, asked)
			}
		})
	}
}

// A call with a person's arguments is made with exactly those bytes. Both versions are in the journal, and the model is
// told.
func TestACallWithAPersonsArguments(t *testing.T) {
	t.Parallel()
	b, asked := approving(t, `{"n":1,"pod":"db-1"}`)
	out := b.edit(`{"n":2,"pod":"db-2"}`)
	d := &activities.Decision{Approved: true, By: "Ada", Digest: asked.Digest, Edit: out.Edit}
	if reapproval := b.decided(0, d); reapproval.Approve == nil || len(b.calls) > 0 {
		t.Fatalf("approved was the agent's call, made %d: %+v", len(b.calls), reapproval)
	}
	d.Digest = out.Approve.Digest
	b.callAs(1, 0, d)
	if len(b.calls) != 1 || string(b.calls[0].Arguments) != `{"n":2,"pod":"db-2"}` {
		t.Fatalf("made: %+v", b.calls)
	}
	b.callAs(1, 0, d) // a retry
	if len(b.calls) != 1 {
		t.Fatalf("%d calls were made", len(b.calls))
	}
	entries, err := b.store.Entries(t.Context(), b.scope())
	if err != nil {
		t.Fatal(err)
	}
	var versions []string
	for _, e := range entries {
		if e.Kind == transcript.KindReply {
			versions = append(versions, e.Calls[0].Arguments)
		}
		if e.Call != nil {
			versions = append(versions, string(e.Kind)+" "+e.Call.Arguments)
		}
	}
	if diff := cmp.Diff([]string{`{"n":1,"pod":"db-1"}`, `call {"n":2,"pod":"db-2"}`, `result {"n":2,"pod":"db-2"}`}, versions); diff != "" {
		t.Errorf("in the journal (-want +got):\n%s", diff)
	}
	if _, err := b.generate(activities.GenerateIn{Iteration: 2}); err != nil {
		t.Fatal(err)
	}
	received := b.requests[1].Messages[len(b.requests[1].Messages)-1].Content
	if !strings.Contains(received, `A person (Ada) edited the arguments of this call. It was made with these: {"n":2,"pod":"db-2"}`) ||
		!strings.Contains(received, "result") {
		t.Errorf("the model is told %q", received)
	}
}

// An approval is for the tool as defined at that time. If its server changes the definition before the call, the call is
// not made, and people are asked about the new tool.
func TestAToolThatChangesAfterItsApproval(t *testing.T) {
	t.Parallel()
	changed := slices.Clone(labTools)
	changed[0].Description = "Deletes what it reads."
	for name, tt := range map[string]struct {
		offers func() ([]tool.Spec, error)
		note   string // "" means the call is made
	}{
		"the same":            {func() ([]tool.Spec, error) { return slices.Clone(labTools), nil }, ""},
		"another description": {func() ([]tool.Spec, error) { return slices.Clone(changed), nil }, "lab.read has changed: description"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, asked := approving(t, `{"n":1,"pod":"db-1"}`)
			b.offers = tt.offers
			out := b.decided(0, &activities.Decision{Approved: true, By: "Ada", Digest: asked.Digest})
			if tt.note == "" {
				if out.Approve != nil || len(b.calls) != 1 {
					t.Errorf("%+v; %d calls", out, len(b.calls))
				}
				return
			}
			if out.Approve == nil || len(b.calls) > 0 || !strings.Contains(strings.Join(out.Approve.Notes, "\n"), tt.note) {
				t.Fatalf("%+v; %d calls", out, len(b.calls))
			}
			if second := b.decided(0, &activities.Decision{Approved: true, By: "Ada", Digest: asked.Digest}); second.Approve == nil ||
				len(b.calls) > 0 {
				t.Errorf("the old approval: %+v; %d calls", second, len(b.calls))
			}
			if done := b.decided(0, &activities.Decision{Approved: true, By: "Ada", Digest: out.Approve.Digest}); done.Approve != nil ||
				len(b.calls) != 1 {
				t.Errorf("as it is now: %+v; %d calls", done, len(b.calls))
			}
		})
	}
}

// An approved edit survives a change of the tool: people are asked about their own arguments, and the call uses them.
func TestAToolThatChangesAfterAnEdit(t *testing.T) {
	t.Parallel()
	b, _ := approving(t, `{"n":1,"pod":"db-1"}`, func(a *plan.Agent) {
		yes, read := true, a.Tools.Permissions["lab.read"]
		read.Remember = &yes
		a.Tools.Permissions["lab.read"] = read
	})
	edited := b.edit(`{"n":2,"pod":"db-2"}`)
	changed := slices.Clone(labTools)
	changed[0].Description = "Deletes what it reads."
	b.offers = func() ([]tool.Spec, error) { return slices.Clone(changed), nil }
	out := b.decided(0, &activities.Decision{Approved: true, By: "Ada", Digest: edited.Approve.Digest, Edit: edited.Edit})
	if out.Approve == nil || out.Approve.Edit != edited.Edit || out.Approve.Remember != "" || len(b.calls) > 0 {
		t.Fatalf("%+v; %d calls", out.Approve, len(b.calls))
	}
	b.decided(0, &activities.Decision{Approved: true, By: "Ada", Digest: out.Approve.Digest, Edit: out.Approve.Edit})
	if len(b.calls) != 1 || string(b.calls[0].Arguments) != `{"n":2,"pod":"db-2"}` {
		t.Errorf("made: %+v", b.calls)
	}
}

// A call that has begun is not put up for approval as if it had not been made. If it must not run twice, its outcome is
// unknown at once; otherwise, once it is denied.
func TestABegunCallThatIsAnotherByNow(t *testing.T) {
	t.Parallel()
	for name, once := range map[string]bool{"lab.read": false, "lab.write": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.plan(func(a *plan.Agent) { a.Tools.Permissions = map[string]plan.Permission{name: {RequiresApproval: true}} })
			b.asks(agent.ToolCall{Name: strings.Replace(name, ".", "__", 1), Arguments: `{"n":1}`})
			b.begun(name)
			out := b.decided(0, &activities.Decision{Approved: true, By: "Ada", Digest: "another"})
			if once {
				if e := b.last(); out.Approve != nil || e.ErrorType != tool.ErrorOutcomeUnknown || len(b.calls) > 0 {
					t.Errorf("%+v; %d calls; %+v", out, len(b.calls), e.Body)
				}
				return
			}
			if out.Approve == nil || len(b.calls) > 0 || !strings.Contains(strings.Join(out.Approve.Notes, " "), "An earlier attempt started it") {
				t.Fatalf("%+v; %d calls", out.Approve, len(b.calls))
			}
			denied := activities.Input{
				Kind: activities.InputResult, Iteration: 1, ErrorType: activities.ResultDenied, Decision: &activities.Decision{By: "Ada"},
				Text: "Tool lab.read was not called: denied by Ada.",
			}
			if _, err := b.generate(activities.GenerateIn{Iteration: 2, Inputs: []activities.Input{denied}}); err != nil {
				t.Fatal(err)
			}
			entries, err := b.store.Entries(t.Context(), b.scope())
			if err != nil {
				t.Fatal(err)
			}
			n := slices.IndexFunc(entries, func(e transcript.Entry) bool { return e.Kind == transcript.KindResult })
			if n < 0 || entries[n].ErrorType != tool.ErrorOutcomeUnknown ||
				!strings.Contains(entries[n].Text, "denied by Ada. An earlier attempt had started the call") {
				t.Errorf("the journal: %+v", entries)
			}
		})
	}
}

// A call that must not run twice and has begun may have been made, even if the policy no longer allows it.
func TestABegunCallThatIsRefusedByNow(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.plan(func(a *plan.Agent) {
		a.Tools.Permissions = map[string]plan.Permission{"lab.write": {RequiresApproval: true}}
	})
	b.asks(agent.ToolCall{Name: "lab__write", Arguments: `{"n":1}`})
	b.begun("lab.write")
	if out := b.decided(0, nil); out.Approve != nil || b.last().ErrorType != tool.ErrorOutcomeUnknown || len(b.calls) > 0 {
		t.Errorf("%+v; %+v", out, b.last().Body)
	}
}

// A tool that is gone and a server that cannot be reached lead to results.
func TestAToolThatCannotBeAskedAfterItsApproval(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		offers func() ([]tool.Spec, error)
		want   string
	}{
		"gone": {func() ([]tool.Spec, error) { return slices.Clone(labTools[1:]), nil }, tool.ErrorUnknownTool},
		"no such server": {func() ([]tool.Spec, error) {
			return nil, &tool.ServerError{Why: "it returned HTTP status 503", Err: errors.New("503")}
		},
			tool.ErrorUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, asked := approving(t, `{"n":1,"pod":"db-1"}`)
			b.offers = tt.offers
			in := activities.CallToolIn{Ref: b.ref, Iteration: 1, Last: true, Decision: &activities.Decision{Approved: true, Digest: asked.Digest}}
			if _, err := b.env.ExecuteActivity(b.act.CallTool, in); err != nil {
				t.Fatal(err)
			}
			if e := b.last(); e.ErrorType != tt.want || len(b.calls) > 0 {
				t.Errorf("%d calls; %+v", len(b.calls), e.Body)
			}
		})
	}
}

// Approvers set for a tool take precedence over those for its risk, and those over the defaults. None of them relaxes a
// stricter setting.
func TestWhoDecidesOnACall(t *testing.T) {
	t.Parallel()
	all := plan.Approvers{Who: []string{"ops"}, NotOwn: true}
	for name, tt := range map[string]struct {
		risk, tool plan.Approvers
		want       plan.Approvers
	}{
		"all": {want: all},
		"the risk's": {risk: plan.Approvers{Who: []string{"lead"}, Needed: 2},
			want: plan.Approvers{Who: []string{"lead"}, Needed: 2, NotOwn: true}},
		"the tool's": {plan.Approvers{Needed: 3}, plan.Approvers{Who: []string{"dba"}, Needed: 2, EscalateTo: []string{"cto"}},
			plan.Approvers{Who: []string{"dba"}, Needed: 3, NotOwn: true, EscalateTo: []string{"cto"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, asked := approving(t, `{"n":1,"pod":"db-1"}`, func(a *plan.Agent) {
				permission := a.Tools.Permissions["lab.read"]
				permission.Approvers = tt.tool
				a.Tools.Permissions["lab.read"] = permission
				a.Tools.Approvers, a.Tools.ByRisk = all, map[agent.Risk]plan.Approvers{agent.RiskReadOnly: tt.risk}
			})
			if diff := cmp.Diff(tt.want, asked.Approvers); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
