package workflows

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

func TestIteratingAgent(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		limit   int
		onLimit plan.OnLimit
		model   []activities.GenerateOut
		want    AgentResult // what is compared: status, stop reason, outcome, error type, forced, iterations
		inputs  string
		calls   int
	}{
		{
			name: "answers at once", limit: 3, model: []activities.GenerateOut{say("x")},
			want: AgentResult{Status: agent.StatusCompleted, StopReason: agent.StopEndTurn, Outcome: agent.OutcomeSuccess, Iterations: 1},
		},
		{
			name: "calls tools in parallel", limit: 3, model: []activities.GenerateOut{ask("a", "b"), ask("c"), say("x")}, calls: 3, inputs: ",,",
			want: AgentResult{Status: agent.StatusCompleted, StopReason: agent.StopEndTurn, Outcome: agent.OutcomeSuccess, Iterations: 3},
		},
		{
			name: "concludes at the limit", limit: 2, model: []activities.GenerateOut{ask("a"), ask("a"), say("x")}, calls: 2, inputs: ",,limit",
			want: AgentResult{Status: agent.StatusCompleted, StopReason: agent.StopMaxIterations, Outcome: agent.OutcomePartial,
				Forced: true, Iterations: 3},
		},
		{
			name: "fails at the limit", limit: 2, onLimit: plan.OnLimitError, model: []activities.GenerateOut{ask("a")}, calls: 2, inputs: ",,",
			want: AgentResult{Status: agent.StatusFailed, StopReason: agent.StopFailed, Outcome: agent.OutcomeError,
				ErrorType: activities.ErrorIterationLimit, Iterations: 3},
		},
		{
			name: "answers exactly at the limit", limit: 2, onLimit: plan.OnLimitError,
			model: []activities.GenerateOut{ask("a"), ask("a"), say("x")}, calls: 2, inputs: ",,",
			want: AgentResult{Status: agent.StatusCompleted, StopReason: agent.StopEndTurn, Outcome: agent.OutcomeSuccess, Iterations: 3},
		},
		{
			name: "is nudged", limit: 1, model: []activities.GenerateOut{empty, empty, say("x")}, inputs: ",nudge,nudge",
			want: AgentResult{Status: agent.StatusCompleted, StopReason: agent.StopEndTurn, Outcome: agent.OutcomeSuccess, Iterations: 3},
		},
		{
			name: "stays silent", limit: 5, model: []activities.GenerateOut{empty}, inputs: ",nudge,nudge",
			want: AgentResult{Status: agent.StatusFailed, StopReason: agent.StopFailed, Outcome: agent.OutcomeError,
				ErrorType: activities.ErrorEmptyReply, Iterations: 3},
		},
		{
			name: "ends silent after it spoke", limit: 5, inputs: ",nudge,nudge",
			model: []activities.GenerateOut{{Empty: true, Earlier: "The disk is full."}},
			want: AgentResult{Status: agent.StatusCompleted, StopReason: agent.StopEndTurn, Outcome: agent.OutcomePartial,
				Partial: activities.EarlierStands, Iterations: 3},
		},
		{
			name: "writes calls as text", limit: 5, inputs: ",nudge,nudge",
			model: []activities.GenerateOut{{Empty: true, NoReport: "the text of a tool call", Preview: "<tool_call>"}},
			want: AgentResult{Status: agent.StatusFailed, StopReason: agent.StopFailed, Outcome: agent.OutcomeError,
				ErrorType: activities.ErrorEmptyReply, Iterations: 3},
		},
		{
			name: "is cut", limit: 5, model: []activities.GenerateOut{{Preview: "x", Finish: "length", Partial: "cut"}},
			want: AgentResult{Status: agent.StatusCompleted, StopReason: agent.StopEndTurn, Outcome: agent.OutcomePartial,
				Partial: "cut", Iterations: 1},
		},
		{
			name: "spends its limit on thinking", limit: 5, model: []activities.GenerateOut{{Empty: true, Finish: "length", Partial: "spent"}},
			want: AgentResult{Status: agent.StatusFailed, StopReason: agent.StopFailed, Outcome: agent.OutcomeError,
				ErrorType: activities.ErrorEmptyReply, Iterations: 1},
		},
		{
			name: "repeats itself", limit: 5, model: []activities.GenerateOut{{Finish: activities.FinishRepeating, Preview: "x"}, say("x")},
			inputs: ",repeating",
			want:   AgentResult{Status: agent.StatusCompleted, StopReason: agent.StopEndTurn, Outcome: agent.OutcomeSuccess, Iterations: 2},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := &fake{model: script(tt.model...)}
			env := newEnv(t, f)
			in := agentInput(agent.Iterating, tt.limit)
			in.Agent.OnLimit = tt.onLimit
			env.ExecuteWorkflow(IteratingAgent, in)
			got := agentEnd(t, env)
			want := tt.want
			want.Error, want.Model, want.Usage, want.Preview = got.Error, got.Model, got.Usage, got.Preview
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if inputs := f.inputs(); inputs != tt.inputs {
				t.Errorf("inputs %q, want %q", inputs, tt.inputs)
			}
			if len(f.called) != tt.calls {
				t.Errorf("%d tool calls, want %d", len(f.called), tt.calls)
			}
		})
	}
}

