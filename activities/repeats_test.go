package activities_test

import (
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// writes makes the model request lab.write with each of these arguments, in a reply of the given iteration.
func (b *bench) writes(iteration int, inputs []activities.Input, arguments ...string) []activities.Call {
	b.t.Helper()
	b.reply = func(llm.Request) (llm.Response, error) {
		out := llm.Response{Finish: llm.FinishToolCalls}
		for _, text := range arguments {
			out.ToolCalls = append(out.ToolCalls, agent.ToolCall{Name: "lab__write", Arguments: text})
		}
		return out, nil
	}
	out, err := b.generate(activities.GenerateIn{Iteration: iteration, Inputs: inputs})
	if err != nil || len(out.Calls) != len(arguments) {
		b.t.Fatalf("%+v, %v", out, err)
	}
	return out.Calls
}

// asksAboutRepeats gives the bench's agent the default rule for repeated calls.
func asksAboutRepeats(a *plan.Agent) { a.Tools.Repeats = plan.RepeatsAsk }

// approval is what the approver of the iteration's n-th call decides.
func approval(of activities.Call) *activities.Decision {
	return &activities.Decision{Approved: true, By: "Ada", Digest: of.Approve.Digest}
}

// TestRepeatedWrites tells repetitions from first calls by how the first one ended, and by the rule in the plan.
func TestRepeatedWrites(t *testing.T) {
	t.Parallel()
	const args = `{"a":1,"b":2}`
	succeeds := func(tool.Call) (tool.Result, error) { return tool.Success("done"), nil }
	unknown := func(tool.Call) (tool.Result, error) {
		return tool.Result{Status: tool.StatusError, ErrorType: tool.ErrorTimeout, Content: "no answer", Sent: true}, nil
	}
	fails := func(tool.Call) (tool.Result, error) { return tool.Failure(tool.ErrorTool, "busy"), nil }
	for name, tt := range map[string]struct {
		rule   plan.RepeatRule
		run    func(tool.Call) (tool.Result, error)
		second string
		note   string // for the approver; empty means that no person is asked
	}{
		"the same":          {plan.RepeatsAsk, succeeds, args, "result: success)."},
		"spelled otherwise": {plan.RepeatsAsk, succeeds, "{ \"b\": 2,\n\t\"a\": 1 }", "result: success)."},
		"unknown outcome":   {plan.RepeatsAsk, unknown, args, "result: unknown)."},
		"failed before":     {plan.RepeatsAsk, fails, args, ""},
		"another value":     {plan.RepeatsAsk, succeeds, `{"a":1,"b":3}`, ""},
		"one value more":    {plan.RepeatsAsk, succeeds, `{"a":1,"b":2,"c":3}`, ""},
		"allowed":           {plan.RepeatsAllow, succeeds, args, ""},
		"an older plan":     {"", succeeds, args, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.plan(func(a *plan.Agent) { a.Tools.Repeats = tt.rule })
			b.run = tt.run
			if first := b.writes(1, nil, args); first[0].Approve != nil {
				t.Errorf("asked about the first: %+v", first[0].Approve)
			}
			b.callAs(1, 0, nil)
			second := b.writes(2, nil, tt.second)[0].Approve
			switch {
			case (second != nil) != (tt.note != ""):
				t.Errorf("asked: %+v", second)
			case second == nil:
				b.callAs(2, 0, nil)
				if len(b.calls) != 2 {
					t.Errorf("%d calls were made", len(b.calls))
				}
			case len(second.Notes) != 1 || !strings.HasPrefix(second.Notes[0], "The agent made the same call once before (at ") ||
				!strings.HasSuffix(second.Notes[0], tt.note) || second.Remember != "":
				t.Errorf("asked: %+v", second)
			}
		})
	}
}

// TestRepeatsAcrossRuns: the agent has continued as new, or its worker was replaced, since it made the call.
func TestRepeatsAcrossRuns(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.plan(asksAboutRepeats)
	for n := range 3 {
		call := transcript.Call{ID: "x", Name: "lab.write", Arguments: `{"a":1}`, Class: string(tool.NonIdempotent)}
		b.wrote("before", transcript.Row{Key: transcript.Key{Iteration: n + 1}, Kind: transcript.KindReply,
			Body: transcript.Body{Calls: []transcript.Call{call}}})
		b.wrote("before", transcript.Row{Key: transcript.ResultKey(n+1, 0), Kind: transcript.KindResult,
			Body: transcript.Body{Call: &call, Status: "success"}})
	}
	asked := b.writes(4, nil, `{"a":1}`)[0]
	if asked.Approve == nil || !strings.Contains(strings.Join(asked.Approve.Notes, "\n"), "made the same call 3 times before (last at ") {
		t.Fatalf("asked %+v", asked.Approve)
	}
	if e := b.callAs(4, 0, approval(asked)); e.Status != "success" || len(b.calls) != 1 {
		t.Errorf("approved: %+v", e.Body)
	}
	if again := b.writes(5, nil, `{"a":1}`)[0]; again.Approve != nil {
		t.Errorf("asked again: %+v", again.Approve)
	}
	if e := b.callAs(5, 0, nil); e.Status != "success" || len(b.calls) != 2 {
		t.Errorf("repeated after the approval: %+v", e.Body)
	}
}

