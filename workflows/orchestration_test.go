package workflows

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// lead is an agent "A" that may dispatch Logs and Deep. Deep may dispatch Logs.
func lead(limits plan.OrchestratorLimits) AgentInput {
	in := agentInput(agent.Iterating, 20)
	logs := plan.AgentSkeleton{Name: "Logs", Pattern: agent.Iterating, Models: []string{"m"}, MaxIterations: 5}
	logs.Timeouts.Agent = plan.Duration(7 * time.Minute)
	deep := logs
	deep.Name = "Deep"
	deep.Orchestrator = &plan.OrchestratorSkeleton{OrchestratorLimits: plan.OrchestratorLimits{MaxConcurrent: 1},
		Agents: []plan.AgentSkeleton{logs}}
	in.Agent.Orchestrator = &plan.OrchestratorSkeleton{OrchestratorLimits: limits, Agents: []plan.AgentSkeleton{logs, deep}}
	return in
}

func dispatch(names ...string) activities.GenerateOut {
	out := say("")
	for _, name := range names {
		out.Calls = append(out.Calls, activities.Call{Name: agent.ToolDispatchAgent, Sub: &activities.SubCall{Name: name}})
	}
	return out
}

func cancelAgent(id string) activities.GenerateOut {
	out := say("")
	out.Calls = []activities.Call{{Name: agent.ToolCancelAgent, Sub: &activities.SubCall{Execution: id}}}
	return out
}

var listAgents = func() activities.GenerateOut {
	out := say("")
	out.Calls = []activities.Call{{Name: agent.ToolListAgents, Sub: &activities.SubCall{}}}
	return out
}()

// cast gives each execution a separate script. One without a script answers "done".
func cast(scripts map[string]func(activities.GenerateIn) (activities.GenerateOut,
	error)) func(activities.GenerateIn) (activities.GenerateOut, error) {
	return func(in activities.GenerateIn) (activities.GenerateOut, error) {
		if model := scripts[in.Ref.Execution]; model != nil {
			return model(in)
		}
		return say("done"), nil
	}
}

// toldTo returns the inputs that reached the model of an execution, call by call.
func (f *fake) toldTo(execution string) (calls []string) {
	for _, in := range f.generated {
		if in.Ref.Execution != execution {
			continue
		}
		var texts []string
		for _, input := range in.Inputs {
			text := string(input.Kind)
			switch {
			case input.Sub != nil:
				text = strings.TrimSpace(fmt.Sprintf("%s %s %s %s", input.Sub.Name, input.Sub.Execution, input.Sub.Status, input.Sub.Error))
			case input.Kind == activities.InputResult:
				text = fmt.Sprintf("%d/%d %t %s", input.Iteration, input.Call, input.Done, input.Text)
			}
			texts = append(texts, text)
		}
		calls = append(calls, strings.Join(texts, " | "))
	}
	return calls
}

