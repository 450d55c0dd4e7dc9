package activities_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// callsAfter lists the model calls that included a text.
func (b *bench) callsAfter(text string) (calls []int) {
	for n, req := range b.requests {
		if strings.Contains(req.Messages[len(req.Messages)-1].Content, text) {
			calls = append(calls, n+1)
		}
	}
	return calls
}

// bound gives the plan bounds.
func (b *bench) bound(bounds plan.Bounds) {
	b.t.Helper()
	b.change(func(p *plan.Plan) { p.Bounds = bounds })
}

// change changes the plan.
func (b *bench) change(how func(*plan.Plan)) {
	b.t.Helper()
	var p plan.Plan
	body, err := b.store.Blob(b.t.Context(), b.ref.Plan)
	err = errors.Join(err, json.Unmarshal(body, &p))
	how(&p)
	body, marshal := json.Marshal(p)
	hash, put := b.store.PutBlob(b.t.Context(), body)
	b.ref.Plan = hash
	if err = errors.Join(err, marshal, put); err != nil {
		b.t.Fatal(err)
	}
}

// A model call reads the mail that arrived before it, and reports whether more has arrived since.
func TestGenerateReadsTheMail(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.post("early")
	b.reply = func(llm.Request) (llm.Response, error) {
		if len(b.requests) == 1 {
			b.post("late")
		}
		return llm.Response{Content: "done", Finish: llm.FinishStop}, nil
	}
	for n, want := range []bool{true, true, false} {
		iteration := max(n, 1) // the first one is repeated when its reply is stored
		out, err := b.generate(activities.GenerateIn{Iteration: iteration})
		if err != nil || out.Unread != want {
			t.Errorf("iteration %d: unread %t, %v", iteration, out.Unread, err)
		}
	}
	if len(b.requests) != 2 || len(b.callsAfter("early")) != 1 || len(b.callsAfter("late")) != 1 || b.callsAfter("late")[0] != 2 {
		t.Errorf("%d calls, told early %v, late %v", len(b.requests), b.callsAfter("early"), b.callsAfter("late"))
	}
	if left, err := b.store.Unread(t.Context(), "inv"); err != nil || len(left) != 0 {
		t.Errorf("unread %+v, %v", left, err)
	}
}

// Mail that no model has seen counts as unread: the call failed or was not made.
func TestMailThatNoModelSaw(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		reply    error
		exceeded agent.EndReason
	}{
		"the model fails": {reply: &llm.Error{Kind: llm.ErrAuth}},
		"a bound":         {exceeded: agent.EndBudget},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.post("look")
			if tt.exceeded != "" {
				b.act.Ledger = b.store
				b.bound(plan.Bounds{MaxTokens: 1})
			}
			b.reply = func(llm.Request) (llm.Response, error) { return llm.Response{}, tt.reply }
			out, err := b.generate(activities.GenerateIn{Iteration: 1})
			if (err != nil) != (tt.reply != nil) || out.Exceeded != tt.exceeded {
				t.Fatalf("%+v, %v", out, err)
			}
			if left, err := b.store.Unread(t.Context(), "inv"); err != nil || len(left) != 1 {
				t.Errorf("unread %+v, %v", left, err)
			}
			entries, err := b.store.Entries(t.Context(), b.scope())
			quotes := func(e transcript.Entry) bool { return e.Mail != 0 || strings.Contains(e.Text, "look") }
			if err != nil || slices.ContainsFunc(entries, quotes) {
				t.Errorf("the transcript has %+v, %v", entries, err)
			}
			finished, err := b.env.ExecuteActivity(b.act.Finish, activities.FinishIn{
				Investigation: "inv", Plan: b.ref.Plan, Status: agent.StatusCompleted,
				Envelope: record.Envelope{Undelivered: []string{"conclude: agent B is not running"}},
			})
			var end activities.FinishOut
			const want = `guide by Ada: no model call followed: "look"`
			if err != nil || finished.Get(&end) != nil || len(end.Undelivered) != 1 || end.Undelivered[0] != want {
				t.Errorf("%+v, %v", end, err)
			}
			if r, err := b.store.Investigation(t.Context(), "inv"); err != nil || len(r.Envelope.Undelivered) != 2 {
				t.Errorf("recorded %q, %v", r.Envelope.Undelivered, err)
			}
		})
	}
}

// The arguments shown to a person, and those in the history, are masked.
func TestShownArgumentsAreMasked(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.plan(func(a *plan.Agent) {
		a.Servers[0].Masking = &plan.Masking{Custom: []plan.MaskPattern{{Pattern: "hunter.", Replacement: "[MASKED]"}}}
		a.Tools.Permissions = map[string]plan.Permission{"lab.write": {RequiresApproval: true}}
	})
	b.reply = func(llm.Request) (llm.Response, error) {
		calls := []agent.ToolCall{{Name: "lab__write", Arguments: `{"key":"` + strings.Repeat("x", 280) + `hunter2"}`}}
		return llm.Response{ToolCalls: calls, Finish: llm.FinishToolCalls}, nil
	}
	out, err := b.generate(activities.GenerateIn{Iteration: 1})
	if err != nil || len(out.Calls) != 1 || out.Calls[0].Approve == nil {
		t.Fatalf("%+v, %v", out, err)
	}
	if shown := out.Calls[0].Approve.Arguments; strings.Contains(shown, "hunter") || !strings.Contains(shown, "[MASKED") {
		t.Errorf("shown is %s", shown)
	}
}

// A workflow's notice is in the transcript once, masked. After a reset, the new run adds it again.
func TestNotice(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.change(func(p *plan.Plan) {
		p.AlertMasking = &plan.Masking{Custom: []plan.MaskPattern{{Pattern: "hunter.", Replacement: "[MASKED]"}}}
	})
	for range 2 { // an activity is retried
		for _, source := range []string{"", "s"} {
			in := activities.NoticeIn{Investigation: "inv", Plan: b.ref.Plan, Source: source, Ordinal: 1,
				Text: `not delivered: unknown field "hunter2"`}
			if _, err := b.env.ExecuteActivity(b.act.Notice, in); err != nil {
				t.Fatal(err)
			}
		}
	}
	notice := activities.Input{Kind: activities.InputNotice, Text: "not delivered: hunter2"}
	if _, err := b.generate(activities.GenerateIn{Iteration: 1, Inputs: []activities.Input{notice}}); err != nil {
		t.Fatal(err)
	}
	entries, err := b.store.After(t.Context(), "inv", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		if e.Kind == transcript.KindNotice {
			got = append(got, e.Execution+": "+e.Text)
		}
	}
	want := []string{`: not delivered: unknown field "[MASKED]"`, `s: not delivered: unknown field "[MASKED]"`, "s/A: not delivered: [MASKED]"}
	if !slices.Equal(got, want) || strings.Contains(fmt.Sprint(b.requests[0].Messages), "not delivered") {
		t.Errorf("noticed %q, want %q; the model was told %v", got, want, b.requests[0].Messages)
	}
}
