package workflows

import (
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// serverAway is the error of a call to an unavailable server. An empty why means that waiting does not help.
func serverAway(why string) error {
	return temporal.NewApplicationErrorWithOptions("server s: "+why, activities.ErrorServerUnavailable, temporal.ApplicationErrorOptions{
		NonRetryable: true, Details: []any{activities.ServerAway{Why: why}},
	})
}

// TestCallWaitsForItsServer: an unsent call waits for its server for as long as a call may take, and people see the wait.
func TestCallWaitsForItsServer(t *testing.T) {
	t.Parallel()
	f := &fake{plan: planOf([]string{"default"}), model: script(ask("s.write", "s.write"), say("done"))}
	f.plan.Stages[0].Agents[0].Timeouts.Tool = plan.Duration(time.Minute)
	env := newEnv(t, f)
	var start time.Time
	var made int
	f.tool = func(in activities.CallToolIn) (activities.CallToolOut, error) {
		if start.IsZero() {
			start = env.Now()
		}
		if env.Now().Sub(start) < 40*time.Second {
			if in.Last {
				t.Errorf("the last try is %s after the first", env.Now().Sub(start))
			}
			return activities.CallToolOut{}, serverAway("connection refused")
		}
		made++
		return activities.CallToolOut{Status: "success"}, nil
	}
	env.RegisterDelayedCallback(func() {
		now := statusOf(t, env)
		if now.Status != agent.StatusWaitingProvider || len(now.Outages) != 1 || now.Outages[0].Server != "s" ||
			!strings.HasPrefix(now.WaitingFor, "server s: connection refused, since ") {
			t.Errorf("status %+v", now)
		}
	}, 20*time.Second)
	got := investigated(t, env)
	if got.Status != agent.StatusCompleted || made != 2 || len(f.called) > 20 {
		t.Errorf("made %d times, tried %d times: %+v", made, len(f.called), got)
	}
}

// A call that is tried again knows how often its earlier tries may have sent it.
func TestTriesOfACallCountSends(t *testing.T) {
	t.Parallel()
	f := &fake{model: script(ask("s.set"), ask("s.set"), say("done"))}
	env := newEnv(t, f)
	var sent []int
	f.tool = func(in activities.CallToolIn) (activities.CallToolOut, error) {
		sent = append(sent, in.Sent)
		if in.Last || in.Iteration > 1 {
			return activities.CallToolOut{Status: "success"}, nil
		}
		away := activities.ServerAway{Sent: in.Sent + 2}
		return activities.CallToolOut{}, temporal.NewNonRetryableApplicationError("gone", activities.ErrorServerUnavailable, nil, away)
	}
	env.ExecuteWorkflow(IteratingAgent, agentInput(agent.Iterating, 5))
	if got := agentEnd(t, env); got.Status != agent.StatusCompleted || !slices.Equal(sent, []int{0, 2, 4, 0}) {
		t.Errorf("the tries knew of %v sends: %+v", sent, got)
	}
}

// A server that does not come back costs one call its time, and later calls three tries each.
func TestServerThatDoesNotComeBack(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		why  string
		took time.Duration // of the first call, at least
	}{"may be back": {"connection refused", time.Minute}, "refuses": {"", 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{model: script(ask("s.write"), ask("s.write"), say("done"))}
			env := newEnv(t, f)
			var at []time.Duration
			start := env.Now()
			f.tool = func(in activities.CallToolIn) (activities.CallToolOut, error) {
				at = append(at, env.Now().Sub(start))
				if in.Last {
					return activities.CallToolOut{Status: "error", ErrorType: activities.ResultUnavailable}, nil
				}
				return activities.CallToolOut{}, serverAway(tt.why)
			}
			in := agentInput(agent.Iterating, 5)
			in.Agent.Timeouts.Tool = plan.Duration(time.Minute)
			env.ExecuteWorkflow(IteratingAgent, in)
			if got := agentEnd(t, env); got.Status != agent.StatusCompleted {
				t.Errorf("got %+v", got)
			}
			first := slices.IndexFunc(f.called, func(in activities.CallToolIn) bool { return in.Last })
			if took := at[first]; took < tt.took || took > tt.took+longestServerRetry {
				t.Errorf("the first call took %s", took)
			}
			if second := len(at) - first - 1; second != serverTries {
				t.Errorf("the second call was tried %d times", second)
			}
		})
	}
}