func orchestrate(t *testing.T, f *fake, in AgentInput, also func(*testsuite.TestWorkflowEnvironment)) AgentResult {
	t.Helper()
	env := newEnv(t, f)
	if also != nil {
		also(env)
	}
	env.ExecuteWorkflow(IteratingAgent, in)
	var out AgentResult
	if err := env.GetWorkflowError(); err != nil {
		_, message := failure(err)
		out.Error = message
		return out
	}
	if err := env.GetWorkflowResult(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

// slow makes the models of some executions take an hour.
func (f *fake) slow(executions string) func(*testsuite.TestWorkflowEnvironment) {
	return func(env *testsuite.TestWorkflowEnvironment) {
		slow := mock.MatchedBy(func(in activities.GenerateIn) bool {
			return slices.Contains(strings.Fields(executions), in.Ref.Execution)
		})
		env.OnActivity(f.Generate, mock.Anything, slow).After(time.Hour).Return(f.Generate)
		env.OnActivity(f.Generate, mock.Anything, mock.Anything).Return(f.Generate)
	}
}

func TestOrchestration(t *testing.T) {
	t.Parallel()
	two := plan.OrchestratorLimits{MaxConcurrent: 2, MaxBudget: plan.Duration(15 * time.Minute)}
	for _, test := range []struct {
		name     string
		model    map[string]func(activities.GenerateIn) (activities.GenerateOut, error)
		slow     string // executions whose models take an hour
		limits   plan.OrchestratorLimits
		received []string
		saved    string
	}{
		{
			name:   "results come by themselves, and the agent waits for all",
			limits: two,
			model: map[string]func(activities.GenerateIn) (activities.GenerateOut, error){
				"stage/A": script(dispatch("Logs", "Deep"), say("I wait"), say("done"))},
			received: []string{"", "1/0 true Dispatched. Execution ID: stage/A/Logs-1 | 1/1 true Dispatched. Execution ID: stage/A/Deep-2", "*"},
			saved:    "stage/A/Deep-2 completed,stage/A/Logs-1 completed",
		},
		{
			name:   "one too many, one that there is not",
			limits: two,
			model: map[string]func(activities.GenerateIn) (activities.GenerateOut, error){
				"stage/A": script(dispatch("Logs", "Nobody", "Logs", "Logs"), say("I wait"), say("done")),
			},
			received: []string{"",
				"1/0 true Dispatched. Execution ID: stage/A/Logs-1 | 1/1 false No agent \"Nobody\" to dispatch. Available agents: Logs, Deep." +
					" | 1/2 true Dispatched. Execution ID: stage/A/Logs-2 | 1/3 false No agent was dispatched: the limit " +
					"of running agents (max_concurrent_agents: 2) is reached. Wait for a result, or cancel one of them.", "*"},
			saved: "stage/A/Logs-1 completed,stage/A/Logs-2 completed",
		},
		{
			name:   "one is cancelled, by the end of its id",
			limits: two,
			model: map[string]func(activities.GenerateIn) (activities.GenerateOut, error){
				"stage/A": script(dispatch("Logs"), cancelAgent("Logs-1"), say("I wait"), cancelAgent("stage/A/Logs-1"), listAgents, say("done")),
			},
			slow: "stage/A/Logs-1",
			received: []string{
				"", "1/0 true Dispatched. Execution ID: stage/A/Logs-1", "2/0 true stage/A/Logs-1 is stopping.", "Logs stage/A/Logs-1 cancelled",
				"4/0 false stage/A/Logs-1 has ended: cancelled.",
				"5/0 true Agents dispatched: 1, running: 0 (at most 2 at the same time).\n- stage/A/Logs-1: cancelled",
			},
			saved: "stage/A/Logs-1 cancelled",
		},
		{
			name:   "the time of one, and of all",
			limits: plan.OrchestratorLimits{MaxConcurrent: 2, MaxBudget: plan.Duration(10 * time.Minute)},
			model: map[string]func(activities.GenerateIn) (activities.GenerateOut, error){
				"stage/A": script(dispatch("Logs"), say("I wait"), dispatch("Logs"), say("I wait"), dispatch("Logs"), say("done")),
			},
			slow: "stage/A/Logs-1 stage/A/Logs-2",
			received: []string{
				"", "1/0 true Dispatched. Execution ID: stage/A/Logs-1", "Logs stage/A/Logs-1 timed_out the agent did not finish within 7m0s",
				"3/0 true Dispatched. Execution ID: stage/A/Logs-2", "*",
				"5/0 false No agent was dispatched: the time for sub-agents (max_budget, 10m0s) has run out.",
			},
			saved: "stage/A/Logs-1 timed_out,stage/A/Logs-2 timed_out",
		},
		{
			name:   "one dispatches another",
			limits: two,
			model: map[string]func(activities.GenerateIn) (activities.GenerateOut, error){
				"stage/A": script(dispatch("Deep"), say("I wait"), say("done")), "stage/A/Deep-1": script(dispatch("Logs"), say("I wait"), say("done")),
			},
			received: []string{
				"", "1/0 true Dispatched. Execution ID: stage/A/Deep-1", "Deep stage/A/Deep-1 completed",
			},
			saved: "stage/A/Deep-1 completed,stage/A/Deep-1/Logs-1 completed",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := &fake{model: cast(test.model)}
			out := orchestrate(t, f, lead(test.limits), f.slow(test.slow))
			if out.Status != agent.StatusCompleted || out.Error != "" {
				t.Errorf("result %+v", out)
			}
			received := f.toldTo("stage/A")
			for n := range received {
				if n < len(test.received) && test.received[n] == "*" {
					received[n] = "*"
				}
			}
			received = received[:min(len(received), len(test.received))]
			if diff := cmp.Diff(test.received, received); diff != "" {
				t.Errorf("told -want +got:\n%s", diff)
			}
			if saved := f.savedSubs(); saved != test.saved {
				t.Errorf("saved %s, want %s", saved, test.saved)
			}
		})
	}
}

// savedSubs lists the sub-agents whose end was recorded, by name.
func (f *fake) savedSubs() string {
	var saved []string
	for _, in := range f.subs {
		saved = append(saved, fmt.Sprintf("%s %s", in.Execution.Ref.Execution, in.Execution.Status))
	}
	slices.Sort(saved)
	return strings.Join(saved, ",")
}

// leading is a plan with one orchestrator "A" that may dispatch Logs, which has a tool that needs approval.
func leading() plan.Plan {
	p := planOf([]string{"default"})
	a := &p.Stages[0].Agents[0]
	a.MaxIterations = 10
	logs := *a
	logs.Name = "Logs"
	a.Orchestrator = &plan.Orchestrator{OrchestratorLimits: plan.OrchestratorLimits{MaxConcurrent: 5}, Agents: []plan.Agent{logs}}
	return p
}

// TestSubAgentsInTheStatus: a sub-agent's waits are in the investigation's status like those of other agents. They stop
// the clocks above it, and its usage counts.
func TestSubAgentsInTheStatus(t *testing.T) {
	t.Parallel()
	needs := activities.Call{Name: "b", Approve: &activities.Approve{ID: "c1_0", Risk: agent.RiskHigh, Arguments: "{}"}}
	asking := say("")
	asking.Calls = []activities.Call{needs}
	f := &fake{plan: leading(), model: cast(map[string]func(activities.GenerateIn) (activities.GenerateOut, error){
		"s1/A": script(dispatch("Logs"), say("I wait"), say("done")), "s1/A/Logs-1": script(asking, say("found")),
	})}
	f.plan.Stages[0].Agents[0].Timeouts.Agent = plan.Duration(10 * time.Minute)
	f.plan.Stages[0].Agents[0].Orchestrator.MaxBudget = plan.Duration(10 * time.Minute)
	env := newEnv(t, f)
	var during Status
	env.RegisterDelayedCallback(func() {
		during = statusOf(t, env)
		if len(during.Waiting) != 1 {
			t.Errorf("waiting: %+v", during.Waiting)
			return
		}
		quiet := &testsuite.TestUpdateCallback{OnAccept: func() {}, OnReject: func(err error) { t.Error(err) }, OnComplete: func(any, error) {}}
		yes := true
		if err := env.UpdateWorkflowByID(during.Waiting[0].WorkflowID, UpdateDecide, "", quiet,
			Decide{CallID: "c1_0", Approved: &yes}); err != nil {
			t.Error(err)
		}
	}, 30*time.Minute)
	result := investigate(t, env)
	if result.Status != agent.StatusCompleted || result.Usage.ModelCalls != 5 || result.Usage.ToolCalls != 2 {
		t.Errorf("result: %+v", result)
	}
	rows := func(s Status) (out []string) {
		for _, a := range s.Stages[0].Agents {
			out = append(out, fmt.Sprintf("%s %s %s", a.Name, a.Status, a.WorkflowID[strings.Index(a.WorkflowID, "/")+1:]))
		}
		return out
	}
	if during.Status != agent.StatusWaitingApproval || during.Waiting[0].Agent != "A/Logs-1" {
		t.Errorf("during: %+v", during)
	}
	want := []string{"A running s1/A", "A/Logs-1 waiting_approval s1/A/Logs-1"}
	if diff := cmp.Diff(want, rows(during)); diff != "" {
		t.Errorf("during -want +got:\n%s", diff)
	}
	after := statusOf(t, env)
	if got := after.Stages[0].Agents; len(got) != 2 || got[1].Name != "A/Logs-1" || got[1].Status != agent.StatusCompleted ||
		got[1].Usage.ModelCalls != 2 {
		t.Errorf("after: %+v", got)
	}
	if after.History[0].LLMCalls != 5 {
		t.Errorf("%d model calls in the history", after.History[0].LLMCalls)
	}
}

// TestSubAgentsAreSteered: signals to an agent also apply to its sub-agents.
func TestSubAgentsAreSteered(t *testing.T) {
	t.Parallel()
	// Each call of a sub-agent's tool takes five minutes.
	working := func(f *fake, env *testsuite.TestWorkflowEnvironment) {
		f.model = cast(map[string]func(activities.GenerateIn) (activities.GenerateOut, error){
			"s1/A":        script(dispatch("Logs", "Logs"), say("I wait"), say("I wait"), say("done")),
			"s1/A/Logs-1": script(ask("b"), ask("b"), say("found")), "s1/A/Logs-2": script(ask("b"), ask("b"), say("found")),
		})
		env.OnActivity(f.CallTool, mock.Anything, mock.Anything).After(5*time.Minute).Return(activities.CallToolOut{}, nil)
	}
	for _, test := range []struct {
		name  string
		steer map[time.Duration]signal // without a name, it is a cancellation
		want  []string
	}{
		{name: "nobody does", want: []string{
			"00 A", "00 A", "00 A/Logs-1", "00 A/Logs-2", "05 A/Logs-1", "05 A/Logs-2",
			"10 A Logs-1:completed", "10 A Logs-2:completed", "10 A/Logs-1", "10 A/Logs-2",
		}},
		{
			name:  "paused from the second minute to the thirtieth",
			steer: map[time.Duration]signal{2 * time.Minute: {Name: SignalPause}, 30 * time.Minute: {Name: SignalResume}},
			want: []string{
				"00 A", "00 A", "00 A/Logs-1", "00 A/Logs-2", "30 A/Logs-1", "30 A/Logs-2",
				"35 A Logs-1:completed", "35 A Logs-2:completed", "35 A/Logs-1", "35 A/Logs-2",
			},
		},
		{
			name:  "told to conclude shortly before a tool's end",
			steer: map[time.Duration]signal{4*time.Minute + 30*time.Second: {Name: SignalConclude}},
			want: []string{
				"00 A", "00 A", "00 A/Logs-1", "00 A/Logs-2", "05 A Logs-1:completed Logs-2:completed concludes",
				"05 A/Logs-1 concludes", "05 A/Logs-2 concludes",
			},
		},
		{
			name: "told to conclude long before it", steer: map[time.Duration]signal{2 * time.Minute: {Name: SignalConclude}},
			want: []string{"00 A", "00 A", "00 A/Logs-1", "00 A/Logs-2", "03 A Logs-1:cancelled Logs-2:cancelled concludes"},
		},
		{
			name: "one is told to conclude", steer: map[time.Duration]signal{2 * time.Minute: {Name: SignalConclude, Agent: "A/Logs-2"}},
			want: []string{
				"00 A", "00 A", "00 A/Logs-1", "00 A/Logs-2", "05 A Logs-2:completed", "05 A/Logs-1", "05 A/Logs-2 concludes",
				"10 A Logs-1:completed", "10 A/Logs-1",
			},
		},
		{
			name: "cancelled", steer: map[time.Duration]signal{2 * time.Minute: {}},
			want: []string{"00 A", "00 A", "00 A/Logs-1", "00 A/Logs-2"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := &fake{plan: leading()}
			env := newEnv(t, f)
			working(f, env)
			began := env.Now()
			var got []string
			model := f.model
			f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
				line := fmt.Sprintf("%02.0f %s", env.Now().Sub(began).Minutes(), strings.TrimPrefix(in.Ref.Execution, "s1/"))
				var ended []string
				for _, input := range in.Inputs {
					if input.Sub != nil {
						ended = append(ended, fmt.Sprintf(" %s:%s", input.Sub.Execution[len("s1/A/"):], input.Sub.Status))
					}
				}
				slices.Sort(ended) // at the same moment, the order is chance
				line += strings.Join(ended, "")
				if in.Conclude {
					line += " concludes"
				}
				got = append(got, line)
				return model(in)
			}
			for at, steer := range test.steer {
				env.RegisterDelayedCallback(func() {
					if steer.Name == "" {
						env.CancelWorkflow()
						return
					}
					env.SignalWorkflow(steer.Name, steer.payload())
				}, at)
			}
			env.ExecuteWorkflow(TypeInvestigation, json.RawMessage(`{"chain":"chain"}`))
			slices.Sort(got)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestOrchestratorContinuesAsNew: an agent continues as new once its sub-agents have ended, and keeps their results.
func TestOrchestratorContinuesAsNew(t *testing.T) {
	t.Parallel()
	f := &fake{}
	env := newEnv(t, f)
	f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
		if in.Ref.Execution != "stage/A" {
			return say("found"), nil
		}
		env.SetContinueAsNewSuggested(true)
		return dispatch("Logs", "Logs"), nil
	}
	env.ExecuteWorkflow(IteratingAgent, lead(plan.OrchestratorLimits{MaxConcurrent: 2, MaxBudget: plan.Duration(time.Hour)}))
	var next *workflow.ContinueAsNewError
	if !errors.As(env.GetWorkflowError(), &next) {
		t.Fatalf("ended with %v", env.GetWorkflowError())
	}
	var in AgentInput
	if err := converter.GetDefaultDataConverter().FromPayloads(next.Input, &in); err != nil {
		t.Fatal(err)
	}
	o := in.Continued.Orchestration
	if o.Dispatched != 2 || len(o.Ended) != 2 || o.Usage.ModelCalls != 2 || o.Budget.Remaining == 0 || len(in.Continued.Inputs) != 4 {
		t.Fatalf("carried %+v, %+v", o, in.Continued.Inputs)
	}

	second := &fake{model: script(dispatch("Logs"), say("I wait"), say("done"))}
	out := orchestrate(t, second, in, nil)
	if out.Status != agent.StatusCompleted || len(out.Subs) != 3 || out.Subs[2].Name != "A/Logs-3" {
		t.Errorf("second run: %+v", out)
	}
	if first := second.generated[0]; len(first.Inputs) != 4 || first.Inputs[2].Sub == nil {
		t.Errorf("its model is told %+v", first.Inputs)
	}
}

// TestOrchestratorCancelledBeforeItContinuesAsNew: an agent cancelled while it waits for its sub-agents ends.
func TestOrchestratorCancelledBeforeItContinuesAsNew(t *testing.T) {
	t.Parallel()
	f := &fake{}
	out := orchestrate(t, f, lead(plan.OrchestratorLimits{MaxConcurrent: 1}), func(env *testsuite.TestWorkflowEnvironment) {
		f.slow("stage/A/Logs-1")(env)
		f.model = func(activities.GenerateIn) (activities.GenerateOut, error) {
			env.SetContinueAsNewSuggested(true)
			return dispatch("Logs"), nil
		}
		env.RegisterDelayedCallback(env.CancelWorkflow, time.Minute)
	})
	if !strings.Contains(out.Error, "canceled") || len(f.generated) != 1 {
		t.Errorf("after %d model calls: %+v", len(f.generated), out)
	}
}

// A dispatch may need a person's approval, like every call.
func TestDispatchNeedsApproval(t *testing.T) {
	t.Parallel()
	for _, approved := range []bool{true, false} {
		t.Run(fmt.Sprint(approved), func(t *testing.T) {
			t.Parallel()
			asking := dispatch("Logs")
			asking.Calls[0].Approve = &activities.Approve{ID: "c1_0", Risk: agent.RiskHigh, Arguments: "{}"}
			f := &fake{model: cast(map[string]func(activities.GenerateIn) (activities.GenerateOut, error){"stage/A": script(asking, say("done"))})}
			out := orchestrate(t, f, lead(plan.OrchestratorLimits{MaxConcurrent: 1}), func(env *testsuite.TestWorkflowEnvironment) {
				env.RegisterDelayedCallback(func() {
					if len(f.generated) != 1 {
						t.Errorf("%d model calls before anybody has decided", len(f.generated))
					}
					decide(t, env, Decide{CallID: "c1_0", Approved: &approved, By: "Ada"})
				}, time.Minute)
			})
			if out.Status != agent.StatusCompleted || (len(out.Subs) == 1) != approved {
				t.Errorf("result %+v", out)
			}
			if approved && f.generated[1].Ref.Execution == "stage/A" && f.generated[1].Inputs[0].Decision.By != "Ada" {
				t.Errorf("recorded as %+v", f.generated[1].Inputs[0])
			}
		})
	}
}

// TestGuidanceReachesWhoWaits: an agent that waits for its sub-agents reads guidance to its stage or to the investigation
// at once. A wake-up without new guidance causes no model call.
func TestGuidanceReachesWhoWaits(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		workflow string // that is guided
		guide    Guide
		unread   bool
		level    activities.Level
		looked   int
		read     bool // before the sub-agent ended
	}{
		"the investigation": {"", Guide{Text: "look at the shop"}, true, activities.LevelActs, 1, true},
		"the stage":         {"default-test-workflow-id:/s1", Guide{Text: "look at the shop"}, true, activities.LevelActs, 1, true},
		"the agent":         {"default-test-workflow-id:/s1/A", Guide{Text: "look at the shop"}, true, activities.LevelActs, 1, true},
		"the sub-agent":     {"", Guide{Text: "look", Agent: "A/Logs-1"}, true, activities.LevelActs, 0, false},
		"it, by the agent":  {"default-test-workflow-id:/s1/A", Guide{Text: "look", Agent: "A/Logs-1"}, true, activities.LevelActs, 0, false},
		"read already":      {"", Guide{Text: "look"}, false, activities.LevelActs, 1, false},
		"a run of before":   {"", Guide{Text: "look"}, true, 0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{plan: leading(), level: tt.level, mail: func() bool { return tt.unread }}
			f.model = cast(map[string]func(activities.GenerateIn) (activities.GenerateOut, error){
				"s1/A": script(dispatch("Logs"), say("I wait"), say("I wait on"), say("done")),
			})
			env := newEnv(t, f)
			f.slow("s1/A/Logs-1")(env)
			env.RegisterDelayedCallback(func() {
				if tt.workflow == "" {
					env.SignalWorkflow(SignalGuide, tt.guide)
				} else if err := env.SignalWorkflowByID(tt.workflow, SignalGuide, tt.guide); err != nil {
					t.Error(err)
				}
			}, 10*time.Minute)
			calls := 0
			env.RegisterDelayedCallback(func() { calls = len(f.toldTo("s1/A")) }, 20*time.Minute)
			got := investigated(t, env)
			if got.Status != agent.StatusCompleted || f.looked != tt.looked || (calls == 3) != tt.read || len(got.Undelivered) > 0 {
				t.Errorf("%d model calls, looked %d times: %+v", calls, f.looked, got)
			}
		})
	}
}
