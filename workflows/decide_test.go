package workflows

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/testsuite"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// EditCall rejects arguments that contain a refusal.
func (f *fake) EditCall(_ context.Context, in activities.EditCallIn) (activities.EditCallOut, error) {
	if strings.Contains(string(in.Arguments), "refuse") {
		return activities.EditCallOut{Refused: "the policy has something against them"}, nil
	}
	text := string(in.Arguments)
	approve := activities.Approve{ID: fmt.Sprintf("c1_%d", in.Call), Digest: "of " + text, Arguments: text}
	switch {
	case strings.Contains(text, "critical"):
		approve.Risk, approve.Approvers = agent.RiskDestructive, plan.Approvers{Who: []string{"lead"}}
	case strings.Contains(text, "both"):
		approve.Approvers.Needed = 2
	}
	return activities.EditCallOut{Edit: "blob of " + text, Approve: &approve}, nil
}

var (
	ada = &agent.Identity{Name: "ada", Groups: []string{"sre"}, Channel: agent.ChannelCLI}
	bob = &agent.Identity{Name: "bob", Groups: []string{"sre", "lead"}, Channel: agent.ChannelCLI}
	eve = &agent.Identity{Name: "eve", Groups: []string{"dev"}, Channel: agent.ChannelCLI}
)

// A saying is a person's decision at a given minute of the run. refused is the expected error; empty means none.
type saying struct {
	at      int
	say     Decide
	refused string
}

// said runs an agent that requests one call of tool "a", receives the decisions, and then answers x.
func said(t *testing.T, asked activities.Approve, sayings []saying) (f *fake, status func(minute int) AgentStatus) {
	t.Helper()
	asked.ID, asked.Digest = "c1_0", "d1"
	first := ask("a")
	first.Calls[0].Approve = &asked
	f = &fake{model: script(first, say("x"))}
	env := newEnv(t, f)
	seen := map[int]AgentStatus{}
	for minute := range 400 {
		env.RegisterDelayedCallback(func() { seen[minute] = agentStatusOf(t, env) }, time.Duration(minute)*time.Minute+30*time.Second)
	}
	refused := make([]string, len(sayings))
	for n, s := range sayings {
		s.say.CallID = "c1_0"
		env.RegisterDelayedCallback(func() {
			env.UpdateWorkflow(UpdateDecide, "", &testsuite.TestUpdateCallback{
				OnAccept: func() {},
				OnReject: func(err error) { refused[n] = err.Error() },
				OnComplete: func(_ any, err error) {
					if err != nil {
						refused[n] = err.Error()
					}
				},
			}, s.say)
		}, time.Duration(s.at)*time.Minute)
	}
	env.ExecuteWorkflow(IteratingAgent, agentInput(agent.Iterating, 3))
	if got := agentEnd(t, env); got.Status != agent.StatusCompleted {
		t.Fatalf("got %+v", got)
	}
	for n, s := range sayings {
		if (s.refused == "") != (refused[n] == "") || !strings.Contains(refused[n], s.refused) {
			t.Errorf("minute %d: refused with %q, want %q", s.at, refused[n], s.refused)
		}
	}
	return f, func(minute int) AgentStatus { return seen[minute] }
}

func agentStatusOf(t *testing.T, env *testsuite.TestWorkflowEnvironment) (s AgentStatus) {
	t.Helper()
	value, err := env.QueryWorkflow(QueryStatus)
	if err == nil {
		err = value.Get(&s)
	}
	if err != nil {
		t.Error(err)
	}
	return s
}

