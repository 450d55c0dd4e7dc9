package workflows

import (
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

// stageInput is a stage with one agent for each letter.
func stageInput(names string, policy plan.SuccessPolicy, synthesis bool) StageInput {
	in := StageInput{Investigation: "inv", Plan: "plan", Stage: plan.StageSkeleton{Name: "s", SuccessPolicy: policy}}
	for _, name := range names {
		in.Stage.Agents = append(in.Stage.Agents, plan.AgentSkeleton{
			Name: string(name), Pattern: agent.Iterating, Models: []string{"m"}, MaxIterations: 3,
		})
	}
	if synthesis {
		in.Stage.Synthesis = &plan.AgentSkeleton{Name: "Syn", Pattern: agent.SingleShot, Models: []string{"m"}, MaxIterations: 1}
	}
	return in
}

func TestStagePolicy(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		agents    string
		fail      string // agents whose model refuses
		policy    plan.SuccessPolicy
		synthesis bool
		status    agent.Status
		result    string
	}{
		{"one agent", "A", "", plan.SuccessAny, false, agent.StatusCompleted, "s/A"},
		{"one agent fails", "A", "A", plan.SuccessAny, false, agent.StatusFailed, ""},
		{"any of two", "AB", "A", plan.SuccessAny, true, agent.StatusCompleted, "s/Syn"},
		{"all of two", "AB", "A", plan.SuccessAll, true, agent.StatusFailed, "s/B"},
		{"all succeed", "AB", "", plan.SuccessAll, true, agent.StatusCompleted, "s/Syn"},
		{"none succeeds", "AB", "AB", plan.SuccessAny, true, agent.StatusFailed, ""},
		{"synthesis fails", "AB", "Syn", plan.SuccessAny, true, agent.StatusFailed, "s/A"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := &fake{model: func(in activities.GenerateIn) (activities.GenerateOut, error) {
				if name := strings.TrimPrefix(in.Ref.Execution, "s/"); strings.Contains(tt.fail, name) {
					return activities.GenerateOut{}, temporal.NewNonRetryableApplicationError("refused", "CredentialsRefused", nil)
				}
				return say("x"), nil
			}}
			env := newEnv(t, f)
			env.ExecuteWorkflow(Stage, stageInput(tt.agents, tt.policy, tt.synthesis))
			var got StageResult
			endOf(t, env, &got)
			if got.Status != tt.status || got.Result != tt.result {
				t.Errorf("status %s, result %q; want %s, %q (%s)", got.Status, got.Result, tt.status, tt.result, got.Error)
			}
			if len(f.saved) != 1 || f.saved[0].Stage.Status != tt.status {
				t.Errorf("recorded %+v", f.saved)
			}
		})
	}
}

func TestSynthesisSeesEveryAgent(t *testing.T) {
	t.Parallel()
	f := &fake{model: func(in activities.GenerateIn) (activities.GenerateOut, error) {
		if in.Ref.Execution == "s/A" {
			return activities.GenerateOut{}, temporal.NewNonRetryableApplicationError("refused", "CredentialsRefused", nil)
		}
		return say("x"), nil
	}}
	env := newEnv(t, f)
	env.ExecuteWorkflow(Stage, stageInput("AB", plan.SuccessAny, true))
	want := []activities.Peer{
		{Execution: "s/A", Agent: "A", Status: agent.StatusFailed, Error: "refused"},
		{Execution: "s/B", Agent: "B", Status: agent.StatusCompleted},
	}
	if diff := cmp.Diff(want, f.generated[len(f.generated)-1].Peers); diff != "" {
		t.Errorf("peers (-want +got):\n%s", diff)
	}
}

func TestStageTimeoutKeepsTheAgentsThatFinished(t *testing.T) {
	t.Parallel()
	f := &fake{model: func(in activities.GenerateIn) (activities.GenerateOut, error) {
		if in.Ref.Execution == "s/A" {
			return ask("slow"), nil
		}
		return say("x"), nil
	}}
	env := newEnv(t, f)
	env.OnActivity(f.CallTool, mock.Anything, mock.Anything).After(time.Hour).Return(activities.CallToolOut{}, nil)
	in := stageInput("AB", plan.SuccessAny, false)
	in.Stage.Timeout = plan.Duration(time.Minute)
	env.ExecuteWorkflow(Stage, in)
	var got StageResult
	endOf(t, env, &got)
	if got.Status != agent.StatusCompleted || got.Result != "s/B" || got.Agents[0].Status != agent.StatusTimedOut {
		t.Errorf("got %+v", got)
	}
}