func TestIterationLimitText(t *testing.T) {
	t.Parallel()
	env := newEnv(t, &fake{model: script(ask("a"))})
	in := agentInput(agent.Iterating, 1)
	in.Agent.OnLimit = plan.OnLimitError
	env.ExecuteWorkflow(IteratingAgent, in)
	want := "Tool iteration limit (1) exceeded. The agent may be stuck in an infinite loop."
	if got := agentEnd(t, env).Error; got != want {
		t.Errorf("error %q, want %q", got, want)
	}
}

func TestFallbackUsesUpNoIteration(t *testing.T) {
	t.Parallel()
	f := &fake{model: func(in activities.GenerateIn) (activities.GenerateOut, error) {
		if in.Provider == 0 {
			return activities.GenerateOut{}, temporal.NewNonRetryableApplicationError("no key", "CredentialsRefused", nil)
		}
		return say("x"), nil
	}}
	env := newEnv(t, f)
	in := agentInput(agent.Iterating, 1)
	in.Agent.Models = []string{"m", "n"}
	env.ExecuteWorkflow(IteratingAgent, in)
	if got := agentEnd(t, env); got.Status != agent.StatusCompleted || got.Iterations != 1 {
		t.Errorf("got %+v", got)
	}
	hop := activities.Failure{ErrorType: "CredentialsRefused", Error: "no key", Try: 1}
	if second := f.generated[1]; second.Fallback == nil || *second.Fallback != hop || second.Provider != 1 ||
		second.Iteration != 1 || len(f.unanswered) != 0 {
		t.Errorf("second call: %+v", second)
	}
}

// TestFailedPromptAsksNoOtherProvider: a failing prompt function would fail for every model, so there is no fallback.
func TestFailedPromptAsksNoOtherProvider(t *testing.T) {
	t.Parallel()
	f := &fake{model: func(activities.GenerateIn) (activities.GenerateOut, error) {
		return activities.GenerateOut{}, temporal.NewNonRetryableApplicationError("brief: no template", activities.ErrorPrompt, nil)
	}}
	env := newEnv(t, f)
	in := agentInput(agent.Iterating, 1)
	in.Agent.Models = []string{"m", "n"}
	env.ExecuteWorkflow(IteratingAgent, in)
	if got := agentEnd(t, env); got.ErrorType != activities.ErrorPrompt || len(f.generated) != 1 {
		t.Errorf("%d calls, got %+v", len(f.generated), got)
	}
}