func TestWhoDecides(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	sre := plan.Approvers{Who: []string{"sre"}}
	for name, tt := range map[string]struct {
		asked   activities.Approve
		sayings []saying
		want    string // what the call was made by, or its result
	}{
		"one of them": {
			activities.Approve{Approvers: sre},
			[]saying{{1, Decide{Approved: &yes, By: "Ada", Identity: ada}, ""}}, "approved by Ada (ada)",
		},
		"not one of them": {
			activities.Approve{Approvers: sre},
			[]saying{
				{1, Decide{Approved: &yes, Identity: eve}, "eve may not decide on call"}, {2, Decide{Approved: &no, Identity: eve}, "eve may not"},
				{3, Decide{HandTo: "@eve", Identity: eve}, "eve may not"}, {4, Decide{Approved: &no, Identity: ada, Reason: "late"}, ""},
			}, "denied by ada (late).",
		},
		"nobody has checked who": {
			activities.Approve{Approvers: sre},
			[]saying{{1, Decide{Approved: &yes, By: "ada"}, `Decide with "starter decide"`}, {2, Decide{Approved: &yes, Identity: ada}, ""}},
			"approved by ada",
		},
		"an identity without a channel": {
			activities.Approve{Approvers: sre},
			[]saying{{1, Decide{Approved: &yes, Identity: &agent.Identity{Name: "ada", Groups: []string{"sre"}}}, "no channel"}},
			"denied (the approval timed out).",
		},
		"two people": {
			activities.Approve{Approvers: plan.Approvers{Who: []string{"sre"}, Needed: 2}},
			[]saying{
				{1, Decide{Approved: &yes, Identity: ada}, ""}, {2, Decide{Approved: &yes, By: "Bob", Identity: ada}, "ada has already approved call"},
				{3, Decide{Approved: &yes, Identity: bob}, ""},
			}, "approved by ada and bob",
		},
		"one person by two channels": {
			activities.Approve{Approvers: plan.Approvers{Needed: 2}},
			[]saying{
				{1, Decide{Approved: &yes, Identity: ada}, ""},
				{2, Decide{Approved: &yes, Identity: &agent.Identity{Name: "Ada", Channel: "oidc"}}, "Ada has already approved call"},
			}, "denied (only ada approved it, but 2 people must).",
		},
		"two people, and one comes": {
			activities.Approve{Approvers: plan.Approvers{Needed: 2}}, []saying{{1, Decide{Approved: &yes, Identity: ada}, ""}},
			"denied (only ada approved it, but 2 people must).",
		},
		"one of two denies": {
			activities.Approve{Approvers: plan.Approvers{Needed: 2}},
			[]saying{{1, Decide{Approved: &yes, Identity: ada}, ""}, {2, Decide{Approved: &no, Identity: bob}, ""}}, "denied by bob.",
		},
		"who has asked for it": {
			activities.Approve{Approvers: plan.Approvers{NotOwn: true}, NotBy: []string{"Ada"}},
			[]saying{{1, Decide{Approved: &yes, Identity: ada}, "ada requested this investigation"},
				{2, Decide{Approved: &yes, Identity: bob}, ""}},
			"approved by bob",
		},
		"nobody knows who has asked for it": {
			activities.Approve{Approvers: plan.Approvers{NotOwn: true}},
			[]saying{{1, Decide{Approved: &yes, Identity: bob}, "the requester of this investigation is unknown"},
				{2, Decide{Approved: &no, Identity: bob}, ""}},
			"denied by bob.",
		},
		"who has asked for it may deny it": {
			activities.Approve{Approvers: plan.Approvers{NotOwn: true}, NotBy: []string{"ada"}},
			[]saying{{1, Decide{Approved: &no, Identity: ada}, ""}}, "denied by ada.",
		},
		"handed on": {
			activities.Approve{Approvers: sre},
			[]saying{
				{1, Decide{HandTo: "@bob", Identity: ada}, ""}, {2, Decide{Approved: &yes, Identity: ada}, "was handed to @bob"},
				{3, Decide{Approved: &yes, Identity: bob}, ""},
			}, "approved by bob",
		},
		"handed on to somebody who may not": {
			activities.Approve{Approvers: sre},
			[]saying{
				{1, Decide{HandTo: "@eve", Identity: ada}, ""}, {2, Decide{Approved: &yes, Identity: eve}, "eve may not"},
				{3, Decide{HandTo: "sre", Identity: ada}, ""}, {4, Decide{Approved: &yes, Identity: ada}, ""},
			}, "approved by ada",
		},
		"handed to others than may decide": {
			activities.Approve{Approvers: sre},
			[]saying{{1, Decide{HandTo: "dba", Identity: ada}, "cannot be handed to dba"},
				{2, Decide{Approved: &yes, Identity: ada}, ""}},
			"approved by ada",
		},
		"handed to who would be next": {
			activities.Approve{Approvers: plan.Approvers{Who: []string{"sre"}, EscalateTo: []string{"dev"}}},
			[]saying{{1, Decide{HandTo: "dev", Identity: ada}, ""}, {2, Decide{Approved: &yes, Identity: eve}, ""}}, "approved by eve",
		},
		"escalated": {
			activities.Approve{Approvers: plan.Approvers{Who: []string{"dev"}, EscalateTo: []string{"lead", "cto"}}},
			[]saying{{30, Decide{Approved: &yes, Identity: bob}, "bob may not"}, {70, Decide{Approved: &yes, Identity: bob}, ""}}, "approved by bob",
		},
		"escalated to the end": {
			activities.Approve{Approvers: plan.Approvers{Who: []string{"dev"}, EscalateTo: []string{"lead", "cto"}}},
			[]saying{{179, Decide{Approved: &yes, Identity: eve, HandTo: "x"}, "only one of"}}, "denied (the approval timed out).",
		},
		"several things at once": {
			activities.Approve{},
			[]saying{
				{1, Decide{Approved: &yes, Ask: "why?"}, "only one of"}, {2, Decide{Approved: &no, Arguments: json.RawMessage(`{}`)},
					`"arguments" requires "approved": true`},
				{3, Decide{Approved: &yes, Arguments: json.RawMessage(`"` + strings.Repeat("x", maxEdit) + `"`)}, "longer than"},
				{4, Decide{Approved: &yes}, ""},
			}, "approved",
		},
		"with other arguments": {
			activities.Approve{},
			[]saying{
				{1, Decide{Approved: &yes, By: "Ada", Arguments: json.RawMessage(`{"refuse":1}`)}, "the policy has something against them"},
				{2, Decide{Approved: &yes, By: "Ada", Arguments: json.RawMessage(`{"n":2}`), Digest: "d1"}, ""},
			}, "approved with edited arguments by Ada",
		},
		"with other arguments, by two people": {
			activities.Approve{Approvers: plan.Approvers{Needed: 2}},
			[]saying{
				{1, Decide{Approved: &yes, Identity: ada}, ""},
				{2, Decide{Approved: &yes, Identity: bob, Arguments: json.RawMessage(`{"both":2}`)}, ""}, // what ada has approved is another call
				{3, Decide{Approved: &yes, Identity: bob}, "bob has already approved call"},
				{4, Decide{Approved: &yes, Identity: ada, Digest: "d1"}, "is not the one you saw"},
				{5, Decide{Approved: &yes, Identity: ada, Digest: `of {"both":2}`}, ""},
			}, "approved with edited arguments by bob and ada",
		},
		"with arguments that others have to approve": {
			activities.Approve{Approvers: sre},
			[]saying{
				{1, Decide{Approved: &yes, Identity: ada, Arguments: json.RawMessage(`{"critical":1}`)}, "ada may not decide on call"},
				{2, Decide{Approved: &yes, Identity: bob, Arguments: json.RawMessage(`{"critical":1}`)}, ""},
			}, "approved with edited arguments by bob",
		},
		"with arguments that more have to approve": {
			activities.Approve{},
			[]saying{
				{1, Decide{Approved: &yes, Arguments: json.RawMessage(`{"both":1}`)}, "needs a verified identity"},
				{2, Decide{Approved: &yes, Identity: ada, Arguments: json.RawMessage(`{"both":1}`)}, ""},
				{3, Decide{Approved: &yes, Identity: bob}, ""},
			}, "approved with edited arguments by ada and bob",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, _ := said(t, tt.asked, tt.sayings)
			var got string
			if len(f.called) == 1 {
				got = f.called[0].Decision.String()
			} else if results := f.generated[1].Inputs; len(results) == 1 {
				_, got, _ = strings.Cut(results[0].Text, "was not called: ")
			}
			if got != tt.want || len(f.called) > 1 {
				t.Errorf("%q, want %q; %d calls", got, tt.want, len(f.called))
			}
			if len(f.called) == 1 && strings.Contains(tt.want, "other arguments") {
				if d := f.called[0].Decision; !strings.HasPrefix(d.Edit, "blob of {") || d.Edit != "blob "+d.Digest {
					t.Errorf("made with %+v", d)
				}
			}
		})
	}
}