func TestUniformEndIsKept(t *testing.T) {
	t.Parallel()
	f := &fake{model: script(ask("slow"))}
	env := newEnv(t, f)
	env.OnActivity(f.CallTool, mock.Anything, mock.Anything).After(time.Hour).Return(activities.CallToolOut{}, nil)
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Minute)
	env.ExecuteWorkflow(Stage, stageInput("AB", plan.SuccessAny, true))
	var got StageResult
	endOf(t, env, &got)
	if got.Status != agent.StatusCancelled || len(f.saved) != 1 {
		t.Errorf("got %+v, recorded %d", got, len(f.saved))
	}
}

// TestGuidanceForAStageItself: guidance sent directly to a stage goes to its agents, and wakes sleeping ones.
func TestGuidanceForAStageItself(t *testing.T) {
	t.Parallel()
	f := &fake{ownTools: func(activities.CallOwnToolsIn) (activities.CallOwnToolsOut, error) {
		return activities.CallOwnToolsOut{Pause: 60}, nil
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
	env.RegisterDelayedCallback(func() {
		env.SignalWorkflow(SignalGuide, Guide{Text: "x", Agent: "Z"})
		env.SignalWorkflow(SignalGuide, Guide{Text: "x"})
	}, 5*time.Minute)
	in := stageInput("A", plan.SuccessAny, false)
	in.Stage.Agents[0].Heartbeats = true
	env.ExecuteWorkflow(Stage, in)
	want := []activities.PostIn{{Investigation: "inv", Plan: "plan", Source: "s", Ordinal: 1, Stages: []string{"s"}, Text: []byte("x")}}
	if diff := cmp.Diff(want, f.posted); diff != "" || at[1].Sub(at[0]).Round(time.Minute) != 5*time.Minute {
		t.Errorf("called at %v, posted (-want +got):\n%s", at, diff)
	}
}

// TestExecutionTimes checks that an agent's record begins when its workflow starts and ends when its result arrives, also if
// it makes one model call.
func TestExecutionTimes(t *testing.T) {
	t.Parallel()
	const reply, whole = 10 * time.Minute, 20 * time.Minute
	f := &fake{plan: planOf([]string{"default", "default", "synthesis"})}
	f.model = script(say("done"))
	env := newEnv(t, f)
	slow := mock.MatchedBy(func(in activities.GenerateIn) bool { return in.Ref.Execution != "s1/B" })
	env.OnActivity(f.Generate, mock.Anything, slow).After(reply).Return(f.Generate)
	env.OnActivity(f.Generate, mock.Anything, mock.Anything).After(whole).Return(f.Generate)
	began := env.Now()
	investigated(t, env)
	near := func(at time.Time, want time.Duration) bool { return at.Sub(began.Add(want)).Abs() < time.Minute }
	want := map[string][2]time.Duration{"s1/A": {0, reply}, "s1/B": {0, whole}, "s1/Syn": {whole, whole + reply}}
	for _, e := range f.saved[0].Executions {
		if w := want[e.Ref.Execution]; !near(e.Started, w[0]) || !near(e.Ended, w[1]) {
			t.Errorf("%s is recorded from %s to %s; want %v", e.Ref.Execution, e.Started.Sub(began), e.Ended.Sub(began), w)
		}
	}
	if len(f.subs) != 1 || f.subs[0].Execution.Ref.Execution != "s1/A" || f.subs[0].Execution.Status != agent.StatusCompleted ||
		!near(f.subs[0].Ended, reply) {
		t.Errorf("recorded while the stage ran: %+v; want s1/A alone", f.subs)
	}
	if len(f.saved[0].Executions) != len(want) {
		t.Errorf("recorded: %+v", f.saved[0].Executions)
	}
}
