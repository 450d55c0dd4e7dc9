package workflows

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// A server whose listing failed is asked again after a while. The others are not.
func TestServerIsListedAgain(t *testing.T) {
	t.Parallel()
	for _, level := range []activities.Level{activities.LevelQuestions, activities.LevelListing} {
		t.Run(fmt.Sprint(level), func(t *testing.T) {
			t.Parallel()
			f := &fake{model: script(ask("a"), ask("a"), ask("a"), ask("a"), say("done"))}
			env := newEnv(t, f)
			start := env.Now()
			listed := map[string][]time.Duration{}
			f.list = func(in activities.ListToolsIn) (out activities.ListToolsOut, err error) {
				listed[in.Server] = append(listed[in.Server], env.Now().Sub(start).Round(relistAfter/5))
				if in.Server == "gone" && len(listed["gone"]) == 1 {
					out.Error = "it has ended"
				}
				return out, nil
			}
			env.OnActivity(f.CallTool, mock.Anything, mock.Anything).After(relistAfter*2/5).Return(activities.CallToolOut{}, nil)
			in := agentInput(agent.Iterating, 5)
			in.Level, in.Agent.Servers = level, []plan.ServerSkeleton{{Name: "there"}, {Name: "gone"}}
			env.ExecuteWorkflow(IteratingAgent, in)
			want := map[string][]time.Duration{"there": {0}, "gone": {0, relistAfter * 6 / 5}}
			if got := agentEnd(t, env); got.Status != agent.StatusCompleted || !cmp.Equal(listed, want) {
				t.Errorf("listed %v, want %v; %+v", listed, want, got)
			}
		})
	}
}

// An agent that an older worker has begun asks its model within five seconds, however slow its tool servers are.
func TestSlowServersHoldUpNoModelCall(t *testing.T) {
	t.Parallel()
	const call = 10 * time.Second // of a tool
	f := &fake{}
	env := newEnvFor(t, f)
	start := env.Now()
	var asked []time.Duration
	answers := script(ask("a"), ask("a"), ask("a"), say("done"))
	f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
		asked = append(asked, env.Now().Sub(start).Round(firstListing))
		return answers(in)
	}
	listings := map[string]int{}
	f.list = func(in activities.ListToolsIn) (activities.ListToolsOut, error) {
		listings[in.Server]++
		return activities.ListToolsOut{Tools: 1}, nil
	}
	of := func(server string) any {
		return mock.MatchedBy(func(in activities.ListToolsIn) bool { return in.Server == server })
	}
	env.OnActivity(f.CallTool, mock.Anything, mock.Anything).After(call).Return(activities.CallToolOut{}, nil)
	env.OnActivity(f.ListTools, mock.Anything, of("slow")).After(20 * time.Second).Return(f.ListTools)
	late := temporal.NewNonRetryableApplicationError("no answer", activities.ErrorServerUnavailable, errors.New("late"))
	env.OnActivity(f.ListTools, mock.Anything, of("hangs")).After(45*time.Second).Return(activities.ListToolsOut{}, late)
	env.OnActivity(f.ListTools, mock.Anything, of("quick")).Return(f.ListTools)
	var unlisted [][]string
	in := agentInput(agent.Iterating, 5)
	in.Level = activities.LevelListing
	in.Agent.Servers = []plan.ServerSkeleton{{Name: "quick", TaskQueue: "q"}, {Name: "slow", TaskQueue: "q"}, {Name: "hangs", TaskQueue: "q"}}
	env.RegisterWorkflowWithOptions(func(ctx workflow.Context, in AgentInput) (AgentResult, error) {
		run := iteratingRun{newAgentRun(in)}
		result, err := run.execute(ctx, run.loop)
		unlisted = append(unlisted, run.state.Unlisted)
		return result, err
	}, workflow.RegisterOptions{Name: "Watched"})
	begunBefore(env)
	env.ExecuteWorkflow("Watched", in)
	got := agentEnd(t, env)
	want := []time.Duration{firstListing, firstListing + call, firstListing + 2*call, firstListing + 3*call}
	if got.Status != agent.StatusCompleted || !cmp.Equal(asked, want) {
		t.Errorf("models asked after %v, want %v; %+v", asked, want, got)
	}
	if !cmp.Equal(listings, map[string]int{"quick": 1, "slow": 1}) || !cmp.Equal(unlisted, [][]string{{"hangs"}}) {
		t.Errorf("listed %v; without a catalogue: %v", listings, unlisted)
	}
	if firstListing+listWithin >= 5*time.Second {
		t.Error("the first model call waits for more than five seconds")
	}
}

