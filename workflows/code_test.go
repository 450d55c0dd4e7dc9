package workflows

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

func (f *fake) RunHook(_ context.Context, in activities.RunHookIn) (activities.RunHookOut, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hooked = append(f.hooked, in)
	if f.hook == nil {
		return activities.RunHookOut{}, nil
	}
	return f.hook(in)
}

func (f *fake) RunMock(_ context.Context, in activities.RunMockIn) (activities.GenerateOut, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mocked = append(f.mocked, in)
	return activities.GenerateOut{Preview: "mocked"}, nil
}

func (f *fake) Serve(context.Context, activities.ServeIn) (activities.GenerateOut, error) {
	f.served++
	return activities.GenerateOut{Preview: "{}"}, nil
}

func (f *fake) PlanCalls(context.Context, activities.PlanCallsIn) (activities.GenerateOut, error) {
	return activities.GenerateOut{Calls: f.planned, Empty: len(f.planned) == 0}, nil
}

func (f *fake) PlanResult(_ context.Context, in activities.PlanResultIn) (activities.GenerateOut, error) {
	f.joined = append(f.joined, in)
	return activities.GenerateOut{Preview: "{}"}, nil
}

const (
	before = "s/pre_process:enrich"
	after  = "s/post_process:check"
)

func TestHooks(t *testing.T) {
	t.Parallel()
	failing := func(point string) func(activities.RunHookIn) (activities.RunHookOut, error) {
		return func(in activities.RunHookIn) (activities.RunHookOut, error) {
			if in.Point == point {
				return activities.RunHookOut{}, temporal.NewNonRetryableApplicationError("enrich: no", activities.ErrorHook, nil)
			}
			return activities.RunHookOut{}, nil
		}
	}
	changing := func(activities.RunHookIn) (activities.RunHookOut, error) {
		return activities.RunHookOut{Changed: true}, nil
	}
	type end struct {
		Status    agent.Status
		Result    string
		ErrorType string
		Error     string
		Hooks     string
		Models    int // calls
	}
	tests := []struct {
		name   string
		agents string
		hook   func(activities.RunHookIn) (activities.RunHookOut, error)
		model  activities.GenerateOut
		want   end
	}{
		{"they change nothing", "A", nil, say("x"), end{agent.StatusCompleted, "s/A", "", "", "pre_process post_process", 1}},
		{"they change it", "A", changing, say("x"), end{agent.StatusCompleted, after, "", "", "pre_process post_process", 1}},
		{"of what is joined", "AB", changing, say("x"), end{agent.StatusCompleted, after, "", "", "pre_process post_process", 3}},
		{"the first fails", "A", failing(activities.PreProcess), say("x"),
			end{agent.StatusFailed, "", activities.ErrorHook, "pre_process enrich: enrich: no", "pre_process", 0}},
		{"the second fails", "A", failing(activities.PostProcess), say("x"),
			end{agent.StatusFailed, "s/A", activities.ErrorHook, "post_process check: enrich: no", "pre_process post_process", 1}},
		{"the agent fails", "A", changing, empty,
			end{agent.StatusFailed, "", activities.ErrorEmptyReply, "A failed: the model's reply was empty 3 times", "pre_process", 3}},
		{"a bound is reached", "A", changing, activities.GenerateOut{Exceeded: agent.EndBudget},
			end{agent.StatusCompleted, "s/A", "", "", "pre_process", 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := &fake{hook: tt.hook, model: script(tt.model)}
			env := newEnv(t, f)
			in := stageInput(tt.agents, plan.SuccessAny, len(tt.agents) > 1)
			in.Stage.Hooks = plan.Hooks{PreProcess: "enrich", PostProcess: "check"}
			in.Prior = []activities.Source{{Stage: "r", Execution: "r/R"}}
			env.ExecuteWorkflow(Stage, in)
			var got StageResult
			endOf(t, env, &got)
			var points []string
			for _, h := range f.hooked {
				points = append(points, h.Point)
			}
			is := end{got.Status, got.Result, got.ErrorType, got.Error, strings.Join(points, " "), len(f.generated)}
			if diff := cmp.Diff(tt.want, is); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(f.saved) != 1 || f.saved[0].Stage.Result != tt.want.Result || f.saved[0].Stage.Status != tt.want.Status {
				t.Errorf("recorded %+v", f.saved)
			}
		})
	}
}

// TestHooksAreHandedOn checks the inputs of hooks, and what their stage's agents receive from them.
func TestHooksAreHandedOn(t *testing.T) {
	t.Parallel()
	f := &fake{hook: func(activities.RunHookIn) (activities.RunHookOut, error) {
		return activities.RunHookOut{Changed: true}, nil
	}}
	env := newEnv(t, f)
	in := stageInput("AB", plan.SuccessAny, true)
	in.Stage.Hooks = plan.Hooks{PreProcess: "enrich", PostProcess: "check"}
	in.Notes = []activities.Note{{Question: "Which?", Answer: "this", By: "Ada"}}
	env.ExecuteWorkflow(Stage, in)
	ref := func(execution string) activities.Ref {
		return activities.Ref{Investigation: "inv", Execution: execution, Plan: "plan", Agent: plan.SynthesisIndex}
	}
	prior := []activities.Source{{Stage: "s", Execution: before}}
	want := []activities.RunHookIn{
		{Ref: ref(before), Point: activities.PreProcess, Notes: in.Notes},
		{Ref: ref(after), Point: activities.PostProcess, Prior: prior, Notes: in.Notes, Result: "s/Syn"},
	}
	if diff := cmp.Diff(want, f.hooked); diff != "" {
		t.Errorf("hooks (-want +got):\n%s", diff)
	}
	for _, g := range f.generated {
		if diff := cmp.Diff(prior, g.Prior); diff != "" {
			t.Errorf("%s (-want +got):\n%s", g.Ref.Execution, diff)
		}
	}
}

