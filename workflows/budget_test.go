package workflows

import (
	"encoding/json"
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

// bounded is a model that may be called n times.
func bounded(n int) func(activities.GenerateIn) (activities.GenerateOut, error) {
	return func(in activities.GenerateIn) (activities.GenerateOut, error) {
		if n--; n < 0 {
			return activities.GenerateOut{Exceeded: agent.EndMaxLLMCalls}, nil
		}
		return say("done"), nil
	}
}

// TestBoundOfModelCalls: a reached bound ends the investigation with its findings. No further stage and no
// synthesis run, and it does not count as a failure.
func TestBoundOfModelCalls(t *testing.T) {
	t.Parallel()
	f := &fake{model: bounded(2), plan: planOf([]string{"default"}, []string{"default", "default", "synthesis"}, []string{"default"})}
	got := investigated(t, newEnv(t, f))
	if got.Status != agent.StatusCompleted || got.EndReason != agent.EndMaxLLMCalls || f.ran() != "s1 s2" {
		t.Errorf("ran %s: %+v", f.ran(), got)
	}
	if len(f.generated) != 3 {
		t.Errorf("the model was asked %d times", len(f.generated))
	}
	second := got.Stages[1]
	reasons := []agent.StopReason{second.Agents[0].StopReason, second.Agents[1].StopReason}
	if len(second.Agents) != 2 || !strings.Contains(f.finished[0].Results[1].Execution, agentThat(second, agent.StopEndTurn)) {
		t.Errorf("the stage ended with %v, its result is %s", reasons, f.finished[0].Results[1].Execution)
	}
	if got.Stages[2].Status != agent.StatusSkipped {
		t.Errorf("the last stage is %s", got.Stages[2].Status)
	}
}

func agentThat(s StageStatus, stopped agent.StopReason) string {
	for _, a := range s.Agents {
		if a.StopReason == stopped {
			return a.Name
		}
	}
	return "nobody"
}

// TestExtendBudget: a person raises the bounds, including the time, during the run.
func TestExtendBudget(t *testing.T) {
	t.Parallel()
	f := &fake{plan: planOf([]string{"default"}, []string{"default"})}
	f.plan.Bounds = plan.Bounds{MaxTokens: 100, MaxDuration: plan.Duration(time.Hour)}
	f.plan.Timeout = f.plan.Bounds.MaxDuration
	f.plan.Stages[0].Routing.DefaultNext = plan.TargetClarification // it waits, and its clock stands still
	f.plan.Interrupts.Clarification = plan.Interrupt{Resume: "s2", Expires: plan.Duration(24 * time.Hour)}
	env := newEnv(t, f)
	var said []string
	refused := func(err error) { said = append(said, err.Error()) }
	extend := func(e string) {
		env.UpdateWorkflow(UpdateExtendBudget, e, &testsuite.TestUpdateCallback{OnAccept: func() {}, OnReject: refused,
			OnComplete: func(out any, err error) {
				body, _ := json.Marshal(out)
				said = append(said, string(body))
				if err != nil {
					t.Error(err)
				}
			}}, json.RawMessage(e))
	}
	env.RegisterDelayedCallback(func() {
		extend(`{"tokens":-1}`)
		extend(`{"by":"Ada"}`)
		extend(`{"llm_calls":5}`)
		extend(`{"tokens":50,"duration":"30m","by":"Ada"}`)
	}, time.Minute)
	env.RegisterDelayedCallback(func() {
		answer(t, env, Answer{Text: "go on"}, "")
	}, 2*time.Minute)
	got := investigated(t, env)
	want := []string{
		"limits can be raised, not lowered",
		`nothing to raise: give "llm_calls", "tokens", "cost_usd" or "duration"`,
		"the chain has no limit on model calls",
		`{"tokens":150}`,
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(f.extended) != 1 || f.extended[0].By != (plan.Extension{Tokens: 50}) || got.EndReason != agent.EndCompleted {
		t.Errorf("extended by %+v; %+v", f.extended, got)
	}
}

// TestBudgetOfTime: an expired time budget ends running work cleanly, and can be extended during the run.
func TestBudgetOfTime(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		extend bool
		end    agent.EndReason
	}{"as configured": {false, agent.EndBudget}, "extended": {true, agent.EndCompleted}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{plan: planOf([]string{"default"})}
			f.plan.Bounds.MaxDuration = plan.Duration(time.Hour)
			f.plan.Timeout = f.plan.Bounds.MaxDuration
			env := newEnv(t, f)
			env.OnActivity("Generate", mock.Anything, mock.Anything).After(90*time.Minute).Return(say("late"), nil)
			if tt.extend {
				env.RegisterDelayedCallback(func() {
					env.UpdateWorkflow(UpdateExtendBudget, "u", &testsuite.TestUpdateCallback{OnAccept: func() {},
						OnReject: func(err error) { t.Error(err) }, OnComplete: func(any, error) {}}, json.RawMessage(`{"duration":"45m"}`))
				}, 50*time.Minute)
			}
			if got := investigated(t, env); got.Status != agent.StatusCompleted || got.EndReason != tt.end || got.Error != "" {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestEnvelope: the status shows people the investigation's whole state.
func TestEnvelope(t *testing.T) {
	t.Parallel()
	f := &fake{plan: planOf([]string{"default"}, []string{"default"}), output: func(stage string) activities.SaveStageOut {
		return activities.SaveStageOut{Output: activities.Output{Value: json.RawMessage(`{"of":"` + stage + `"}`)},
			Fields: map[string]json.RawMessage{"of": json.RawMessage(`"` + stage + `"`)}}
	}}
	f.plan.Stages[0].OutputKey = "first"
	f.plan.Stages[1].Routing.Rules = []plan.Rule{{Condition: "of", Value: json.RawMessage(`"s2"`), Target: "s2"}}
	env := newEnv(t, f)
	investigated(t, env)
	value, err := env.QueryWorkflow(QueryStatus)
	var status Status
	if err == nil {
		err = value.Get(&status)
	}
	if err != nil {
		t.Fatal(err)
	}
	var runs []string
	for _, run := range status.History {
		runs = append(runs, run.Stage+" "+string(run.Outcome))
		if run.Started.IsZero() || run.Completed.Before(run.Started) || run.LLMCalls != 1 || len(run.Agents) != 1 {
			t.Errorf("%+v", run)
		}
	}
	if diff := cmp.Diff([]string{"s1 success", "s2 success", "s2#2 success"}, runs); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	want := map[string]Output{
		"first": {Stage: "s1", Execution: "s1/A", Value: json.RawMessage(`{"of":"s1"}`)},
		"s2":    {Stage: "s2#2", Execution: "s2#2/A", Value: json.RawMessage(`{"of":"s2#2"}`)},
	}
	if diff := cmp.Diff(want, status.Outputs); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
}
