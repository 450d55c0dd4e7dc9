package workflows

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// TestSeveralQuestions: parallel stages ask at the same time. An answer must name its question, and only
// the stage that asked it continues.
func TestSeveralQuestions(t *testing.T) {
	t.Parallel()
	one, yes := []string{"default"}, true
	f := &fake{plan: planOf(one, one, one), output: outputs(t, map[string]string{
		"s1": `{"outcome":"clarify","question":"which cluster?"}`,
		"s2": `{"outcome":"confirm","question":"restart it?"}`,
	})}
	f.plan.Stages[2].Routing.Requires = []string{"s1", "s2"}
	env := newEnv(t, f)
	asked := map[string]string{} // the ids of the questions, by stage
	questions := func(want ...string) {
		t.Helper()
		clear(asked)
		for _, q := range statusOf(t, env).Questions {
			asked[q.Stage] = q.ID
		}
		if len(asked) != len(want) {
			t.Errorf("questions of %v, want those of %v", asked, want)
		}
		for _, stage := range want {
			if asked[stage] == "" {
				t.Errorf("stage %s asks nothing: %v", stage, asked)
			}
		}
	}
	env.RegisterDelayedCallback(func() {
		questions("s1", "s2")
		answer(t, env, Answer{Text: "eu-1"}, `2 questions are pending: select one with "id"`)
		answer(t, env, Answer{ID: asked["s1"], Approved: &yes}, `needs "text"`) // it is the other one's
		answer(t, env, Answer{ID: asked["s2"], Approved: &yes, By: "Ada"}, "")
	}, time.Minute)
	env.RegisterDelayedCallback(func() {
		settled := asked["s2"]
		questions("s1")
		answer(t, env, Answer{ID: settled, Approved: &yes}, fmt.Sprintf("unknown question %q", settled))
		answer(t, env, Answer{ID: asked["s1"], Text: "eu-1", By: "Bob"}, "")
	}, 2*time.Minute)
	got := investigated(t, env)
	f.inOrder("s1", "s2")
	if diff := cmp.Diff([]string{"s1 s2 s2#2 s1#2 s3", string(agent.EndCompleted)}, []string{f.ran(), string(got.EndReason)}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want := []activities.Note{
		{Kind: "confirmation", Stage: "s2", Question: "restart it?", Answer: "approved. ", By: "Ada"},
		{Kind: "clarification", Stage: "s1", Question: "which cluster?", Answer: "eu-1", By: "Bob"},
	}
	if diff := cmp.Diff(want, f.generated[len(f.generated)-1].Notes); diff != "" {
		t.Errorf("the last stage is told (-want +got):\n%s", diff)
	}
}

// plan → approve → apply → approve → announce: an approval continues from its gate, and stages see every answer.
func TestGates(t *testing.T) {
	t.Parallel()
	one, yes := []string{"default"}, true
	f := &fake{plan: planOf(one, one, one), output: outputs(t, map[string]string{"s1": `{"question":"apply it?"}`})}
	for n := range f.plan.Stages[:2] {
		f.plan.Stages[n].Routing = plan.Routing{DefaultNext: plan.TargetConfirmation, OnApprove: plan.TargetNext}
	}
	env := newEnv(t, f)
	for minutes := range time.Duration(2) {
		env.RegisterDelayedCallback(func() { answer(t, env, Answer{Approved: &yes, By: "Ada"}, "") }, (minutes+1)*time.Minute)
	}
	got := investigated(t, env)
	if diff := cmp.Diff([]string{"s1 s2 s3", string(agent.EndCompleted)}, []string{f.ran(), string(got.EndReason)}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want := []activities.Note{
		{Kind: "confirmation", Stage: "s1", Question: "apply it?", Answer: "approved. ", By: "Ada"},
		{Kind: "confirmation", Stage: "s2", Question: "Stage s2 asks you to review its result.", Answer: "approved. ", By: "Ada"},
	}
	if diff := cmp.Diff(want, f.generated[len(f.generated)-1].Notes); diff != "" {
		t.Errorf("the last stage is told (-want +got):\n%s", diff)
	}
}

// TestReviews: a result passes once an agent or people approve it, and is sent back until then.
func TestReviews(t *testing.T) {
	t.Parallel()
	yes, no := Answer{Approved: new(true)}, Answer{Approved: new(false), Text: "no rollback", By: "Ada"}
	for _, tt := range []struct {
		name    string
		back    string // the stage that does its work again
		output  string // of s2, as JSON
		verdict string // of an agent: a, for approved, or b, for each run of s2; "-" = it fails
		answers []Answer
		goesOn  bool // without an answer, says on_expiry
		want    string
		end     agent.EndReason
		by      string // of the note that the next pass is told
	}{
		{name: "agent approves", verdict: "a", want: "s1 s2 s3", end: agent.EndCompleted},
		{name: "agent sends back", verdict: "ba", want: "s1 s2 s2#2 s3", end: agent.EndCompleted, by: "Rev"},
		{name: "agent sends back to the beginning", back: "s1", verdict: "ba", want: "s1 s2 s1#2 s2#2 s3", end: agent.EndCompleted, by: "Rev"},
		{name: "agent is never content", verdict: "bbb", want: "s1 s2 s2#2", end: agent.EndMaxPasses, by: "Rev"},
		{name: "a bound is reached before the agent has a say", verdict: "x", want: "s1 s2", end: agent.EndMaxLLMCalls},
		{name: "agent fails", verdict: "-", want: "s1 s2", end: agent.EndLLMFailed},
		{name: "the chain's end is sent back, too", output: `{"outcome":"terminate"}`, verdict: "ba", want: "s1 s2 s2#2",
			end: agent.EndCompleted, by: "Rev"},
		{name: "people approve", answers: []Answer{yes}, want: "s1 s2 s3", end: agent.EndCompleted},
		{name: "people send back", answers: []Answer{no, yes}, want: "s1 s2 s2#2 s3", end: agent.EndCompleted, by: "Ada"},
		{name: "people are never content", answers: []Answer{no, no}, want: "s1 s2 s2#2", end: agent.EndMaxPasses, by: "Ada"},
		{name: "people look at the chain's end", output: `{"outcome":"terminate"}`, answers: []Answer{yes}, want: "s1 s2",
			end: agent.EndCompleted},
		{name: "nobody answers", want: "s1 s2", end: agent.EndInterruptExpired},
		{name: "nobody has to answer", goesOn: true, want: "s1 s2 s3", end: agent.EndCompleted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			one := []string{"default"}
			f := &fake{plan: planOf(one, one, one)}
			f.plan.Bounds.MaxPasses, f.plan.Interrupts.Review.Continue = 2, tt.goesOn
			s2 := &f.plan.Stages[1]
			s2.Routing.Review = &plan.Review{Question: "safe?", Back: tt.back, People: tt.verdict == ""}
			if tt.verdict != "" {
				s2.Review = &plan.Agent{Name: "Rev", Type: "llm", MaxIterations: 1, Providers: []plan.Provider{{Model: "m"}}}
			}
			f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
				if in.Ref.Agent == plan.ReviewIndex && tt.verdict == "x" {
					return activities.GenerateOut{Exceeded: agent.EndMaxLLMCalls}, nil
				}
				if in.Ref.Agent == plan.ReviewIndex && tt.verdict == "-" {
					return activities.GenerateOut{}, temporal.NewNonRetryableApplicationError("no key", activities.ErrorEmptyReply, nil)
				}
				return say("done"), nil
			}
			said := tt.output
			if said == "" {
				said = "{}"
			}
			says, reviews := outputs(t, map[string]string{"s2": said, "s2#2": said}), 0
			f.output = func(stage string) activities.SaveStageOut {
				out := says(stage)
				if f.saved[len(f.saved)-1].Review != "" {
					out.Review = &activities.Review{Approved: tt.verdict[reviews] == 'a', Feedback: "no rollback"}
					reviews++
				}
				return out
			}
			env := newEnv(t, f)
			for n, a := range tt.answers {
				env.RegisterDelayedCallback(func() { answer(t, env, Answer{Decision: "?"}, `needs "approved"`) },
					time.Duration(n)*time.Minute+30*time.Second)
				env.RegisterDelayedCallback(func() { answer(t, env, a, "") }, time.Duration(n+1)*time.Minute)
			}
			got := investigated(t, env)
			var received []activities.Note
			if tt.by != "" {
				back := activities.Note{Kind: "agent_review", Stage: "s2", Question: "safe?", Answer: "not approved. no rollback", By: tt.by}
				for _, in := range f.generated {
					if strings.Contains(in.Ref.Execution, "#2") && received == nil {
						received = in.Notes
					}
				}
				if diff := cmp.Diff([]activities.Note{back}, received); diff != "" {
					t.Errorf("the next pass is told (-want +got):\n%s", diff)
				}
			}
			if diff := cmp.Diff([]string{tt.want, string(tt.end)}, []string{f.ran(), string(got.EndReason)}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestANewerPlan: an older worker leaves a plan that it would walk differently to a newer worker. The test
// environment passes on the panic that fails the workflow task.
func TestANewerPlan(t *testing.T) {
	t.Parallel()
	f := &fake{plan: planOf([]string{"default"})}
	f.plan.Version = plan.Version + 1
	env := newEnv(t, f)
	defer func() {
		if why := fmt.Sprint(recover(), env.GetWorkflowError()); !strings.Contains(why, plan.ErrNewer.Error()) || len(f.saved) > 0 {
			t.Errorf("after %d stages: %s", len(f.saved), why)
		}
	}()
	env.ExecuteWorkflow(TypeInvestigation, json.RawMessage(`{"chain":"chain"}`))
}

func TestAnswersToGates(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	gate := plan.Routing{DefaultNext: plan.TargetConfirmation, OnApprove: plan.TargetNext}
	fails := plan.Routing{ErrorNext: plan.TargetConfirmation, OnApprove: plan.TargetNext}
	for _, tt := range []struct {
		name    string
		routing plan.Routing // of s1
		says    string       // what s1 hands on
		goesOn  bool         // without an answer, says on_expiry
		answer  *Answer
		want    string
		end     agent.EndReason
	}{
		{"approved", gate, `{}`, false, &Answer{Approved: &yes}, "s1 s2", agent.EndCompleted},
		{"denied", gate, `{}`, false, &Answer{Approved: &no}, "s1", agent.EndDenied},
		{"approved, though nobody need", gate, `{}`, true, &Answer{Approved: &yes}, "s1 s2", agent.EndCompleted},
		{"expired", gate, `{}`, false, nil, "s1", agent.EndInterruptExpired},
		{"expired, and others go on", gate, `{}`, true, nil, "s1", agent.EndInterruptExpired},
		{"the stage names another question", gate, `{"interrupt":"clarification"}`, false, &Answer{Approved: &no}, "s1", agent.EndDenied},
		{"of a stage that has failed", fails, `{"outcome":"error"}`, false, &Answer{Approved: &yes}, "s1 s1#2 s2", agent.EndCompleted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := &fake{plan: planOf([]string{"default"}, []string{"default"}), output: outputs(t, map[string]string{"s1": tt.says})}
			f.plan.Stages[0].Routing, f.plan.Interrupts.Confirmation.Continue = tt.routing, tt.goesOn
			env := newEnv(t, f)
			if tt.answer != nil {
				env.RegisterDelayedCallback(func() { answer(t, env, *tt.answer, "") }, time.Minute)
			}
			got := investigated(t, env)
			if diff := cmp.Diff([]string{tt.want, string(tt.end)}, []string{f.ran(), string(got.EndReason)}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
