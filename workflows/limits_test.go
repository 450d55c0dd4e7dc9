package workflows

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/testsuite"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// asking is a plan of stages whose bounds ask people, with a timeout of three days.
func asking(stages ...[]string) plan.Plan {
	p := planOf(stages...)
	p.Bounds = plan.Bounds{MaxLLMCalls: 2, OnLimit: plan.OnBoundAsk, OnLimitTimeout: plan.Duration(72 * time.Hour)}
	return p
}

// roomy is a model with room for n calls, plus all raises of the bound.
func (f *fake) roomy(n int) func(activities.GenerateIn) (activities.GenerateOut, error) {
	made := 0
	return func(in activities.GenerateIn) (activities.GenerateOut, error) {
		room := n
		for _, e := range f.extended {
			room += e.By.LLMCalls
		}
		if made >= room && !in.Reserve {
			return activities.GenerateOut{Exceeded: agent.EndMaxLLMCalls, AskLimit: true}, nil
		}
		made++
		return say("done"), nil
	}
}

// taken sends an update that must be accepted.
func taken(t *testing.T, env *testsuite.TestWorkflowEnvironment, name, id string, in any) {
	t.Helper()
	env.UpdateWorkflow(name, id, &testsuite.TestUpdateCallback{
		OnAccept: func() {}, OnReject: func(err error) { t.Errorf("%s: %v", name, err) }, OnComplete: func(any, error) {},
	}, in)
}

// TestBoundThatAsks: all agents wait for one person at the bound, and continue or end as the person decides.
func TestBoundThatAsks(t *testing.T) {
	t.Parallel()
	more := func(n int) ExtendBudget { return ExtendBudget{Extension: plan.Extension{LLMCalls: n}, By: "Ada"} }
	for name, tt := range map[string]struct {
		after map[time.Duration]any // what a person says
		end   agent.EndReason
		asked string // the questions, and how often the model was
		calls int
		took  time.Duration // at least
	}{
		"extended":     {map[time.Duration]any{48 * time.Hour: more(5)}, agent.EndCompleted, "b1", 4, 48 * time.Hour},
		"by too few":   {map[time.Duration]any{time.Hour: more(1), 30 * time.Hour: more(1)}, agent.EndCompleted, "b1 b2", 4, 30 * time.Hour},
		"concluded":    {map[time.Duration]any{time.Hour: Answer{Decision: "conclude", By: "Ada"}}, agent.EndMaxLLMCalls, "b1", 2, time.Hour},
		"stopped":      {map[time.Duration]any{time.Hour: Answer{ID: "b1", Decision: "stop"}}, agent.EndMaxLLMCalls, "b1", 2, time.Hour},
		"nobody comes": {nil, agent.EndMaxLLMCalls, "b1", 2, 72 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{plan: asking([]string{"default", "default"}, []string{"default", "default"}), level: activities.LevelActs}
			f.model = f.roomy(2)
			f.plan.Timeout = plan.Duration(time.Hour) // which stands still while people are waited for
			env := newEnv(t, f)
			for after, said := range tt.after {
				env.RegisterDelayedCallback(func() {
					if e, extends := said.(ExtendBudget); extends {
						taken(t, env, UpdateExtendBudget, after.String(), e)
						return
					}
					answer(t, env, said.(Answer), "")
				}, after)
			}
			env.RegisterDelayedCallback(func() {
				status := statusOf(t, env)
				if status.Status != agent.StatusWaitingAnswer || len(status.Questions) != 1 ||
					!strings.Contains(status.Questions[0].Question, "max_llm_calls 2") {
					t.Errorf("while it waits: %+v", status)
				}
			}, 30*time.Minute)
			began := env.Now()
			got := investigated(t, env)
			var asked []string
			for _, w := range f.untilNow().waits {
				for _, q := range w.Questions {
					if len(asked) == 0 || asked[len(asked)-1] != q.ID {
						asked = append(asked, q.ID)
					}
				}
			}
			if got.Status != agent.StatusCompleted || got.EndReason != tt.end || strings.Join(asked, " ") != tt.asked {
				t.Errorf("asked %v; %+v", asked, got)
			}
			answered := 0
			for _, in := range f.generated {
				if !in.Reserve {
					answered++
				}
			}
			if usage := got.Usage.ModelCalls; usage < tt.calls || env.Now().Sub(began) < tt.took {
				t.Errorf("%d calls were made, in %s; %d asked for", usage, env.Now().Sub(began), answered)
			}
		})
	}
}

// TestBoundThatAsksSubAgents: sub-agents wait for the same person, and so does their agent.
func TestBoundThatAsksSubAgents(t *testing.T) {
	t.Parallel()
	f := &fake{plan: asking([]string{"default"}), level: activities.LevelActs}
	logs := plan.Agent{Name: "Logs", Type: "default", MaxIterations: 3, Providers: []plan.Provider{{Model: "m"}}}
	f.plan.Stages[0].Agents[0].Orchestrator = &plan.Orchestrator{
		OrchestratorLimits: plan.OrchestratorLimits{MaxConcurrent: 2}, Agents: []plan.Agent{logs},
	}
	room, lead := f.roomy(0), script(dispatch("Logs", "Logs"), say("done"))
	f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
		if in.Ref.Execution == "s1/A" {
			return lead(in)
		}
		return room(in)
	}
	env := newEnv(t, f)
	env.RegisterDelayedCallback(func() {
		status := statusOf(t, env)
		if len(status.Questions) != 1 || len(f.generated) != 3+1 {
			t.Errorf("%d questions, %d calls: %+v", len(status.Questions), len(f.generated), status)
		}
		taken(t, env, UpdateExtendBudget, "u", ExtendBudget{Extension: plan.Extension{LLMCalls: 9}})
	}, 24*time.Hour)
	if got := investigated(t, env); got.EndReason != agent.EndCompleted || len(f.subs) != 2 ||
		f.subs[1].Execution.Status != agent.StatusCompleted {
		t.Errorf("sub-agents %+v; %+v", f.subs, got)
	}
}

