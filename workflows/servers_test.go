package workflows

import (
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
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
)

// begunBefore makes the workflow one that an older worker has begun, whose agents do not wait for servers that start. Call it
// after the workflows are registered.
func begunBefore(env *testsuite.TestWorkflowEnvironment) {
	env.OnGetVersion(versionAwaitServers, workflow.DefaultVersion, workflow.Version(1)).Return(workflow.DefaultVersion)
	env.OnGetVersion(versionBoundListing, workflow.DefaultVersion, workflow.Version(1)).Return(workflow.Version(1))
}

// starting is the error for a server that has not listed its tools.
func starting(away activities.ServerAway) error {
	return temporal.NewApplicationErrorWithOptions("server s: starting", activities.ErrorServerUnavailable, temporal.ApplicationErrorOptions{
		NonRetryable: true, Details: []any{away},
	})
}

// TestAgentWaitsForServersThatStart checks how much time an agent gives a server before it asks its model, and what it reports.
func TestAgentWaitsForServersThatStart(t *testing.T) {
	t.Parallel()
	const try = 4 * time.Second // how long a request takes here, whatever its limit is
	type answer = func(given time.Duration, in activities.ListToolsIn) (activities.ListToolsOut, error)
	lists := func(time.Duration, activities.ListToolsIn) (activities.ListToolsOut, error) {
		return activities.ListToolsOut{Tools: 1}, nil
	}
	hangs := func(before time.Duration, running bool) answer {
		return func(given time.Duration, in activities.ListToolsIn) (activities.ListToolsOut, error) {
			if in.Last {
				return activities.ListToolsOut{Error: "it did not list its tools in time", Detail: "last"}, nil
			}
			away := activities.ServerAway{Pending: plan.Duration(before + given), Running: running, Output: "npm http fetch"}
			return activities.ListToolsOut{}, starting(away)
		}
	}
	startsAfter := func(d time.Duration) answer {
		return func(given time.Duration, in activities.ListToolsIn) (activities.ListToolsOut, error) {
			if given < d {
				return hangs(0, false)(given, in)
			}
			return lists(given, in)
		}
	}
	late := []record.NotChecked{{Server: "s", Why: "it did not list its tools in time", Detail: "last"}}
	for name, tt := range map[string]struct {
		list    answer
		startup time.Duration
		given   time.Duration // the sum of the limits of all requests
		asked   time.Duration // the most until the model is asked
		missing []record.NotChecked
	}{
		"lists at once":     {list: lists, given: firstStartTry, asked: try},
		"starts in time":    {list: startsAfter(time.Minute), given: 75 * time.Second, asked: 4 * try},
		"never starts":      {list: hangs(0, false), given: defaultStartup, asked: 8 * try, missing: late},
		"bounded by a plan": {list: hangs(0, false), startup: 20 * time.Second, given: 20 * time.Second, asked: 3 * try, missing: late},
		"a plan of a day":   {list: hangs(0, false), startup: 24 * time.Hour, given: maxStartup, asked: 100 * try, missing: late},
		"runs, and hangs":   {list: hangs(0, true), given: runningStartup, asked: 4 * try, missing: late},
		"has hung before":   {list: hangs(time.Hour, false), given: 2 * firstStartTry, asked: 2 * try, missing: late},
		"cannot be started": {
			list: func(time.Duration, activities.ListToolsIn) (activities.ListToolsOut, error) {
				return activities.ListToolsOut{Error: "it cannot be started", Detail: "no such file or directory"}, nil
			},
			given: firstStartTry, asked: try,
			missing: []record.NotChecked{{Server: "s", Why: "it cannot be started", Detail: "no such file or directory"}},
		},
		"refuses": {
			list: func(_ time.Duration, in activities.ListToolsIn) (activities.ListToolsOut, error) {
				if in.Last {
					return activities.ListToolsOut{Error: "it returned HTTP status 401"}, nil
				}
				return activities.ListToolsOut{}, serverAway("")
			},
			given: 35 * time.Second, asked: 3*try + 3*time.Second,
			missing: []record.NotChecked{{Server: "s", Why: "it returned HTTP status 401"}},
		},
		"another error": {
			list: func(time.Duration, activities.ListToolsIn) (activities.ListToolsOut, error) {
				return activities.ListToolsOut{}, temporal.NewNonRetryableApplicationError("no such agent", "NotFound", nil)
			},
			given: firstStartTry, asked: try, missing: []record.NotChecked{{Server: "s", Why: unlistable, Detail: "no such agent"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{}
			env := newEnvFor(t, f)
			begun := env.Now()
			var asked, given time.Duration
			f.model = func(activities.GenerateIn) (activities.GenerateOut, error) {
				asked = env.Now().Sub(begun)
				return say("done"), nil
			}
			f.list = func(in activities.ListToolsIn) (activities.ListToolsOut, error) {
				given += in.Within.D()
				return tt.list(given, in)
			}
			env.OnActivity(f.ListTools, mock.Anything, mock.Anything).After(try).Return(f.ListTools)
			in := agentInput(agent.Iterating, 5)
			in.Level = activities.LevelListing
			in.Agent.Servers = []plan.ServerSkeleton{{Name: "s", TaskQueue: "q"}}
			in.Agent.Timeouts = plan.Timeouts{Startup: plan.Duration(tt.startup), Agent: plan.Duration(30 * time.Second)}
			var saw AgentStatus
			env.RegisterDelayedCallback(func() {
				value, err := env.QueryWorkflow(QueryStatus)
				if err != nil || value.Get(&saw) != nil {
					t.Errorf("status: %v", err)
				}
			}, try*5/2)
			env.ExecuteWorkflow(IteratingAgent, in)
			got := agentEnd(t, env)
			if got.Status != agent.StatusCompleted || given != tt.given || asked > tt.asked {
				t.Errorf("the server is given %s, want %s; the model is asked after %s, want at most %s: %+v", given, tt.given, asked, tt.asked, got)
			}
			if diff := cmp.Diff(tt.missing, got.NotChecked); diff != "" {
				t.Error(diff)
			}
			o := saw.Outage
			if waits := asked > 2*try && !strings.HasPrefix(name, "refuses"); waits != (o != nil) {
				t.Errorf("after two requests, the status shows %+v", o)
			} else if waits && (o.Server != "s" || !strings.HasSuffix(o.Error, ": npm http fetch")) {
				t.Errorf("the status shows %+v", o)
			}
		})
	}
}

// An agent that is told to conclude does not go on waiting.
func TestConcludeEndsTheWaitForAServer(t *testing.T) {
	t.Parallel()
	f := &fake{}
	env := newEnvFor(t, f)
	start := env.Now()
	var asked time.Duration
	f.model = func(activities.GenerateIn) (activities.GenerateOut, error) {
		asked = env.Now().Sub(start)
		return say("done"), nil
	}
	list := env.OnActivity(f.ListTools, mock.Anything, mock.Anything).After(30 * time.Second)
	list.Return(activities.ListToolsOut{}, starting(activities.ServerAway{Pending: plan.Duration(time.Second)}))
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(SignalConclude, nil) }, 40*time.Second)
	in := agentInput(agent.Iterating, 5)
	in.Level, in.Agent.Servers = activities.LevelListing, []plan.ServerSkeleton{{Name: "s", TaskQueue: "q"}}
	env.ExecuteWorkflow(IteratingAgent, in)
	got := agentEnd(t, env)
	if got.StopReason != agent.StopConcluded || asked > time.Minute || len(got.NotChecked) != 1 {
		t.Errorf("asked after %s: %+v", asked, got)
	}
}

