package workflows

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
)

func investigate(t *testing.T, env *testsuite.TestWorkflowEnvironment) (result InvestigationResult) {
	t.Helper()
	env.ExecuteWorkflow(TypeInvestigation, json.RawMessage(`{"chain":"chain"}`))
	endOf(t, env, &result)
	return result
}

func statuses(result InvestigationResult) string {
	var out []string
	for _, s := range result.Stages {
		out = append(out, string(s.Status))
	}
	return strings.Join(out, ",")
}

func TestInvestigation(t *testing.T) {
	t.Parallel()
	f := &fake{plan: planOf([]string{"default", "default", "synthesis"}, []string{"default"})}
	got := investigate(t, newEnv(t, f))
	if got.Status != agent.StatusCompleted || got.EndReason != agent.EndCompleted || statuses(got) != "completed,completed" {
		t.Errorf("got %+v", got)
	}
	if got.Usage.ModelCalls != 4 {
		t.Errorf("%d model calls, want 4", got.Usage.ModelCalls)
	}
	last := f.generated[len(f.generated)-1]
	if diff := cmp.Diff([]activities.Source{{Stage: "s1", Execution: "s1/Syn"}}, last.Prior); diff != "" {
		t.Errorf("the second stage's context (-want +got):\n%s", diff)
	}
}

func TestBadRequestIsOneClearFailure(t *testing.T) {
	t.Parallel()
	f := &fake{}
	env := newEnv(t, f)
	env.OnActivity(f.Resolve, mock.Anything, mock.Anything).Return(activities.ResolveOut{},
		temporal.NewNonRetryableApplicationError(`no chain named "x"`, activities.ErrorInvalidRequest, nil))
	env.ExecuteWorkflow(TypeInvestigation, json.RawMessage(`{"chain":"x"}`))
	failed, ok := errors.AsType[*temporal.ApplicationError](env.GetWorkflowError())
	if !ok || failed.Type() != activities.ErrorInvalidRequest || failed.Message() != `no chain named "x"` || !failed.NonRetryable() {
		t.Errorf("ended with %v", env.GetWorkflowError())
	}
}

func TestFailedStageEndsWithWhatIsKnown(t *testing.T) {
	t.Parallel()
	f := &fake{plan: planOf([]string{"default"}, []string{"default"}, []string{"default"})}
	f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
		if in.Ref.Execution == "s2/A" {
			return activities.GenerateOut{}, temporal.NewNonRetryableApplicationError("refused", "CredentialsRefused", nil)
		}
		return say("x"), nil
	}
	got := investigate(t, newEnv(t, f))
	if got.Status != agent.StatusFailed || got.EndReason != agent.EndLLMFailed || statuses(got) != "completed,failed,skipped" {
		t.Errorf("got %+v", got)
	}
	if diff := cmp.Diff([]activities.Source{{Stage: "s1", Execution: "s1/A"}}, f.finished[0].Results); diff != "" {
		t.Errorf("results that are kept (-want +got):\n%s", diff)
	}
}

func TestEndsThatKeepWhatWasDone(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		limit  time.Duration
		cancel bool
		status agent.Status
		reason agent.EndReason
	}{
		{"cancelled", 0, true, agent.StatusCancelled, agent.EndCancelled},
		{"timed out", time.Minute, false, agent.StatusTimedOut, agent.EndTimedOut},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := &fake{plan: planOf([]string{"default"}, []string{"default"})}
			f.plan.Timeout = agent.Duration(tt.limit)
			f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
				if in.Ref.Execution == "s2/A" {
					return ask("slow"), nil
				}
				return say("x"), nil
			}
			env := newEnv(t, f)
			env.OnActivity(f.CallTool, mock.Anything, mock.Anything).After(time.Hour).Return(activities.CallToolOut{}, nil)
			if tt.cancel {
				env.RegisterDelayedCallback(env.CancelWorkflow, time.Minute)
			}
			got := investigate(t, env)
			if got.Status != tt.status || got.EndReason != tt.reason || len(f.finished[0].Results) != 1 {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestConcludeSkipsWhatIsLeft(t *testing.T) {
	t.Parallel()
	f := &fake{plan: planOf([]string{"default"}, []string{"default"})}
	env := newEnv(t, f)
	f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
		if in.Conclude {
			return say("what I know"), nil
		}
		env.SignalWorkflow(SignalConclude, nil)
		return ask("a"), nil
	}
	got := investigate(t, env)
	if got.Status != agent.StatusCompleted || statuses(got) != "completed,skipped" {
		t.Errorf("got %+v", got)
	}
}