// An agent continues as new when no listing is pending, and the next run asks the same servers.
func TestContinueAsNewGivesListingsUp(t *testing.T) {
	t.Parallel()
	f := &fake{}
	env := newEnv(t, f)
	f.model = func(activities.GenerateIn) (activities.GenerateOut, error) {
		env.SetContinueAsNewSuggested(true)
		return ask("a"), nil
	}
	env.OnActivity(f.ListTools, mock.Anything, mock.Anything).After(45*time.Second).Return(activities.ListToolsOut{Tools: 1}, nil)
	begunBefore(env)
	cancelled := 0
	env.SetOnActivityCanceledListener(func(*activity.Info) { cancelled++ })
	in := agentInput(agent.Iterating, 5)
	in.Level, in.Agent.Servers = activities.LevelListing, []plan.ServerSkeleton{{Name: "hangs", TaskQueue: "q"}}
	env.ExecuteWorkflow(IteratingAgent, in)
	var next *workflow.ContinueAsNewError
	if err := env.GetWorkflowError(); !errors.As(err, &next) || cancelled != 1 {
		t.Fatalf("got %v, %d listings cancelled", err, cancelled)
	}
	var input AgentInput
	err := converter.GetDefaultDataConverter().FromPayloads(next.Input, &input)
	if err != nil || !cmp.Equal(input.Continued.Unlisted, []string{"hangs"}) {
		t.Errorf("the next run gets %+v, %v", input.Continued, err)
	}
}

// A conversation's listing outlives the turn that started it: the next turn has the tools of a slow server.
func TestListingOutlivesATurn(t *testing.T) {
	t.Parallel()
	c := newTalk(t, plan.AgentSkeleton{Servers: []plan.ServerSkeleton{{Name: "slow", TaskQueue: "q"}}})
	c.f.level = activities.LevelListing
	begunBefore(c.TestWorkflowEnvironment)
	c.OnActivity(c.f.ListTools, mock.Anything, mock.Anything).After(30*time.Second).Return(activities.ListToolsOut{Tools: 1}, nil)
	listings := 0
	c.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
		if info.ActivityType.Name == "ListTools" {
			listings++
		}
	})
	for minute := range 5 {
		c.say(time.Duration(1+minute)*time.Minute, "hello")
	}
	c.keepOpen(t, time.Hour)
	if len(c.replies) != 5 || len(c.failed) > 0 || listings != 1 {
		t.Errorf("replies %+v, failed %v, %d listings", c.replies, c.failed, listings)
	}
}

// An agent that has had no tools at all does not end before its servers have listed them, and is asked again then.
func TestAgentWaitsForItsFirstTools(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		listed time.Duration // the time that the server needs
		asked  int           // model calls
	}{
		"slow": {20 * time.Second, 2}, "while the model works": {firstListing + time.Second, 2}, "silent": {time.Hour, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{}
			env := newEnv(t, f)
			begunBefore(env)
			start := env.Now()
			var inputs []activities.Input
			asked := 0
			f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
				asked++
				inputs = append(inputs, in.Inputs...)
				return say("done"), nil
			}
			env.OnActivity(f.ListTools, mock.Anything, mock.Anything).After(tt.listed).Return(activities.ListToolsOut{Tools: 1}, nil)
			env.OnActivity(f.Generate, mock.Anything, mock.Anything).After(2 * time.Second).Return(f.Generate)
			in := agentInput(agent.Iterating, 5)
			in.Level, in.Agent.Servers = activities.LevelListing, []plan.ServerSkeleton{{Name: "only", TaskQueue: "q"}}
			env.ExecuteWorkflow(IteratingAgent, in)
			got := agentEnd(t, env)
			if got.Status != agent.StatusCompleted || asked != tt.asked {
				t.Errorf("%d model calls, want %d; %+v", asked, tt.asked, got)
			}
			if reported := len(inputs) == 1 && inputs[0].Kind == activities.InputTools; reported != (tt.asked == 2) {
				t.Errorf("inputs %+v", inputs)
			}
			if took := env.Now().Sub(start); took > firstListing+lastListing+10*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}