// TestPartialWithoutAServer checks that an investigation whose agent never had a server is partial, and says so to Finish.
func TestPartialWithoutAServer(t *testing.T) {
	t.Parallel()
	f := &fake{plan: planOf([]string{"default"}), level: activities.LevelListing}
	f.plan.Stages[0].Agents[0].Servers = []plan.Server{{Name: "k8s"}, {Name: "prom"}}
	f.list = func(in activities.ListToolsIn) (activities.ListToolsOut, error) {
		if in.Server == "k8s" {
			return activities.ListToolsOut{Error: "it cannot be started", Detail: "no such file"}, nil
		}
		return activities.ListToolsOut{Tools: 1}, nil
	}
	env := newEnv(t, f)
	got := investigated(t, env)
	want := []record.NotChecked{{Server: "k8s", Agents: []string{"A"}, Why: "it cannot be started", Detail: "no such file"}}
	if got.Status != agent.StatusCompleted || got.EndReason != agent.EndPartial || !cmp.Equal(got.NotChecked, want) {
		t.Errorf("got %+v", got)
	}
	if in := f.finished[0]; in.EndReason != agent.EndPartial || !cmp.Equal(in.Envelope.NotChecked, want) {
		t.Errorf("Finish gets %+v", in)
	}
	if agents := f.saved[0].Stage.Envelope.Agents; len(agents) != 1 || len(agents[0].NotChecked) != 1 {
		t.Errorf("the stage has %+v", agents)
	}
	const line = "`Not checked: k8s (it cannot be started: no such file) · agent A`"
	if now := statusOf(t, env); !cmp.Equal(now.NotChecked, want) || !strings.Contains(statusTable(now), line) {
		t.Errorf("status %+v", now)
	}
}
