package workflows

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// TestWorkersThatDie: a worker's death during a call is not an attempt of that call. A call that kills every
// worker ends with a clear error; for a tool call, the model gets the error.
func TestWorkersThatDie(t *testing.T) {
	t.Parallel()
	const always = 1000
	hooked, mocked, backed := planOf([]string{"default"}), planOf([]string{"default"}), planOf([]string{"default"})
	backed.Stages[0].Agents[0].Providers = append(backed.Stages[0].Agents[0].Providers, plan.Provider{Model: "other"})
	hooked.Stages[0].PreProcess, mocked.Stages[0].Agents[0].Mock = "h", "m"
	tests := map[string]struct {
		plan         plan.Plan
		activity     string // whose workers die
		workerDeaths int
		status       agent.Status
		says         string // the error, or what the model is told
	}{
		"one of a model call":  {planOf([]string{"default"}), "Generate", 1, agent.StatusCompleted, ""},
		"all of a model call":  {planOf([]string{"default"}), "Generate", always, agent.StatusFailed, "model call by A: "},
		"a fallback as well":   {backed, "Generate", always, agent.StatusFailed, "model call by A: "},
		"all of a tool's call": {planOf([]string{"default"}), "CallTool", always, agent.StatusCompleted, "lab.read: "},
		"many in a short time": {planOf([]string{"default"}), "CallTool", maxWorkerDeaths + 1, agent.StatusCompleted, ""},
		"all of a hook":        {hooked, "RunHook", always, agent.StatusFailed, "pre_process h: "},
		"all of a mock":        {mocked, "RunMock", always, agent.StatusFailed, "work of A: "},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := script(say("done"))
			if tt.activity == "CallTool" {
				model = script(ask("lab.read"), say("done"))
			}
			f, received, tries := &fake{plan: tt.plan}, "", map[int]bool{}
			f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
				for _, input := range in.Inputs {
					received += input.Text
				}
				return model(in)
			}
			env := newEnv(t, f)
			start, workerDeaths := env.Now(), 0
			reaping := &reaper{dies: func(info activity.Info, in any) bool {
				if info.ActivityType.Name != tt.activity {
					return false
				}
				if call, ok := in.(activities.GenerateIn); ok {
					tries[call.Try] = true
				}
				if info.Attempt == 1 { // the environment tries ten times what Temporal does not
					workerDeaths++
				}
				return workerDeaths <= tt.workerDeaths
			}}
			env.SetWorkerOptions(worker.Options{
				DeadlockDetectionTimeout: time.Minute, Interceptors: []interceptor.WorkerInterceptor{reaping},
			})
			got := investigate(t, env)
			if got.Status != tt.status || !strings.Contains(got.Error+received, tt.says) || tt.says == "" && got.Error+received != "" {
				t.Errorf("%s: %s; told %q", got.Status, got.Error, received)
			}
			if tt.activity == "Generate" && len(tries) != workerDeaths { // who watches sees each anew
				t.Errorf("%d workers died, tries %v", workerDeaths, tries)
			}
			took := env.Now().Sub(start)
			if tt.workerDeaths == always && (workerDeaths < maxWorkerDeaths || workerDeaths > 3*maxWorkerDeaths ||
				took < minDying || took > minDying+3*longestBackoff) {
				t.Errorf("%d workers died, in %s", workerDeaths, took)
			}
		})
	}
}

// TestDeathsDriftApart: a three-minute call dies with the workers that another call kills. Before it is
// given up, it is retried at a moment when the other call is not running.
func TestDeathsDriftApart(t *testing.T) {
	t.Parallel()
	const length = 3 * time.Minute
	for pair := range 200 {
		var guilty []time.Duration // when it is made again
		for n, at := 1, time.Duration(0); at < 3*time.Hour; n++ {
			at += HeartbeatTimeout + apart(n, fmt.Sprintf("inv-%d/A/", pair))
			guilty = append(guilty, at)
		}
		n, at := 1, time.Duration(0)
		for {
			at += HeartbeatTimeout + apart(n, fmt.Sprintf("inv-%d/B/", pair))
			next := slices.IndexFunc(guilty, func(g time.Duration) bool { return g+HeartbeatTimeout > at })
			if guilty[next] > at+length {
				break
			}
			at = max(at, guilty[next])
			if n++; n >= maxWorkerDeaths && at >= minDying {
				t.Errorf("pair %d: an innocent call was given up after %d deaths, %s", pair, n, at)
				break
			}
		}
	}
}

// reaper ends activity attempts as Temporal does after a worker's death.
type reaper struct {
	interceptor.WorkerInterceptorBase
	interceptor.ActivityInboundInterceptorBase
	dies    func(info activity.Info, in any) bool
	details []any // of the last heartbeat
}

func (r *reaper) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &reaper{ActivityInboundInterceptorBase: interceptor.ActivityInboundInterceptorBase{Next: next}, dies: r.dies, details: r.details}
}

func (r *reaper) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	if r.dies(activity.GetInfo(ctx), in.Args[0]) {
		return nil, temporal.NewHeartbeatTimeoutError(r.details...)
	}
	return r.Next.ExecuteActivity(ctx, in)
}