func TestPauseHoldsTheNextStage(t *testing.T) {
	t.Parallel()
	f := &fake{plan: planOf([]string{"default"}, []string{"default"})}
	env := newEnv(t, f)
	f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
		if in.Ref.Execution == "s1/A" {
			env.SignalWorkflow(SignalPause, nil)
		}
		return say("x"), nil
	}
	env.RegisterDelayedCallback(func() {
		value, err := env.QueryWorkflow(QueryStatus)
		var status Status
		if err != nil || value.Get(&status) != nil || status.Status != agent.StatusPaused {
			t.Errorf("status %+v, %v", status, err)
		}
		env.SignalWorkflow(SignalResume, nil)
	}, time.Hour)
	if got := investigate(t, env); statuses(got) != "completed,completed" {
		t.Errorf("got %+v", got)
	}
}

func TestGuidanceReachesTheAgentOfALaterStage(t *testing.T) {
	t.Parallel()
	f := &fake{plan: planOf([]string{"default"}, []string{"default", "default"})}
	f.plan.Stages[0].Agents[0].Name = "First"
	env := newEnv(t, f)
	f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
		if in.Ref.Execution == "s1/First" {
			env.SignalWorkflow(SignalGuide, Guide{Text: "for B", Agent: "B"})
			env.SignalWorkflow(SignalGuide, Guide{Text: "for nobody", Agent: "Z"})
			env.SignalWorkflow(SignalGuide, Guide{})
		}
		return say("x"), nil
	}
	investigate(t, env)
	for _, in := range f.generated {
		if guided := len(in.Inputs) > 0; guided != (in.Ref.Execution == "s2/B") {
			t.Errorf("%s was given %v", in.Ref.Execution, in.Inputs)
		}
	}
	value, err := env.QueryWorkflow(QueryStatus)
	var status Status
	if err != nil || value.Get(&status) != nil {
		t.Fatal(err)
	}
	want := []string{`guide: no agent "Z" runs now or later`, `guide: no text: give {"text": "…"}`}
	if diff := cmp.Diff(want, status.Undelivered); diff != "" {
		t.Errorf("undelivered (-want +got):\n%s", diff)
	}
}

func TestInvestigationContinuesAsNew(t *testing.T) {
	t.Parallel()
	f := &fake{plan: planOf([]string{"default"}, []string{"default"})}
	env := newEnv(t, f)
	f.model = func(activities.GenerateIn) (activities.GenerateOut, error) {
		env.SetContinueAsNewSuggested(true)
		return say("x"), nil
	}
	env.ExecuteWorkflow(TypeInvestigation, json.RawMessage(`{"chain":"chain"}`))
	next, ok := errors.AsType[*workflow.ContinueAsNewError](env.GetWorkflowError())
	if !ok {
		t.Fatalf("ended with %v", env.GetWorkflowError())
	}
	var raw json.RawMessage = next.Input.GetPayloads()[0].GetData()
	second := &fake{}
	env = newEnv(t, second)
	env.SetContinuedExecutionRunID("run-before")
	env.ExecuteWorkflow(TypeInvestigation, raw)
	var got InvestigationResult
	endOf(t, env, &got)
	if statuses(got) != "completed,completed" || got.Usage.ModelCalls != 2 || len(second.generated) != 1 {
		t.Errorf("second run: %+v", got)
	}
}

func TestParseSignal(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, signal, raw string
		want              signal
	}{
		{"guide", SignalGuide, `{"text":"t","agent":"A","by":"b"}`, signal{Name: SignalGuide, Guide: Guide{"t", "A", "b"}, Agent: "A", By: "b"}},
		{"guide as text", SignalGuide, `"t"`, signal{Name: SignalGuide, Guide: Guide{Text: "t"}}},
		{"guide that cannot be read", SignalGuide, `[1]`, signal{Name: SignalGuide}},
		{"conclude without payload", SignalConclude, ``, signal{Name: SignalConclude}},
		{"conclude one", SignalConclude, `{"agent":"A"}`, signal{Name: SignalConclude, Agent: "A"}},
		{"pause with a payload", SignalPause, `{"x":1}`, signal{Name: SignalPause}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, parseSignal(tt.signal, json.RawMessage(tt.raw))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
