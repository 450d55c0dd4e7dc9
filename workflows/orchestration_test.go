package workflows

import (
	"fmt"
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

// lead is an agent "A" that may dispatch Logs and Deep, of which Deep may dispatch Logs.
func lead(limits plan.OrchestratorLimits) AgentInput {
	in := agentInput(agent.Iterating, 20)
	logs := plan.AgentSkeleton{Name: "Logs", Pattern: agent.Iterating, Models: []string{"m"}, MaxIterations: 5}
	logs.Timeouts.Agent = plan.Duration(7 * time.Minute)
	deep := logs
	deep.Name = "Deep"
	deep.Orchestrator = &plan.OrchestratorSkeleton{OrchestratorLimits: plan.OrchestratorLimits{MaxConcurrent: 1}, Agents: []plan.AgentSkeleton{logs}}
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

// cast gives each execution a script of its own; one without says "done".
func cast(scripts map[string]func(activities.GenerateIn) (activities.GenerateOut, error)) func(activities.GenerateIn) (activities.GenerateOut, error) {
	return func(in activities.GenerateIn) (activities.GenerateOut, error) {
		if model := scripts[in.Ref.Execution]; model != nil {
			return model(in)
		}
		return say("done"), nil
	}
}

// told is what reached the model of an execution, call by call.
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

// slow has the models of some executions take an hour.
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
		name   string
		model  map[string]func(activities.GenerateIn) (activities.GenerateOut, error)
		slow   string // executions whose models take an hour
		limits plan.OrchestratorLimits
		told   []string
		saved  string
	}{
		{
			name:   "results come by themselves, and the agent waits for all",
			limits: two,
			model:  map[string]func(activities.GenerateIn) (activities.GenerateOut, error){"stage/A": script(dispatch("Logs", "Deep"), say("I wait"), say("done"))},
			told:   []string{"", "1/0 true Dispatched. Execution id: stage/A/Logs-1 | 1/1 true Dispatched. Execution id: stage/A/Deep-2", "*"},
			saved:  "stage/A/Deep-2 completed,stage/A/Logs-1 completed",
		},
		{
			name:   "one too many, one that there is not",
			limits: two,
			model: map[string]func(activities.GenerateIn) (activities.GenerateOut, error){
				"stage/A": script(dispatch("Logs", "Nobody", "Logs", "Logs"), say("I wait"), say("done")),
			},
			told: []string{"", "1/0 true Dispatched. Execution id: stage/A/Logs-1 | 1/1 false There is no agent \"Nobody\" to dispatch; there are: Logs, Deep." +
				" | 1/2 true Dispatched. Execution id: stage/A/Logs-2 | 1/3 false No agent was dispatched: 2 are at work, the most allowed at the same time " +
				"(max_concurrent_agents). Wait for a result, or cancel one.", "*"},
			saved: "stage/A/Logs-1 completed,stage/A/Logs-2 completed",
		},
		{
			name:   "one is cancelled, by the end of its id",
			limits: two,
			model: map[string]func(activities.GenerateIn) (activities.GenerateOut, error){
				"stage/A": script(dispatch("Logs"), cancelAgent("Logs-1"), say("I wait"), cancelAgent("Logs-1"), listAgents, say("done")),
			},
			slow: "stage/A/Logs-1",
			told: []string{
				"", "1/0 true Dispatched. Execution id: stage/A/Logs-1", "2/0 true stage/A/Logs-1 is told to stop.", "Logs stage/A/Logs-1 cancelled",
				"4/0 false Logs-1 has ended: cancelled.",
				"5/0 true 1 agents dispatched, 0 at work, at most 2 at the same time.\n- stage/A/Logs-1: cancelled",
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
			told: []string{
				"", "1/0 true Dispatched. Execution id: stage/A/Logs-1", "Logs stage/A/Logs-1 timed_out the agent did not finish within 7m0s",
				"3/0 true Dispatched. Execution id: stage/A/Logs-2", "*", "5/0 false No agent was dispatched: the time for sub-agents (max_budget, 10m0s) is used up.",
			},
			saved: "stage/A/Logs-1 timed_out,stage/A/Logs-2 timed_out",
		},
		{
			name:   "one dispatches another",
			limits: two,
			model: map[string]func(activities.GenerateIn) (activities.GenerateOut, error){
				"stage/A": script(dispatch("Deep"), say("I wait"), say("done")), "stage/A/Deep-1": script(dispatch("Logs"), say("I wait"), say("done")),
			},
			told: []string{
				"", "1/0 true Dispatched. Execution id: stage/A/Deep-1", "Deep stage/A/Deep-1 completed",
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
			told := f.toldTo("stage/A")
			for n := range told {
				if n < len(test.told) && test.told[n] == "*" {
					told[n] = "*"
				}
			}
			told = told[:min(len(told), len(test.told))]
			if diff := cmp.Diff(test.told, told); diff != "" {
				t.Errorf("told -want +got:\n%s", diff)
			}
			if saved := f.savedSubs(); saved != test.saved {
				t.Errorf("saved %s, want %s", saved, test.saved)
			}
		})
	}
}

// savedSubs are the sub-agents whose end was recorded, by name.
func (f *fake) savedSubs() string {
	var saved []string
	for _, in := range f.subs {
		saved = append(saved, fmt.Sprintf("%s %s", in.Execution.Ref.Execution, in.Execution.Status))
	}
	slices.Sort(saved)
	return strings.Join(saved, ",")
}