// TestSameCallsInOneReply: a person is asked about the second, and the model must wait with the third.
func TestSameCallsInOneReply(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.plan(asksAboutRepeats)
	calls := b.writes(1, nil, `{"a":1}`, `{"a":1}`, `{"a":2}`, `{ "a":1 }`)
	for n, asks := range []bool{false, true, false, false} {
		if (calls[n].Approve != nil) != asks {
			t.Errorf("call %d: asked %+v", n, calls[n].Approve)
		}
	}
	for n, made := range []int{1, 1, 2, 2} {
		var d *activities.Decision
		if calls[n].Approve != nil {
			d = &activities.Decision{By: "Ada"}
		}
		if e := b.callAs(1, n, d); len(b.calls) != made || n == 3 && !strings.Contains(e.Text, "Wait for the result of the first") {
			t.Errorf("after call %d, %d were made: %+v", n, len(b.calls), e.Body)
		}
	}
}

// TestRepeatThatNobodyWasAskedAbout: an older worker judged the reply and did not ask. The call is not made before a person decides.
func TestRepeatThatNobodyWasAskedAbout(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.plan(asksAboutRepeats)
	b.writes(1, nil, `{"a":1}`)
	b.callAs(1, 0, nil)
	want := b.writes(2, nil, `{"a":1}`)[0].Approve
	out, err := b.callTool(2, 0)
	if err != nil || len(b.calls) != 1 || out.Approve == nil || out.Approve.Digest != want.Digest ||
		strings.Join(out.Approve.Notes, "\n") != strings.Join(want.Notes, "\n") {
		t.Errorf("%d calls; %+v, %v; want %+v", len(b.calls), out, err, want)
	}
}

// TestRepeatsWithOtherArguments: a person approves a repetition with other arguments. That was another call, so a person is asked
// again about both.
func TestRepeatsWithOtherArguments(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.plan(asksAboutRepeats)
	b.writes(1, nil, `{"a":1}`)
	b.callAs(1, 0, nil)
	second := b.writes(2, nil, `{"a":1}`)[0]
	d := approval(second)
	d.Edit = b.put(`{"a":2}`)
	d.Digest = tool.Decision{Spec: labTools[1], Arguments: []byte(`{"a":2}`)}.Digest()
	if e := b.callAs(2, 0, d); e.Status != "success" || len(b.calls) != 2 || string(b.calls[1].Arguments) != `{"a":2}` {
		t.Fatalf("edited: %+v, %v", e.Body, b.calls)
	}
	for n, arguments := range []string{`{"a":1}`, `{"a":2}`} {
		if asked := b.writes(3+n, nil, arguments)[0]; asked.Approve == nil {
			t.Errorf("not asked about %s", arguments)
		}
	}
}

// TestRepeatsOfAConversation: each turn counts for itself, because the person may ask for the same again.
func TestRepeatsOfAConversation(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.plan(asksAboutRepeats)
	b.change(func(p *plan.Plan) { p.Conversation = true })
	b.writes(1, nil, `{"a":1}`)
	b.callAs(1, 0, nil)
	if asked := b.writes(2, nil, `{"a":1}`)[0]; asked.Approve == nil {
		t.Error("not asked within the turn")
	}
	b.reply = func(llm.Request) (llm.Response, error) {
		return llm.Response{Content: "Done.", Finish: llm.FinishStop}, nil
	}
	if _, err := b.generate(activities.GenerateIn{Iteration: 3}); err != nil {
		t.Fatal(err)
	}
	if asked := b.writes(4, nil, `{"a":1}`)[0]; asked.Approve != nil {
		t.Errorf("asked in the next turn: %+v", asked.Approve)
	}
}

// TestRepeatsOfACallThatNeedsApproval: a tool whose calls all need a person. The approver hears of the earlier call each time, and
// after a denied repetition the call is refused.
func TestRepeatsOfACallThatNeedsApproval(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.plan(asksAboutRepeats, func(a *plan.Agent) {
		a.Tools.Permissions = map[string]plan.Permission{"lab.write": {RequiresApproval: true}}
	})
	for n := range 3 {
		asked := b.writes(n+1, nil, `{"a":1}`)[0]
		if asked.Approve == nil || (len(asked.Approve.Notes) == 1) != (n > 0) {
			t.Fatalf("asked %+v", asked.Approve)
		}
		b.callAs(n+1, 0, approval(asked))
	}
	b.writes(4, nil, `{"a":1}`)
	denied := []activities.Input{{
		Kind: activities.InputResult, Iteration: 4, ErrorType: activities.ResultDenied, Text: "It was denied.",
		Decision: &activities.Decision{By: "Ada"},
	}}
	if last := b.writes(5, denied, `{"a":1}`)[0]; last.Approve != nil {
		t.Errorf("asked after the denial: %+v", last.Approve)
	}
	if e := b.callAs(5, 0, nil); e.ErrorType != tool.ErrorPermissionDenied || len(b.calls) != 3 ||
		!strings.Contains(e.Text, "You made the same call 3 times before") || !strings.Contains(e.Text, "denied by Ada") {
		t.Errorf("%d calls; %+v", len(b.calls), e.Body)
	}
}
