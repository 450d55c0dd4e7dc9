package storetest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/remember"
)

// testRules: a rule applies from when it is saved until it expires or is revoked, which happens once. Each call that it lets
// through is counted once.
func testRules(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	now := time.Now().UTC().Truncate(time.Second)
	soon, before := now.Add(time.Hour), now.Add(-time.Hour)
	made := remember.Rule{
		ID: "r-1", Tool: "k.scale", Definition: "d", By: "Ada", Because: "<it> is \x00 safe", Created: now, Expires: &soon,
		Arguments: map[string]remember.Pattern{"namespace": {Glob: "dev-*"}, "replicas": {Equals: json.RawMessage("3")}},
		Where:     remember.Where{Project: "p", Chain: "c", Stage: "s", Environment: "dev"},
	}
	ended := remember.Rule{ID: "r-2", Tool: "k.scale", By: "Bob", Created: before, Expires: &before}
	other := remember.Rule{ID: "r-3", Tool: "k.get", By: "Bob", Created: before}
	for _, r := range []remember.Rule{made, ended, other} {
		ok(t, s.AddRule(ctx, r))
	}
	if s.AddRule(ctx, made) == nil {
		t.Error("two rules have the same id")
	}
	same(t, "in force", must(s.Rules(ctx, "k.scale", false))(t), []remember.Rule{made})
	same(t, "all", must(s.Rules(ctx, "", true))(t), []remember.Rule{made, ended, other})

	use := func(key transcript.Key, run string) {
		call := transcript.Call{ID: "c", Name: "k.scale", Arguments: "{}", Risk: agent.RiskWrite}
		mustAppend(t, s, step(run, transcript.Row{Key: key, Kind: transcript.KindCall, At: now, Body: transcript.Body{
			Call: &call, Result: transcript.Result{Decision: made.Said(), Rule: "r-1"},
		}}))
	}
	use(transcript.CallKey(1, 0), "a")
	use(transcript.CallKey(1, 0), "a") // another attempt, which writes nothing
	use(transcript.CallKey(1, 1), "a")
	made.Uses, made.LastUsed = 2, &now
	same(t, "used", must(s.Rule(ctx, "r-1"))(t), made)

	revoked := remember.Revoked{By: "Eve", At: now, Why: "too wide"}
	made.Revoked = &revoked
	same(t, "revoked", must(s.RevokeRule(ctx, "r-1", revoked))(t), made)
	same(t, "once", must(s.RevokeRule(ctx, "r-1", remember.Revoked{By: "Bob", At: soon}))(t), made)
	same(t, "not in force", must(s.Rules(ctx, "k.scale", false))(t), []remember.Rule(nil))
	if _, err := s.RevokeRule(ctx, "r-9", revoked); err == nil {
		t.Error("a rule that does not exist was revoked")
	}
}

const devArguments = `{"namespace":"dev-a"}`

