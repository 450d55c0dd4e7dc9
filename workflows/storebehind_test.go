package workflows

import (
	"strings"
	"testing"

	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// TestNoWayAroundAStoreThatIsBehind: if any activity finds the store older than Temporal's history, the investigation fails
// with that reason and makes no more calls. Error edges, success policies and other agents or stages do not avoid the stop.
func TestNoWayAroundAStoreThatIsBehind(t *testing.T) {
	t.Parallel()
	behind := temporal.NewNonRetryableApplicationError("the store has lost entry 7", activities.ErrorStoreBehind, nil)
	fails := func(activities.GenerateIn) (activities.GenerateOut, error) { return activities.GenerateOut{}, behind }
	type scripts = map[string]func(activities.GenerateIn) (activities.GenerateOut, error)
	agents := func(names ...string) func(*fake) {
		return func(f *fake) { f.plan = planOf(names, []string{"default"}) }
	}
	orchestrator := func(f *fake) {
		f.plan = planOf([]string{"default"}, []string{"default"})
		sub := plan.Agent{Name: "Logs", Type: "default", MaxIterations: 5, Providers: []plan.Provider{{Model: "m"}}}
		f.plan.Stages[0].Agents[0].Orchestrator = &plan.Orchestrator{
			OrchestratorLimits: plan.OrchestratorLimits{MaxConcurrent: 2}, Agents: []plan.Agent{sub},
		}
	}
	for name, tt := range map[string]struct {
		plan   func(*fake)
		models scripts
		also   func(*fake)
		slow   string
		asked  string // executions whose models may be asked, in any order
		calls  int    // of tools
	}{
		"a model call": {
			plan: agents("default"), models: scripts{"s1/A": fails}, asked: "s1/A",
		},
		"a tool call": {
			plan: agents("default"), models: scripts{"s1/A": script(ask("lab.write"))}, asked: "s1/A", calls: 1,
			also: func(f *fake) {
				f.tool = func(activities.CallToolIn) (activities.CallToolOut, error) { return activities.CallToolOut{}, behind }
			},
		},
		"one of two agents": {
			plan: agents("default", "default"), models: scripts{"s1/B": fails}, asked: "s1/A s1/B",
		},
		"one of two agents, while the other is at work": {
			plan: agents("default", "default"), models: scripts{"s1/B": fails, "s1/A": script(ask("lab.write"))},
			slow: "s1/A", asked: "s1/B",
		},
		"before a synthesis": {
			plan: agents("default", "default", "synthesis"), models: scripts{"s1/B": fails}, asked: "s1/A s1/B",
		},
		"a synthesis": {
			plan: agents("default", "default", "synthesis"), models: scripts{"s1/Syn": fails}, asked: "s1/A s1/B s1/Syn",
		},
		"a sub-agent": {
			plan: orchestrator, models: scripts{"s1/A": script(dispatch("Logs", "Logs"), say("")), "s1/A/Logs-1": fails},
			slow: "s1/A/Logs-2", asked: "s1/A s1/A s1/A/Logs-1",
		},
		"a hook": {
			plan: agents("default"), asked: "",
			also: func(f *fake) {
				f.plan.Stages[0].PreProcess = "h"
				f.hook = func(activities.RunHookIn) (activities.RunHookOut, error) { return activities.RunHookOut{}, behind }
			},
		},
		"the end of a stage": {
			plan: agents("default"), asked: "s1/A",
			also: func(f *fake) { f.saveErr = func(activities.SaveStageIn) error { return behind } },
		},
		"a stage beside another one": {
			plan: func(f *fake) {
				f.plan = planOf([]string{"default"}, []string{"default"}, []string{"default"})
				f.plan.Stages[2].Routing.After = []string{"s1", "s2"}
			},
			models: scripts{"s1/A": fails, "s2/A": script(ask("lab.write"))}, slow: "s2/A", asked: "s1/A",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{model: cast(tt.models)}
			tt.plan(f)
			if len(f.plan.Stages) == 2 {
				f.plan.Stages[0].Routing.ErrorNext = "s2"
			}
			if tt.also != nil {
				tt.also(f)
			}
			env := newEnv(t, f)
			if tt.slow != "" {
				f.slow(tt.slow)(env)
			}
			investigate(t, env)
			var asked []string
			for _, in := range f.generated {
				asked = append(asked, in.Ref.Execution)
			}
			if !within(asked, strings.Fields(tt.asked)) || len(f.called) != tt.calls {
				t.Errorf("models of %v were asked, and %d tools", asked, len(f.called))
			}
			if len(f.finished) != 1 {
				t.Fatalf("finished %d times", len(f.finished))
			}
			in := f.finished[0]
			if in.Status != agent.StatusFailed || in.EndReason != agent.EndStoreBehind || !strings.Contains(in.Error, "has lost entry 7") {
				t.Errorf("finished %s, %s: %s", in.Status, in.EndReason, in.Error)
			}
		})
	}
}

// within reports whether all words are among the allowed ones, each at most as often.
func within(words, allowed []string) bool {
	left := map[string]int{}
	for _, w := range allowed {
		left[w]++
	}
	for _, w := range words {
		if left[w]--; left[w] < 0 {
			return false
		}
	}
	return true
}

// TestStageThatIsNotSavedKeepsItsResult: the restored store has lost the writes of the first stage, and reports this at the
// stage's end. The investigation keeps the stage's result and saves the end itself.
func TestStageThatIsNotSavedKeepsItsResult(t *testing.T) {
	t.Parallel()
	f := &fake{plan: planOf([]string{"default"}, []string{"default"})}
	f.plan.Stages[0].Routing.ErrorNext = "s2"
	f.saveErr = func(in activities.SaveStageIn) error {
		if in.Stage.Name == "s1" {
			return temporal.NewNonRetryableApplicationError("the stage is too large", activities.ErrorConfiguration, nil)
		}
		return nil
	}
	env := newEnv(t, f)
	got := investigate(t, env)
	if got.Status != agent.StatusCompleted || len(f.finished) != 1 {
		t.Fatalf("%s: %s", got.Status, got.Error)
	}
	in := f.finished[0]
	if len(in.Unsaved) != 1 || in.Unsaved[0].Result != "s1/A" || in.Unsaved[0].Status != agent.StatusFailed ||
		in.Unsaved[0].Error != "the stage is too large" || in.Usage.ModelCalls != 2 {
		t.Errorf("finished with %+v, and usage %+v", in.Unsaved, in.Usage)
	}
}