// TestHooksAreHeld: a hook is cancelled with its stage, and waits while the stage is paused.
func TestHooksAreHeld(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		timeout time.Duration
		signal  string // in the second minute
		want    agent.Status
	}{
		{"it takes too long", time.Minute, "", agent.StatusTimedOut},
		{"it is cancelled", 0, "cancel", agent.StatusCancelled},
		{"paused, then resumed", time.Minute, SignalResume, agent.StatusCompleted},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := &fake{}
			env := newEnv(t, f)
			in := stageInput("A", plan.SuccessAny, false)
			in.Stage.Hooks, in.Stage.Timeout = plan.Hooks{PreProcess: "enrich"}, plan.Duration(tt.timeout)
			in.Steering.Paused = tt.signal == SignalResume
			if !in.Steering.Paused {
				env.OnActivity(f.RunHook, mock.Anything, mock.Anything).After(time.Hour).Return(activities.RunHookOut{}, nil)
			}
			env.RegisterDelayedCallback(func() {
				switch tt.signal {
				case "cancel":
					env.CancelWorkflow()
				case SignalResume:
					if len(f.hooked) > 0 {
						t.Error("the hook ran although the stage was paused")
					}
					env.SignalWorkflow(SignalResume, nil)
				}
			}, 2*time.Minute)
			env.ExecuteWorkflow(Stage, in)
			var got StageResult
			endOf(t, env, &got)
			if got.Status != tt.want || len(f.generated) > 0 != (tt.want == agent.StatusCompleted) {
				t.Errorf("status %s after %d model calls: %s", got.Status, len(f.generated), got.Error)
			}
		})
	}
}

// TestAPostProcessFailsAfterTheStageTimeout: the stage's timeout stops an agent and does not explain the failed post_process.
func TestAPostProcessFailsAfterTheStageTimeout(t *testing.T) {
	t.Parallel()
	f := &fake{hook: func(activities.RunHookIn) (activities.RunHookOut, error) {
		return activities.RunHookOut{}, temporal.NewNonRetryableApplicationError("check: no", activities.ErrorHook, nil)
	}}
	env := newEnv(t, f)
	slow := mock.MatchedBy(func(in activities.GenerateIn) bool { return in.Ref.Execution == "s/A" })
	env.OnActivity(f.Generate, mock.Anything, slow).After(time.Hour).Return(say("late"), nil)
	env.OnActivity(f.Generate, mock.Anything, mock.Anything).Return(say("x"), nil)
	in := stageInput("AB", plan.SuccessAny, false)
	in.Stage.Hooks, in.Stage.Timeout = plan.Hooks{PostProcess: "check"}, plan.Duration(time.Minute)
	env.ExecuteWorkflow(Stage, in)
	var got StageResult
	endOf(t, env, &got)
	if got.Status != agent.StatusFailed || got.ErrorType != activities.ErrorHook || got.Error != "post_process check: check: no" {
		t.Errorf("%s, %s: %s", got.Status, got.ErrorType, got.Error)
	}
	if len(got.Agents) != 2 || got.Agents[0].Status != agent.StatusTimedOut {
		t.Errorf("agents: %+v", got.Agents)
	}
}

func TestAFailedHookGoesWhereErrorsGo(t *testing.T) {
	t.Parallel()
	f := &fake{plan: planOf([]string{"default"}, []string{"default"}, []string{"service"}),
		hook: func(activities.RunHookIn) (activities.RunHookOut, error) {
			return activities.RunHookOut{}, temporal.NewNonRetryableApplicationError("no", activities.ErrorHook, nil)
		}}
	f.plan.Stages[0].PreProcess, f.plan.Stages[0].Routing.ErrorNext = "enrich", "s3"
	env := newEnv(t, f)
	got := investigated(t, env)
	if f.ran() != "s1 s3" || got.Status != agent.StatusCompleted || f.served != 1 || len(f.generated) > 0 {
		t.Errorf("ran %s, %s (%s), served %d, %d model calls", f.ran(), got.Status, got.Error, f.served, len(f.generated))
	}
	if errs := statusOf(t, env).Errors; len(errs) != 1 || errs[0].ErrorType != activities.ErrorHook ||
		errs[0].Error != "pre_process enrich: no" {
		t.Errorf("errors: %+v", errs)
	}
}

func TestMocksWorkInPlaceOfEveryPattern(t *testing.T) {
	t.Parallel()
	for pattern, run := range patterns() {
		t.Run(string(pattern), func(t *testing.T) {
			t.Parallel()
			f := &fake{planned: []activities.Call{{Name: "a"}}}
			env := newEnv(t, f)
			in := agentInput(pattern, 3)
			in.Agent.Mock = true
			in.Prior = []activities.Source{{Stage: "r", Execution: "r/R"}}
			in.Notes = []activities.Note{{Question: "Which?", Answer: "this"}}
			env.ExecuteWorkflow(run, in)
			got := agentEnd(t, env)
			if got.Status != agent.StatusCompleted || got.Preview != "mocked" || got.StopReason != agent.StopEndTurn {
				t.Errorf("got %+v", got)
			}
			if len(f.generated)+len(f.called)+len(f.joined)+f.served > 0 || len(f.mocked) != 1 || len(f.mocked[0].Prior) != 1 ||
				len(f.mocked[0].Notes) != 1 {
				t.Errorf("the agent worked itself, or its mock was told too little: %+v", f.mocked)
			}
		})
	}
}