// TestWhatIsSeenOfACallThatWaits: a waiting call shows who may decide by now, and its earlier notes.
func TestWhatIsSeenOfACallThatWaits(t *testing.T) {
	t.Parallel()
	yes := true
	_, status := said(t, activities.Approve{
		Approvers: plan.Approvers{Who: []string{"sre"}, Needed: 2, EscalateTo: []string{"lead"}}, Notes: []string{"read this"},
		Reason: "it hangs", PlanStep: "7: restart", Description: "Restart a pod.",
	}, []saying{
		{1, Decide{Approved: &yes, Identity: ada}, ""}, {2, Decide{HandTo: "@bob", By: "Ada", Identity: ada, Reason: "your area"}, ""}})
	for minute, want := range map[int]string{
		0: "can be decided by sre; needs 2 approvals; read this",
		1: "can be decided by sre; needs 2 approvals, approved by ada; read this",
		2: "can be decided by @bob; needs 2 approvals, approved by ada; read this; Ada (ada) handed the call to @bob. your area",
		61: "can be decided by sre, lead; needs 2 approvals, approved by ada; read this; Ada (ada) handed the call to @bob. your area; " +
			"The approval timed out and was escalated: lead can now decide as well.",
	} {
		waiting := status(minute).Waiting
		if len(waiting) != 1 {
			t.Fatalf("minute %d: %+v", minute, waiting)
		}
		if diff := cmp.Diff(want, strings.Join(waiting[0].Facts(), "; ")); diff != "" {
			t.Errorf("minute %d (-want +got):\n%s", minute, diff)
		}
		why := "the agent says: it hangs; plan step: 7: restart; tool description: Restart a pod."
		if got := strings.Join(waiting[0].Why(), "; "); got != why {
			t.Errorf("minute %d: %q, want %q", minute, got, why)
		}
		if next := waiting[0].EscalatesTo; next != map[bool]string{true: "lead"}[minute < 60] {
			t.Errorf("minute %d: it escalates to %q", minute, next)
		}
	}
}