// TestUnansweredFirstCall: if no model ever answered, the transcript still has the agent's request.
func TestUnansweredFirstCall(t *testing.T) {
	t.Parallel()
	refused := temporal.NewNonRetryableApplicationError("no key", "CredentialsRefused", nil)
	tests := map[string]struct {
		first  []error // replies; nil = one that asks for a tool
		change func(*AgentInput)
		do     func(*testsuite.TestWorkflowEnvironment)
		want   string
	}{
		"all providers fail": {first: []error{refused, refused}, want: "no key"},
		"timed out": {change: func(in *AgentInput) { in.Agent.Timeouts.Agent = plan.Duration(time.Minute) },
			want: "the agent did not finish within 1m0s"},
		"cancelled":       {do: (*testsuite.TestWorkflowEnvironment).CancelWorkflow, want: "cancelled"},
		"the second call": {first: []error{nil, refused, refused}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{}
			env := newEnv(t, f)
			f.model = func(activities.GenerateIn) (activities.GenerateOut, error) {
				if err := tt.first[len(f.generated)-1]; err != nil {
					return activities.GenerateOut{}, err
				}
				return ask("a"), nil
			}
			if tt.first == nil {
				env.OnActivity(f.Generate, mock.Anything, mock.Anything).After(time.Hour).Return(f.Generate) // it hangs
			}
			if tt.do != nil {
				env.RegisterDelayedCallback(func() { tt.do(env) }, 30*time.Second)
			}
			in := agentInput(agent.Iterating, 3)
			in.Agent.Models = []string{"m", "n"}
			if tt.change != nil {
				tt.change(&in)
			}
			env.ExecuteWorkflow(IteratingAgent, in)
			if !env.IsWorkflowCompleted() || env.GetWorkflowError() == nil {
				t.Fatalf("ended with %v", env.GetWorkflowError())
			}
			if tt.want == "" {
				if len(f.unanswered) != 0 {
					t.Errorf("written down: %+v", f.unanswered)
				}
				return
			}
			if len(f.unanswered) != 1 || f.unanswered[0].Why != tt.want || f.unanswered[0].Call.Iteration != 1 {
				t.Errorf("written down: %+v, want %s", f.unanswered, tt.want)
			}
		})
	}
}

func TestModelFailureKeepsItsType(t *testing.T) {
	t.Parallel()
	f := &fake{model: func(activities.GenerateIn) (activities.GenerateOut, error) {
		return activities.GenerateOut{}, temporal.NewNonRetryableApplicationError("no key", "CredentialsRefused", nil)
	}}
	env := newEnv(t, f)
	env.ExecuteWorkflow(IteratingAgent, agentInput(agent.Iterating, 3))
	if got := agentEnd(t, env); got.ErrorType != "CredentialsRefused" || got.Error != "no key" || !activities.ModelError(got.ErrorType) {
		t.Errorf("got %+v", got)
	}
}

func TestToolActivityThatFailsIsAResult(t *testing.T) {
	t.Parallel()
	f := &fake{model: script(ask("a", "b"), say("x")), tool: func(in activities.CallToolIn) (activities.CallToolOut, error) {
		if in.Call == 1 {
			return activities.CallToolOut{}, temporal.NewNonRetryableApplicationError("disk full", "Store", nil)
		}
		return activities.CallToolOut{}, nil
	}}
	env := newEnv(t, f)
	env.ExecuteWorkflow(IteratingAgent, agentInput(agent.Iterating, 3))
	if got := agentEnd(t, env); got.Status != agent.StatusCompleted {
		t.Fatalf("got %+v", got)
	}
	want := []activities.Input{{Kind: activities.InputResult, Iteration: 1, Call: 1, ErrorType: "Store", Text: "disk full"}}
	if diff := cmp.Diff(want, f.generated[1].Inputs); diff != "" {
		t.Errorf("inputs of the second call (-want +got):\n%s", diff)
	}
}

func TestStatusHasTheLastFault(t *testing.T) {
	t.Parallel()
	limited := agent.Fault{Recoverable: true, RetryAfter: 30, Details: json.RawMessage(`{"left":0}`)}
	f := &fake{model: script(ask("a"), ask("b"), say("x")), tool: func(in activities.CallToolIn) (activities.CallToolOut, error) {
		if in.Iteration == 1 {
			return activities.CallToolOut{Status: "error", ErrorType: "RateLimited", Fault: limited}, nil
		}
		return activities.CallToolOut{Status: "success"}, nil
	}}
	env := newEnv(t, f)
	env.ExecuteWorkflow(IteratingAgent, agentInput(agent.Iterating, 3))
	var status AgentStatus
	if value, err := env.QueryWorkflow(QueryStatus); err != nil || value.Get(&status) != nil {
		t.Fatal(err)
	}
	want := &CallFault{Tool: "a", Iteration: 1, ErrorType: "RateLimited", Fault: limited}
	if diff := cmp.Diff(want, status.LastFault); diff != "" {
		t.Error(diff)
	}
}