// TestTimeThatAsks: when a time bound with a question expires, no agent makes a call until a person has decided.
func TestTimeThatAsks(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		say any
		end agent.EndReason
	}{
		"more":         {ExtendBudget{Duration: plan.Duration(3 * time.Hour)}, agent.EndCompleted},
		"stopped":      {Answer{Decision: "stop"}, agent.EndBudget},
		"nobody comes": {nil, agent.EndBudget},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{plan: asking([]string{"default"}), level: activities.LevelActs}
			f.plan.Bounds.MaxDuration = plan.Duration(time.Hour)
			f.plan.Timeout = f.plan.Bounds.MaxDuration
			f.plan.Stages[0].Agents[0].MaxIterations = 9
			env := newEnv(t, f)
			calls := 0
			env.OnActivity("Generate", mock.Anything, mock.Anything).After(40 * time.Minute).Return(func(context.Context,
				activities.GenerateIn) (activities.GenerateOut, error) {
				if calls++; calls < 4 {
					return ask("a"), nil
				}
				return say("done"), nil
			})
			env.RegisterDelayedCallback(func() {
				if status := statusOf(t, env); calls != 2 || len(status.Questions) != 1 ||
					!strings.Contains(status.Questions[0].Question, "max_duration 1h") {
					t.Errorf("%d calls: %+v", calls, status)
				}
				switch said := tt.say.(type) {
				case ExtendBudget:
					taken(t, env, UpdateExtendBudget, "u", said)
				case Answer:
					answer(t, env, said, "")
				}
			}, 48*time.Hour)
			if got := investigated(t, env); got.Status != agent.StatusCompleted || got.EndReason != tt.end {
				t.Errorf("%d calls: %+v", calls, got)
			}
		})
	}
}

// TestALastWordWhilePeopleAreAskedForTime: the time for a final reply is stopped while people are asked for more time.
func TestALastWordWhilePeopleAreAskedForTime(t *testing.T) {
	t.Parallel()
	calls := 0
	f := &fake{model: func(in activities.GenerateIn) (activities.GenerateOut, error) {
		switch calls++; {
		case in.Reserve:
			return say("what I know"), nil
		case calls == 1:
			return ask("a"), nil
		}
		return activities.GenerateOut{Exceeded: agent.EndMaxLLMCalls, AskLimit: true}, nil
	}}
	env := newEnv(t, f)
	for minute, l := range map[int]Limits{1: {Held: true}, 2: {Held: true, Stand: true}, 20: {Stand: true}} {
		env.RegisterDelayedCallback(func() { env.SignalWorkflow(SignalLimits, l) }, time.Duration(minute)*time.Minute)
	}
	env.ExecuteWorkflow(IteratingAgent, agentInput(agent.Iterating, 3))
	if got := agentEnd(t, env); got.Preview != "what I know" {
		t.Errorf("%+v", got)
	}
}

// TestActsOfPeople: acts of people on an investigation are written to the audit trail at once, if it has one.
func TestActsOfPeople(t *testing.T) {
	t.Parallel()
	for _, audited := range []bool{true, false} {
		f := &fake{plan: planOf([]string{"default"})}
		if audited {
			f.level = activities.LevelActs
		}
		f.plan.Stages[0].Routing.DefaultNext = plan.TargetClarification
		f.plan.Interrupts.Clarification = plan.Interrupt{Expires: plan.Duration(24 * time.Hour)}
		env := newEnv(t, f)
		early := 0
		env.RegisterDelayedCallback(func() {
			env.SignalWorkflow(SignalPause, By{By: "Ada"})
			env.SignalWorkflow(SignalResume, By{By: "Bob"})
		}, time.Minute)
		env.RegisterDelayedCallback(func() {
			early = len(f.untilNow().acts)
			answer(t, env, Answer{Text: "the shop", By: "Eve"}, "")
			env.SignalWorkflow(SignalConclude, Conclude{By: "Ada"})
		}, time.Hour)
		investigated(t, env)
		var got []string
		for _, act := range slices.Concat(f.untilNow().acts, f.finished[0].Acts) {
			got = append(got, strings.TrimSpace(string(act.What)+" "+act.Who+" "+act.Call+" "+act.Key))
		}
		want := []string{"paused Ada  1", "resumed Bob  2", "answered Eve q1 3", "concluded Ada  4"}
		got = slices.Compact(got) // what is being told when the work ends is told once more, with the same key
		if diff := cmp.Diff(want, got); diff != "" || (early == 2) != audited {
			t.Errorf("audited %t, %d told early (-want +got):\n%s", audited, early, diff)
		}
	}
}
