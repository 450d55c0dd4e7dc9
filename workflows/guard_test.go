package workflows

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// guarded is an environment that checks the size of arguments, as workers do.
func guarded(t *testing.T, f *fake) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	env := newEnv(t, f)
	env.SetWorkerOptions(worker.Options{
		DeadlockDetectionTimeout: time.Minute, Interceptors: []interceptor.WorkerInterceptor{&Guard{}},
	})
	return env
}

// TestArgumentsThatAreTooLarge: the step fails, instead of the workflow task failing forever.
func TestArgumentsThatAreTooLarge(t *testing.T) {
	t.Parallel()
	t.Run("activity", func(t *testing.T) {
		t.Parallel()
		f := &fake{}
		env := guarded(t, f)
		in := agentInput(agent.Iterating, 3)
		in.Prior = []activities.Source{{Stage: strings.Repeat("x", MaxArguments)}}
		env.ExecuteWorkflow(IteratingAgent, in)
		got := agentEnd(t, env)
		if got.ErrorType != ErrorTooLarge || !strings.Contains(got.Error, "activity Generate was not scheduled") || len(f.generated) != 0 {
			t.Errorf("got %+v after %d calls", got, len(f.generated))
		}
	})
	t.Run("child", func(t *testing.T) {
		t.Parallel()
		f := &fake{}
		env := guarded(t, f)
		in := stageInput("AB", plan.SuccessAny, false)
		in.Stage.Agents[0].Models = []string{strings.Repeat("m", MaxChildArguments)}
		env.ExecuteWorkflow(Stage, in)
		var got StageResult
		endOf(t, env, &got)
		if got.Status != agent.StatusCompleted || got.Result != "s/B" ||
			!strings.Contains(got.Agents[0].Error, "workflow IteratingAgent was not scheduled") {
			t.Errorf("got %+v", got)
		}
		if len(f.generated) != 1 || len(f.saved) != 1 {
			t.Errorf("%d model calls and %d records, want one of each", len(f.generated), len(f.saved))
		}
	})
	t.Run("local activity", func(t *testing.T) {
		t.Parallel()
		reply := ask()
		reply.Calls = slices.Repeat([]activities.Call{{Name: "remember", Own: true}}, MaxLocalArguments/5)
		f := &fake{model: func(activities.GenerateIn) (activities.GenerateOut, error) { return reply, nil }}
		env := guarded(t, f)
		env.ExecuteWorkflow(IteratingAgent, agentInput(agent.Iterating, 3))
		if got := agentEnd(t, env); got.ErrorType != ErrorTooLarge || len(f.own) != 0 || len(f.generated) != 1 {
			t.Errorf("got %+v after %d calls", got, len(f.own))
		}
	})
}

func TestFit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		n    int
		want string
	}{
		{"short", 7, "short"},
		{"too long", 7, "to…"},
		{"<<<<", 20, "<<…"},
		{"äöü€", 10, "äö…"},
		{"\xff\xff\xff", 18, "\xff\xff…"},
	} {
		if got := fit(tt.text, tt.n); got != tt.want || jsonSize(got) > tt.n {
			t.Errorf("fit(%q, %d) is %q, %d bytes", tt.text, tt.n, got, jsonSize(got))
		}
	}
}

// TestStagesAndAgentsOfANewerPlan: a worker leaves stages and agents of a newer plan to others. The panic fails the task.
func TestStagesAndAgentsOfANewerPlan(t *testing.T) {
	t.Parallel()
	newer := agentInput(agent.Iterating, 1)
	newer.PlanVersion = plan.Version + 1
	unknown := planOf([]string{"default"}).Skeleton().Stages[0]
	unknown.Agents[0].Pattern = "telepathic"
	for name, test := range map[string]struct {
		workflow string
		input    any
	}{
		"a stage":            {"Stage", StageInput{PlanVersion: plan.Version + 1, Stage: planOf([]string{"default"}).Skeleton().Stages[0]}},
		"an agent":           {"IteratingAgent", newer},
		"one that says once": {"SingleShotAgent", newer},
		"a tool plan":        {"ToolPlanAgent", newer},
		"a service":          {"ServiceAgent", newer},
		"a judge":            {TypeScoring, ScoringInput{Investigation: "inv"}},
		"a conversation":     {TypeConversation, agent.ConversationRequest{Agent: "Memo"}},
		"an unknown pattern": {"Stage", StageInput{PlanVersion: plan.Version, Stage: unknown}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{plan: planOf([]string{"default"})}
			f.plan.Version = plan.Version + 1
			f.plan.Scoring = &plan.Stage{Agents: []plan.Agent{{Name: "Judge", Type: "scoring"}}}
			env := newEnv(t, f)
			defer func() {
				if why := fmt.Sprint(recover(), env.GetWorkflowError()); !strings.Contains(why, plan.ErrNewer.Error()) || len(f.generated) > 0 {
					t.Errorf("after %d model calls: %s", len(f.generated), why)
				}
			}()
			env.ExecuteWorkflow(test.workflow, test.input)
		})
	}
}