// withUnread is a reply during which guidance arrived.
func withUnread(out activities.GenerateOut) activities.GenerateOut {
	out.Unread = true
	return out
}

// TestLastWordIsNotTheLast: guidance that arrives during the final reply is read, up to a limit.
func TestLastWordIsNotTheLast(t *testing.T) {
	t.Parallel()
	one := []activities.GenerateOut{withUnread(say("x")), say("y")}
	for name, tt := range map[string]struct {
		pattern agent.Pattern
		model   []activities.GenerateOut
		calls   int
		inputs  string
	}{
		"iterating":    {agent.Iterating, one, 2, ","},
		"single-shot":  {agent.SingleShot, one, 2, ","},
		"at the limit": {agent.Iterating, []activities.GenerateOut{ask("a"), ask("a"), withUnread(say("x")), say("y")}, 4, ",,limit,"},
		"with calls":   {agent.Iterating, []activities.GenerateOut{withUnread(ask("a")), say("x")}, 2, ","},
		"empty":        {agent.Iterating, []activities.GenerateOut{withUnread(empty), say("x")}, 2, ",nudge"},
		"a flood": {agent.SingleShot, []activities.GenerateOut{withUnread(say("x"))},
			maxGuidanceTurns + 1, strings.Repeat(",", maxGuidanceTurns)},
		"a flood at the limit": {agent.Iterating, []activities.GenerateOut{ask("a"), ask("a"), withUnread(say("x"))}, maxGuidanceTurns + 3,
			",,limit" + strings.Repeat(",", maxGuidanceTurns)},
		"a flood of an iterating": {agent.Iterating, []activities.GenerateOut{withUnread(say("x"))},
			maxGuidanceTurns + 1, strings.Repeat(",", maxGuidanceTurns)},
		"a flood, and no contract": {agent.SingleShot, []activities.GenerateOut{withUnread(activities.GenerateOut{Invalid: "no"}), say("x")}, 2,
			",repair"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{model: script(tt.model...)}
			env := newEnv(t, f)
			if tt.pattern == agent.Iterating {
				env.ExecuteWorkflow(IteratingAgent, agentInput(tt.pattern, 2))
			} else {
				env.ExecuteWorkflow(SingleShotAgent, agentInput(tt.pattern, 1))
			}
			if got := agentEnd(t, env); got.Status != agent.StatusCompleted || len(f.generated) != tt.calls || f.inputs() != tt.inputs {
				t.Errorf("%d calls with inputs %q: %+v", len(f.generated), f.inputs(), got)
			}
		})
	}
}

// TestLastWordInReserve: guidance does not extend an agent that has only its reserved call left.
func TestLastWordInReserve(t *testing.T) {
	t.Parallel()
	f := &fake{model: script(withUnread(say("x")), activities.GenerateOut{Exceeded: agent.EndBudget})}
	env := newEnv(t, f)
	in := agentInput(agent.SingleShot, 1)
	in.Reserve = true
	env.ExecuteWorkflow(SingleShotAgent, in)
	if got := agentEnd(t, env); got.Status != agent.StatusCompleted || got.Preview != "x" || len(f.generated) != 1 {
		t.Errorf("%d calls: %+v", len(f.generated), got)
	}
}

