package workflows

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/testsuite"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// TestPauseHeartbeats: an agent that pauses its heartbeats in an investigation sleeps, and continues after its
// pause or when a person wakes it.
func TestPauseHeartbeats(t *testing.T) {
	t.Parallel()
	signal := func(name string, payload any) func(*testsuite.TestWorkflowEnvironment) {
		return func(env *testsuite.TestWorkflowEnvironment) { env.SignalWorkflow(name, payload) }
	}
	tests := map[string]struct {
		minute int // at which
		do     func(*testsuite.TestWorkflowEnvironment)
		want   time.Duration // between the two model calls
		inputs string
	}{
		"sleeps":       {want: 30 * time.Minute, inputs: ",awake"},
		"is woken":     {minute: 5, do: signal(SignalResumeHeartbeats, nil), want: 5 * time.Minute, inputs: ",awake"},
		"is spoken to": {minute: 5, do: signal(SignalGuide, Guide{Text: "x"}), want: 5 * time.Minute, inputs: ",awake"},
		"is paused again": {minute: 5, do: signal(SignalPauseHeartbeats, json.RawMessage(`{"minutes":60}`)),
			want: 65 * time.Minute, inputs: ",awake"},
		"paused for too long": {minute: 5, do: signal(SignalPauseHeartbeats, json.RawMessage(`{"minutes":6000}`)),
			want: 65 * time.Minute, inputs: ",awake"},
		"paused for no number": {minute: 5, do: signal(SignalPauseHeartbeats, json.RawMessage(`{"minutes":"x"}`)), want: 30 * time.Minute,
			inputs: ",notice+awake"},
		"is told to conclude": {minute: 5, do: signal(SignalConclude, nil), want: 5 * time.Minute, inputs: ",awake+conclude"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{ownTools: func(activities.CallOwnToolsIn) (activities.CallOwnToolsOut, error) {
				return activities.CallOwnToolsOut{Pause: 30}, nil
			}}
			env := newEnv(t, f)
			var at []time.Time
			f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
				at = append(at, env.Now())
				if in.Iteration > 1 {
					return say("x"), nil
				}
				out := ask(agent.ToolPauseHeartbeats)
				out.Calls[0].Own = true
				return out, nil
			}
			if tt.do != nil {
				env.RegisterDelayedCallback(func() { tt.do(env) }, time.Duration(tt.minute)*time.Minute)
			}
			in := agentInput(agent.Iterating, 1) // a pause beats the limit
			in.Agent.Heartbeats = true
			env.ExecuteWorkflow(IteratingAgent, in)
			if got := agentEnd(t, env); got.Status != agent.StatusCompleted {
				t.Fatalf("got %+v", got)
			}
			// The iteration is the last one, so the next reply is the conclusion.
			want := strings.Replace(tt.inputs+"+limit", "conclude+limit", "conclude", 1)
			if got := f.inputs(); got != want {
				t.Errorf("inputs %s, want %s", got, want)
			}
			if diff := cmp.Diff(tt.want, at[1].Sub(at[0]).Round(time.Minute)); diff != "" {
				t.Errorf("slept (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHeartbeatSignalsOfATypeWithout(t *testing.T) {
	t.Parallel()
	f := &fake{model: script(ask("a"), say("x"))}
	env := newEnv(t, f)
	f.tool = func(activities.CallToolIn) (activities.CallToolOut, error) {
		env.SignalWorkflow(SignalPauseHeartbeats, json.RawMessage(`{"minutes":60}`))
		return activities.CallToolOut{}, nil
	}
	began := env.Now()
	env.ExecuteWorkflow(IteratingAgent, agentInput(agent.Iterating, 3))
	if got := agentEnd(t, env); got.Status != agent.StatusCompleted || env.Now().Sub(began) > time.Minute || len(got.Undelivered) != 1 {
		t.Errorf("after %s: %+v", env.Now().Sub(began), got)
	}
}

// TestSleepIsNobodysTime: during a pause of heartbeats, the clocks of the agent, the stage and the
// investigation are stopped, even if the pause is longer than all of them.
func TestSleepIsNobodysTime(t *testing.T) {
	t.Parallel()
	f := &fake{plan: planOf([]string{"default"}), ownTools: func(activities.CallOwnToolsIn) (activities.CallOwnToolsOut, error) {
		return activities.CallOwnToolsOut{Pause: 60}, nil
	}}
	f.plan.Timeout = plan.Duration(30 * time.Minute)
	f.plan.Stages[0].Timeout = plan.Duration(20 * time.Minute)
	f.plan.Stages[0].Agents[0].Timeouts.Agent = plan.Duration(10 * time.Minute)
	asleep := ask(agent.ToolPauseHeartbeats)
	asleep.Calls[0].Own = true
	f.model = script(asleep, say("x"))
	env := newEnv(t, f)
	start := env.Now()
	got := investigated(t, env)
	whole := got.Status == agent.StatusCompleted && len(f.generated) == 2 && !f.generated[1].Conclude
	if took := env.Now().Sub(start); took < time.Hour || !whole {
		t.Errorf("after %s: %+v; the model was asked %+v", took, got, f.generated)
	}
}