// pastCalls stores calls of two investigations with different outcomes: made, approved, denied …
func pastCalls(t *testing.T, s Store, at time.Time) {
	t.Helper()
	ctx := t.Context()
	for _, inv := range []string{"one", "two"} {
		ok(t, s.StartInvestigation(ctx, record.Investigation{ID: inv, WorkflowID: inv, RunID: inv, Chain: "chain-" + inv,
			Labels: agent.Labels{Project: inv}, StartedAt: time.Now()}))
	}
	n := 0
	put := func(inv, execution string, kind transcript.Kind, name, arguments string, body transcript.Body) {
		n++
		body.Call = &transcript.Call{ID: "c1_0", Name: name, Arguments: arguments, Risk: agent.RiskWrite}
		if body.ErrorType == "reads" {
			body.Call.Risk = agent.RiskReadOnly
		}
		key := transcript.CallKey(n, 0)
		if kind == transcript.KindResult {
			key = transcript.ResultKey(n, 0)
		}
		mustAppend(t, s, transcript.Step{
			Scope: transcript.Scope{Investigation: inv, Execution: execution}, Writer: writer("a"),
			Rows: []transcript.Row{{Key: key, Kind: kind, At: at, Body: body}},
		})
	}
	const dev, prod = devArguments, `{"namespace":"prod"}`
	denied := transcript.Body{Said: transcript.Said{By: "Ada"}, Result: transcript.Result{Decision: "denied by Ada", Refused: true}}
	approved := transcript.Body{Result: transcript.Result{Decision: "approved by Ada"}}
	undecided := transcript.Body{Result: transcript.Result{Decision: "denied (the approval timed out)", Refused: true}}
	put("one", "fix/A", transcript.KindCall, "k.scale", dev, transcript.Body{})
	put("one", "fix#2/A", transcript.KindCall, "k.scale", dev, approved)
	put("one", "fix/A", transcript.KindResult, "k.scale", dev, denied)
	put("two", "look/A", transcript.KindResult, "k.scale", dev, undecided)
	put("two", "fix/A", transcript.KindCall, "k.scale", prod, transcript.Body{})
	put("two", "fix/A", transcript.KindCall, "k.scale", "no JSON \x00", transcript.Body{})
	put("two", "fix/A", transcript.KindCall, "k.delete", dev, transcript.Body{})
	put("two", "fix/A", transcript.KindResult, "k.scale", dev, transcript.Body{Text: "done"}) // the intent was counted
	put("two", "fix/A", transcript.KindCall, "k.scale", dev, transcript.Body{ErrorType: "reads"})
	put("talk", "talk/A", transcript.KindCall, "k.get", dev, approved) // a conversation, which has no record
}

// testPreview: a rule is tried on the outcomes of its tool's past calls.
func testPreview(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	pastCalls(t, s, at)
	all := map[remember.Fate]int{remember.Denied: 1, remember.Undecided: 1, remember.Made: 1, remember.Approved: 1}
	rule := remember.Rule{Tool: "k.scale", Arguments: map[string]remember.Pattern{"namespace": {Glob: "dev-*"}}}
	for name, test := range map[string]struct {
		where  remember.Where
		looked int
		fits   map[remember.Fate]int
		first  remember.Fate
	}{
		"anywhere": {remember.Where{}, 6, all, remember.Denied},
		"a chain":  {remember.Where{Chain: "chain-two"}, 3, map[remember.Fate]int{remember.Undecided: 1}, remember.Undecided},
		"a stage":  {remember.Where{Stage: "look"}, 1, map[remember.Fate]int{remember.Undecided: 1}, remember.Undecided},
		"both": {remember.Where{Chain: "chain-one", Stage: "fix"}, 3,
			map[remember.Fate]int{remember.Denied: 1, remember.Made: 1, remember.Approved: 1}, remember.Denied},
		"a project":   {remember.Where{Project: "two"}, 3, map[remember.Fate]int{remember.Undecided: 1}, remember.Undecided},
		"none":        {remember.Where{Chain: "none"}, 0, map[remember.Fate]int{}, ""},
		"environment": {remember.Where{Environment: "dev"}, 6, all, remember.Denied},
	} {
		rule.Where = test.where
		p := must(s.Preview(ctx, rule))(t)
		if diff := cmp.Diff(test.fits, p.Fits, cmpopts.EquateEmpty()); diff != "" || p.Looked != test.looked || len(p.Examples) != p.Count() {
			t.Errorf("%s: looked at %d, %d examples (-want +got):\n%s", name, p.Looked, len(p.Examples), diff)
		}
		if len(p.Examples) > 0 && p.Examples[0].Fate != test.first {
			t.Errorf("%s: the first example was %s", name, p.Examples[0].Fate)
		}
	}
	rule.Where = remember.Where{Project: "one"}
	if rule.Tool = "k.get"; must(s.Preview(ctx, rule))(t).Count() != 1 {
		t.Error("a project's rule matches a call from a conversation, whose project is unknown")
	}
	rule.Where, rule.Tool = remember.Where{}, "k.scale"
	want := remember.Past{
		Investigation: "one", Execution: "fix/A", Call: "c1_0", Arguments: devArguments, Fate: remember.Denied, Decision: "denied by Ada", At: at,
	}
	same(t, "the denied call", must(s.Preview(ctx, rule))(t).Examples[0], want)
}