// TestGuidanceForAnAgentItself: guidance sent directly to an agent's workflow takes the same path.
func TestGuidanceForAnAgentItself(t *testing.T) {
	t.Parallel()
	f := &fake{}
	env := newEnv(t, f)
	var status AgentStatus
	f.model = func(activities.GenerateIn) (activities.GenerateOut, error) {
		env.SignalWorkflow(SignalGuide, Guide{Text: "look at the database", Agent: "A", By: "Ada"})
		env.SignalWorkflow(SignalGuide, Guide{Text: "x", Agent: "B"})
		env.SignalWorkflow(SignalGuide, Guide{Text: strings.Repeat("x", MaxGuide+1)})
		env.SignalWorkflow(SignalGuide, "and at the disks")
		return say("x"), nil
	}
	env.ExecuteWorkflow(IteratingAgent, agentInput(agent.Iterating, 3))
	first := activities.PostIn{
		Investigation: "inv", Plan: "plan", Source: "stage/A", Ordinal: 1, Agent: "A", Stages: []string{"stage"}, By: "Ada",
		Text: []byte("look at the database"),
	}
	second := first
	second.Ordinal, second.By, second.Text = 2, "", []byte("and at the disks")
	if diff := cmp.Diff([]activities.PostIn{first, second}, f.posted); diff != "" || len(f.generated) != 1 {
		t.Errorf("posted (-want +got):\n%s", diff)
	}
	value, err := env.QueryWorkflow(QueryStatus)
	if err != nil || value.Get(&status) != nil || len(status.Undelivered) != 2 ||
		!strings.Contains(status.Undelivered[0], "this is agent A") || !strings.Contains(status.Undelivered[1], "16384") {
		t.Errorf("status %+v, %v", status, err)
	}
}

func TestConcludeStopsAnAgent(t *testing.T) {
	t.Parallel()
	f := &fake{}
	env := newEnv(t, f)
	f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
		if in.Conclude {
			return say("what I know"), nil
		}
		env.SignalWorkflow(SignalConclude, nil)
		return ask("a"), nil
	}
	env.ExecuteWorkflow(IteratingAgent, agentInput(agent.Iterating, 9))
	got := agentEnd(t, env)
	if got.StopReason != agent.StopConcluded || !got.Forced || got.Outcome != agent.OutcomePartial || f.inputs() != ",conclude" {
		t.Errorf("got %+v, inputs %s", got, f.inputs())
	}
}

func TestConcludeEndsAPause(t *testing.T) {
	t.Parallel()
	f := &fake{}
	env := newEnv(t, f)
	in := agentInput(agent.Iterating, 3)
	in.Steering.Paused = true
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(SignalConclude, nil) }, time.Hour)
	env.ExecuteWorkflow(IteratingAgent, in)
	if got := agentEnd(t, env); got.StopReason != agent.StopConcluded {
		t.Errorf("got %+v", got)
	}
}

func TestTimePausedDoesNotCount(t *testing.T) {
	t.Parallel()
	f := &fake{model: script(ask("a"), say("x"))}
	env := newEnv(t, f)
	in := agentInput(agent.Iterating, 3)
	in.Agent.Timeouts.Agent = plan.Duration(time.Minute)
	in.Steering.Paused = true
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(SignalResume, nil) }, time.Hour)
	env.ExecuteWorkflow(IteratingAgent, in)
	if got := agentEnd(t, env); got.Status != agent.StatusCompleted {
		t.Errorf("got %+v", got)
	}
}

func TestAgentTimeoutKeepsWhatWasDone(t *testing.T) {
	t.Parallel()
	f := &fake{model: script(ask("a"), empty)}
	env := newEnv(t, f)
	env.OnActivity(f.CallTool, mock.Anything, mock.Anything).After(time.Hour).Return(activities.CallToolOut{}, nil)
	in := agentInput(agent.Iterating, 3)
	in.Agent.Timeouts.Agent = plan.Duration(time.Minute)
	env.ExecuteWorkflow(IteratingAgent, in)
	got := agentEnd(t, env)
	if got.Status != agent.StatusTimedOut || got.StopReason != agent.StopTimedOut || got.Usage.ModelCalls != 2+maxNudges {
		t.Errorf("got %+v", got)
	}
}

// TestAgentTimeoutIsConcluded: an agent whose time is up has one reserved call, and the model learns what was cut off.
func TestAgentTimeoutIsConcluded(t *testing.T) {
	t.Parallel()
	f := &fake{model: script(ask("a"), say("what is known"))}
	env := newEnv(t, f)
	env.OnActivity(f.CallTool, mock.Anything, mock.Anything).After(time.Hour).Return(activities.CallToolOut{}, nil)
	in := agentInput(agent.Iterating, 3)
	in.Agent.Timeouts.Agent = plan.Duration(time.Minute)
	env.ExecuteWorkflow(IteratingAgent, in)
	got := agentEnd(t, env)
	if got.Status != agent.StatusCompleted || got.StopReason != agent.StopTimedOut || got.Outcome != agent.OutcomePartial ||
		got.Preview != "what is known" {
		t.Errorf("got %+v", got)
	}
	last := f.generated[len(f.generated)-1]
	if f.inputs() != ",result+bound" || !last.Conclude || !last.Reserve || last.Inputs[0].ErrorType != activities.ErrorCancelled {
		t.Errorf("inputs %s; the last call was %+v", f.inputs(), last)
	}
}