// TestAQuestionAboutACall: a question about a call goes to the agent. It answers in a text, which does not end its
// work, or next to a new request for the call.
func TestAQuestionAboutACall(t *testing.T) {
	t.Parallel()
	yes := true
	second := askApproval("a")
	second.Preview = "because it hangs"
	for name, tt := range map[string]struct {
		replies []activities.GenerateOut
		calls   int
		notes   string
	}{
		"answered with the call": {[]activities.GenerateOut{second, say("done")}, 1, "Ada asked: why? The agent says: because it hangs"},
		"answered, and asked": {[]activities.GenerateOut{say("because it hangs"), askApproval("a"), say("done")}, 1,
			"Ada asked: why? The agent says: because it hangs"},
		"answered, and dropped": {[]activities.GenerateOut{say("never mind"), say("done")}, 0, ""},
		"asked without an answer": {[]activities.GenerateOut{askApproval("a"), say("done")}, 1,
			"Ada asked: why? The agent did not answer."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{model: script(append([]activities.GenerateOut{askApproval("a")}, tt.replies...)...)}
			env := newEnv(t, f)
			var notes []string
			env.RegisterDelayedCallback(func() { decide(t, env, Decide{CallID: "c1_0", Ask: "why?", By: "Ada"}) }, time.Minute)
			env.RegisterDelayedCallback(func() {
				for _, a := range agentStatusOf(t, env).Waiting {
					notes = append(notes, a.Notes...)
					decide(t, env, Decide{CallID: "c1_0", Approved: &yes, By: "Ada"})
				}
			}, 2*time.Minute)
			env.ExecuteWorkflow(IteratingAgent, agentInput(agent.Iterating, 3))
			got := agentEnd(t, env)
			if got.Status != agent.StatusCompleted || got.Preview != "done" || len(f.called) != tt.calls || strings.Join(notes, "; ") != tt.notes {
				t.Errorf("%+v; %d calls; notes %q", got, len(f.called), notes)
			}
			result := f.generated[1].Inputs[0]
			if !strings.Contains(result.Text, "Question from Ada: why?") || result.ErrorType != activities.ResultNotRun {
				t.Errorf("the agent is told %+v", result)
			}
			answered := slices.ContainsFunc(f.generated, func(in activities.GenerateIn) bool {
				return len(in.Inputs) == 1 && in.Inputs[0].Kind == activities.InputAnswered
			})
			if answered != (len(tt.replies[0].Calls) == 0) {
				t.Errorf("told that its answer is read: %t", answered)
			}
		})
	}
}

// TestAnApprovalIsOfOneCall: an approval covers one call. The same call needs a new approval the next time.
func TestAnApprovalIsOfOneCall(t *testing.T) {
	t.Parallel()
	yes := true
	f := &fake{model: script(askApproval("a"), askApproval("a"), say("x"))}
	env := newEnv(t, f)
	env.RegisterDelayedCallback(func() { decide(t, env, Decide{CallID: "c1_0", Approved: &yes, By: "Ada"}) }, time.Minute)
	env.ExecuteWorkflow(IteratingAgent, agentInput(agent.Iterating, 3))
	if got := agentEnd(t, env); got.Status != agent.StatusCompleted || len(f.called) != 1 {
		t.Fatalf("%d calls were made; %+v", len(f.called), got)
	}
	if received := f.generated[2].Inputs; len(received) != 1 || !strings.Contains(received[0].Text, "the approval timed out") {
		t.Errorf("of the second call the agent is told %+v", received)
	}
}
