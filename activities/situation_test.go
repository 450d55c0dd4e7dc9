package activities_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/audit"
	"github.com/inquest-dev/inquest/internal/trust/remember"
)

// judgedCalls returns the workflow's output for a reply with these calls.
func (b *bench) judgedCalls(calls ...agent.ToolCall) activities.GenerateOut {
	b.t.Helper()
	b.asks(calls...)
	out, err := b.generate(activities.GenerateIn{Iteration: 1}) // the stored reply
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

// TestARuleLetsACallThrough: a call that a rule matches needs no approval, and its journal entry names the rule, so that
// its uses are counted. If the rule was revoked between offer and call, a person is asked.
func TestARuleLetsACallThrough(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	yes := true
	b.act.Rules = b.store
	b.plan(func(a *plan.Agent) {
		a.Tools.Permissions = map[string]plan.Permission{"lab.read": {RequiresApproval: true, Remember: &yes}}
	})
	rule := remember.Rule{
		ID: "r-1", Tool: "lab.read", By: "Ada", Because: "it only reads", Created: time.Now(), Where: remember.Where{Project: "shop"},
		Arguments: map[string]remember.Pattern{"n": {Equals: []byte("1")}},
	}
	elsewhere := rule
	elsewhere.ID, elsewhere.Where.Project, elsewhere.Arguments = "r-2", "another", map[string]remember.Pattern{"n": {Equals: []byte("2")}}
	for _, r := range []remember.Rule{rule, elsewhere} {
		if err := b.store.AddRule(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	one := agent.ToolCall{Name: "lab__read", Arguments: `{"n":1}`}
	out := b.judgedCalls(one, one, agent.ToolCall{Name: "lab__read", Arguments: `{"n":2}`})
	if len(out.Calls) != 3 || out.Calls[0].Approve != nil || out.Calls[1].Approve != nil || out.Calls[2].Approve == nil ||
		out.Calls[2].Approve.Remember == "" {
		t.Fatalf("calls %+v", out.Calls)
	}
	if e := b.callAs(1, 0, nil); e.Status != "success" || len(b.calls) != 1 {
		t.Errorf("let through: %+v, %d calls made", e.Body, len(b.calls))
	}
	entries, err := b.store.Entries(t.Context(), b.scope())
	if err != nil {
		t.Fatal(err)
	}
	if intent := entries[len(entries)-2]; intent.Rule != "r-1" || intent.Decision != "allowed by rule r-1 of Ada (it only reads)" {
		t.Errorf("the journal says %+v", intent.Body)
	}
	used, err := b.store.Rule(t.Context(), "r-1")
	if err != nil || used.Uses != 1 {
		t.Errorf("used %d times, %v", used.Uses, err)
	}
	acts := b.acts(audit.RuleUsed, audit.Executed)
	if len(acts) != 2 || !strings.Contains(string(acts[0].Detail), `"rule":"r-1"`) ||
		!strings.Contains(string(acts[0].Detail), `"version":"`+used.Version()+`"`) ||
		!strings.Contains(string(acts[0].Detail), `"digest":`) || acts[1].Call != "c1_0" {
		t.Errorf("the audit trail has %+v", acts)
	}
	if _, err := b.store.RevokeRule(t.Context(), "r-1", remember.Revoked{By: "Bob", At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if out := b.decided(1, nil); out.Approve == nil || len(b.calls) != 1 ||
		!strings.Contains(strings.Join(out.Approve.Notes, " "), "is no longer valid") {
		t.Errorf("revoked: %+v, %d calls made", out, len(b.calls))
	}
}

// TestAToolThatChangesUnderARule: the server is asked for the tool's definition directly before a call that a rule
// allows. If it has changed, a person is told and asked, despite the rule. Such a call is not made within a workflow
// task.
func TestAToolThatChangesUnderARule(t *testing.T) {
	t.Parallel()
	yes := true
	for name, tt := range map[string]struct {
		change func(*tool.Spec)
		rule   func(*remember.Rule)
		note   string // "" means the call is made
	}{
		"the same": {func(*tool.Spec) {}, func(*remember.Rule) {}, ""},
		"another description": {func(s *tool.Spec) { s.Description = "Deletes what it reads." }, func(*remember.Rule) {},
			"lab.read has changed: description"},
		"a rule for whatever": {func(s *tool.Spec) { s.Description = "Deletes." }, func(r *remember.Rule) { r.Definition = "" },
			"lab.read has changed: description"},
		"critical by now": {func(s *tool.Spec) { s.Risk = agent.RiskCritical }, func(*remember.Rule) {}, "lab.read has changed: risk"},
		"its rule is revoked too": {func(s *tool.Spec) { s.Description = "Deletes." },
			func(r *remember.Rule) { r.Revoked = &remember.Revoked{By: "Bob"} }, "is no longer valid"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := quickBench(t, "lab.read", time.Millisecond)
			b.act.Rules = b.store
			b.plan(quickUnder, func(a *plan.Agent) {
				a.Tools.Permissions = map[string]plan.Permission{"lab.read": {RequiresApproval: true, Remember: &yes}}
			})
			rule := remember.Rule{
				ID: "r-1", Tool: "lab.read", Definition: labTools[0].Definition(), By: "Ada", Created: time.Now(),
				Arguments: map[string]remember.Pattern{"n": {Equals: []byte("1")}},
			}
			tt.rule(&rule)
			revoked := rule.Revoked
			rule.Revoked = nil
			if err := b.store.AddRule(t.Context(), rule); err != nil {
				t.Fatal(err)
			}
			out := b.judgedCalls(agent.ToolCall{Name: "lab__read", Arguments: `{"n":1}`})
			if len(out.Calls) != 1 || out.Calls[0].Approve != nil || out.Calls[0].Quick {
				t.Fatalf("calls %+v", out.Calls)
			}
			if revoked != nil {
				if _, err := b.store.RevokeRule(t.Context(), "r-1", *revoked); err != nil {
					t.Fatal(err)
				}
			}
			changed := slices.Clone(labTools)
			tt.change(&changed[0])
			b.offers = func() ([]tool.Spec, error) { return slices.Clone(changed), nil }
			done := b.decided(0, nil)
			if tt.note == "" {
				if done.Approve != nil || len(b.calls) != 1 {
					t.Errorf("%+v; %d calls", done, len(b.calls))
				}
				return
			}
			if done.Approve == nil || len(b.calls) > 0 || !strings.Contains(strings.Join(done.Approve.Notes, "\n"), tt.note) {
				t.Fatalf("%+v; %d calls", done, len(b.calls))
			}
			if revoked != nil {
				return
			}
			if b.decided(0, &activities.Decision{Approved: true, By: "Ada", Digest: done.Approve.Digest}); len(b.calls) != 1 {
				t.Errorf("approved as it is now: %d calls", len(b.calls))
			}
		})
	}
}

// TestTaint: the journal names the sources that an agent has read and the calls that they may have caused, and the approver is told.
func TestTaint(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	yes := true
	b.act.Rules = b.store
	b.plan(func(a *plan.Agent) {
		a.Tools.TaintedWrites = plan.TaintedWriting
		a.Tools.Permissions = map[string]plan.Permission{"lab.write": {RequiresApproval: true, Remember: &yes}}
	})
	err := b.store.AddRule(t.Context(), remember.Rule{
		ID: "r-1", Tool: "lab.write", By: "Ada", Created: time.Now(), Arguments: map[string]remember.Pattern{"n": {Glob: "*"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	call := agent.ToolCall{Name: "lab__write", Arguments: `{"n":1}`}
	out := b.judgedCalls(call, call)
	if len(out.Calls) != 2 || out.Calls[0].Approve == nil ||
		!strings.Contains(strings.Join(out.Calls[0].Approve.Notes, " "), "has read untrusted text from") ||
		out.Calls[0].Approve.Remember != "" {
		t.Fatalf("calls %+v", out.Calls)
	}
	if e := b.callAs(1, 1, nil); e.ErrorType != activities.ResultDenied || len(b.calls) != 0 {
		t.Errorf("made without a person: %+v", e.Body)
	}
	b.callAs(1, 0, &activities.Decision{Approved: true, By: "Ada", Digest: out.Calls[0].Approve.Digest})
	entries, err := b.store.Entries(t.Context(), b.scope())
	if err != nil {
		t.Fatal(err)
	}
	if read := transcript.Untrusted(entries); len(b.calls) != 1 || strings.Join(read, ", ") != "the tool descriptions of lab, lab.write" {
		t.Errorf("%d calls were made; it has read %q", len(b.calls), read)
	}
}

// TestTaintOfAServerThatIsListedLate: a server's tool descriptions taint every call that comes after them.
func TestTaintOfAServerThatIsListedLate(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.plan(func(a *plan.Agent) { a.Servers = []plan.Server{{Name: "lab", Trusted: true}, {Name: "late"}} })
	call := agent.ToolCall{Name: "lab__write", Arguments: "{}"}
	b.asks(call)
	b.callAs(1, 0, nil)
	late := tool.Catalogue{Server: "late", Tools: []tool.Spec{{Name: "late.read", Risk: agent.RiskReadOnly}}}
	if err := b.store.SaveCatalogue(t.Context(), b.scope(), late); err != nil {
		t.Fatal(err)
	}
	if _, err := b.generate(activities.GenerateIn{Iteration: 2}); err != nil {
		t.Fatal(err)
	}
	if reply := b.last(); len(reply.Calls) != 1 || strings.Join(reply.Calls[0].Untrusted, ", ") != "the tool descriptions of late" {
		t.Errorf("calls %+v", reply.Calls)
	}
}