func TestContinueAsNewCarriesTheState(t *testing.T) {
	t.Parallel()
	f := &fake{}
	env := newEnv(t, f)
	f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
		env.SetContinueAsNewSuggested(true)
		return ask("a"), nil
	}
	env.ExecuteWorkflow(IteratingAgent, agentInput(agent.Iterating, 9))
	var next *workflow.ContinueAsNewError
	if !errors.As(env.GetWorkflowError(), &next) {
		t.Fatalf("ended with %v", env.GetWorkflowError())
	}
	var in AgentInput
	if err := converter.GetDefaultDataConverter().FromPayloads(next.Input, &in); err != nil {
		t.Fatal(err)
	}
	if in.Continued == nil || in.Continued.Iteration != 1 || in.Continued.Batches != 1 || !in.Continued.Listed {
		t.Fatalf("carried %+v", in.Continued)
	}

	second := &fake{}
	env = newEnv(t, second)
	env.ExecuteWorkflow(IteratingAgent, in)
	if got := agentEnd(t, env); got.Iterations != 2 || got.Usage.ModelCalls != 2 || second.generated[0].Iteration != 2 {
		t.Errorf("second run: %+v, call %+v", got, second.generated[0])
	}
}

func TestSingleShot(t *testing.T) {
	t.Parallel()
	f := &fake{model: script(empty, say("x"))}
	env := newEnv(t, f)
	env.ExecuteWorkflow(SingleShotAgent, agentInput(agent.SingleShot, 1))
	if got := agentEnd(t, env); got.Status != agent.StatusCompleted || f.inputs() != ",nudge" {
		t.Errorf("got %+v, inputs %s", got, f.inputs())
	}
}

// agentEnd returns the result of an ended agent, even of a failed one.
func agentEnd(t *testing.T, env *testsuite.TestWorkflowEnvironment) (result AgentResult) {
	t.Helper()
	endOf(t, env, &result)
	return result
}

func endOf(t *testing.T, env *testsuite.TestWorkflowEnvironment, result any) {
	t.Helper()
	if !env.IsWorkflowCompleted() {
		t.Fatal("the workflow did not end")
	}
	err := env.GetWorkflowError()
	if err == nil {
		err = env.GetWorkflowResult(result)
	} else if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		err = failed.Details(result)
	} else if cancelled, ok := errors.AsType[*temporal.CanceledError](err); ok {
		err = cancelled.Details(result)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestOwnToolsGoToAnotherWorker: a call that touches only our own store runs on the workflow's worker. If that
// worker cannot run it, another one does.
func TestOwnToolsGoToAnotherWorker(t *testing.T) {
	t.Parallel()
	f := &fake{}
	f.ownTools = func(activities.CallOwnToolsIn) (activities.CallOwnToolsOut, error) {
		if len(f.own) < 3 {
			return activities.CallOwnToolsOut{}, temporal.NewApplicationError("the plan is newer", activities.ErrorWorkerCannot)
		}
		return activities.CallOwnToolsOut{}, nil
	}
	own := ask(agent.ToolCoreMemoryAppend)
	own.Calls[0].Own = true
	f.model = script(own, say("done"))
	env := newEnv(t, f)
	env.ExecuteWorkflow(IteratingAgent, agentInput(agent.Iterating, 3))
	if got := agentEnd(t, env); got.Status != agent.StatusCompleted || f.inputs() != "," {
		t.Errorf("got %+v, and the model was told %q", got, f.inputs())
	}
	if diff := cmp.Diff([]bool{true, false, false}, f.local); diff != "" {
		t.Errorf("tries on the workflow's own worker (-want +got):\n%s", diff)
	}
}
