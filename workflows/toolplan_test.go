package workflows

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
)

// steps returns the calls of a plan. Names in capitals need approval.
func steps(names ...string) (calls []activities.Call) {
	for n, name := range names {
		call := activities.Call{Name: name}
		if strings.ToUpper(name) == name {
			call.Approve = &activities.Approve{ID: fmt.Sprintf("c1_%d", n)}
		}
		calls = append(calls, call)
	}
	return calls
}

func TestToolPlan(t *testing.T) {
	t.Parallel()
	type environment = *testsuite.TestWorkflowEnvironment
	conclude := func(_ *testing.T, env environment) { env.SignalWorkflow(SignalConclude, nil) }
	cancel := func(_ *testing.T, env environment) { env.CancelWorkflow() }
	approve := func(t *testing.T, env environment) { decide(t, env, Decide{CallID: "c1_1", Approved: new(true)}) }
	deny := func(t *testing.T, env environment) {
		decide(t, env, Decide{CallID: "c1_1", Approved: new(false)})
		env.RegisterDelayedCallback(env.CancelWorkflow, time.Minute)
	}
	tests := []struct {
		name   string
		steps  []activities.Call
		fail   int                           // the call whose activity comes to nothing; 0 = none
		during func(*testing.T, environment) // the first call
		later  func(*testing.T, environment) // after a minute
		calls  string
		inputs string
		want   agent.Status
	}{
		{name: "no plan", want: agent.StatusCompleted},
		{name: "in order", steps: steps("a", "b", "c"), calls: "0 1 2", want: agent.StatusCompleted},
		{name: "past failures", steps: steps("a", "b", "c"), fail: 1, calls: "0 1 2", inputs: "1:Store", want: agent.StatusCompleted},
		{name: "nobody approves", steps: steps("a", "B", "c"), calls: "0 2", inputs: "1:PermissionDenied", want: agent.StatusCompleted},
		{name: "a person approves", steps: steps("a", "B", "c"), later: approve, calls: "0 1 2", want: agent.StatusCompleted},
		{name: "told to conclude", steps: steps("a", "b", "c"), during: conclude, calls: "0", inputs: "1:NotRun 2:NotRun",
			want: agent.StatusCompleted},
		{name: "cancelled", steps: steps("a", "b"), during: cancel, calls: "0", want: agent.StatusCancelled},
		{name: "denied, then cancelled", steps: steps("a", "B", "C"), later: deny, calls: "0",
			inputs: "1:PermissionDenied 2:PermissionDenied", want: agent.StatusCancelled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := &fake{planned: tt.steps}
			env := newEnv(t, f)
			f.tool = func(in activities.CallToolIn) (activities.CallToolOut, error) {
				if in.Call == 0 && tt.during != nil {
					tt.during(t, env)
				}
				if in.Call > 0 && in.Call == tt.fail {
					return activities.CallToolOut{}, temporal.NewNonRetryableApplicationError("disk full", "Store", nil)
				}
				return activities.CallToolOut{}, nil
			}
			if tt.later != nil {
				env.RegisterDelayedCallback(func() { tt.later(t, env) }, time.Minute)
			}
			in := agentInput(agent.ToolPlan, 1)
			in.Agent.Models = nil
			env.ExecuteWorkflow(ToolPlanAgent, in)
			got := agentEnd(t, env)
			want := []string{string(tt.want), tt.calls, tt.inputs}
			if diff := cmp.Diff(want, []string{string(got.Status), f.calls(), f.undone()}); diff != "" {
				t.Errorf("(-want +got):\n%s\n%s", diff, got.Error)
			}
			if joined := len(f.joined) == 1; joined != (tt.want == agent.StatusCompleted) || len(f.generated) > 0 {
				t.Errorf("joined: %t, %d model calls", joined, len(f.generated))
			}
		})
	}
}

// calls lists the calls made, in order.
func (f *fake) calls() string {
	var all []string
	for _, c := range f.called {
		all = append(all, fmt.Sprint(c.Call))
	}
	return strings.Join(all, " ")
}

// undone lists the results of a plan's calls that the workflow decided.
func (f *fake) undone() string {
	inputs := f.decided
	for _, join := range f.joined {
		inputs = append(inputs, join.Inputs...)
	}
	var all []string
	for _, i := range inputs {
		all = append(all, fmt.Sprintf("%d:%s", i.Call, i.ErrorType))
	}
	return strings.Join(all, " ")
}

// TestQuickCallsOfAPlan: all quick calls of a plan run within the workflow task, including the first one.
func TestQuickCallsOfAPlan(t *testing.T) {
	t.Parallel()
	quick := activities.Call{Name: "lab.read", Quick: true}
	f := &fake{planned: []activities.Call{quick, quick}}
	env := newEnv(t, f)
	env.ExecuteWorkflow(ToolPlanAgent, agentInput(agent.ToolPlan, 1))
	if err := env.GetWorkflowError(); err != nil || len(f.quickly) != 2 || slices.Contains(f.quickly, false) {
		t.Errorf("within the workflow task: %v, %v", f.quickly, err)
	}
}
