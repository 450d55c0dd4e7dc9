package workflows

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
)

// A worker that dies in the midst of a call is nobody's fault; a call that takes each
// worker with it ends with an error that says so, and of a tool the model is told.
func TestWorkersThatDie(t *testing.T) {
	t.Parallel()
	hooked, mocked := planOf([]string{"default"}), planOf([]string{"default"})
	hooked.Stages[0].PreProcess, mocked.Stages[0].Agents[0].Mock = "h", "m"
	tests := map[string]struct {
		plan     agent.Plan
		activity string // whose workers die
		deaths   int
		status   agent.Status
		says     string // the error, or what the model is told
	}{
		"one of a model call":  {planOf([]string{"default"}), "Generate", 1, agent.StatusCompleted, ""},
		"all of a model call":  {planOf([]string{"default"}), "Generate", maxDeaths, agent.StatusFailed, "model call of A: 10 workers, "},
		"all of a tool's call": {planOf([]string{"default"}), "CallTool", maxDeaths, agent.StatusCompleted, "lab.read: 10 workers, "},
		"nearly all":           {planOf([]string{"default"}), "CallTool", maxDeaths - 1, agent.StatusCompleted, ""},
		"all of a hook":        {hooked, "RunHook", maxDeaths, agent.StatusFailed, "pre_process h: 10 workers, "},
		"all of a mock":        {mocked, "RunMock", maxDeaths, agent.StatusFailed, "work of A: 10 workers, "},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := script(say("done"))
			if tt.activity == "CallTool" {
				model = script(ask("lab.read"), say("done"))
			}
			f, told, tries := &fake{plan: tt.plan}, "", map[int]bool{}
			f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
				for _, input := range in.Inputs {
					told += input.Text
				}
				return model(in)
			}
			env := newEnv(t, f)
			start, deaths := env.Now(), 0
			env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{&reaper{dies: func(info activity.Info, in any) bool {
				if info.ActivityType.Name != tt.activity {
					return false
				}
				if call, ok := in.(activities.GenerateIn); ok {
					tries[call.Try] = true
				}
				if info.Attempt == 1 { // the environment tries ten times what Temporal does not
					deaths++
				}
				return deaths <= tt.deaths
			}}}})
			got := investigate(t, env)
			if got.Status != tt.status || !strings.Contains(got.Error+told, tt.says) || tt.says == "" && got.Error+told != "" {
				t.Errorf("%s: %s; told %q", got.Status, got.Error, told)
			}
			if deaths != min(tt.deaths+1, maxDeaths) || tt.activity == "Generate" && len(tries) != deaths { // who watches sees each anew
				t.Errorf("%d workers died, tries %v", deaths, tries)
			}
			if took := env.Now().Sub(start); tt.deaths == maxDeaths && (took < 8*time.Minute || took > time.Hour) {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// reaper ends attempts of activities as Temporal does when a worker has died.
type reaper struct {
	interceptor.WorkerInterceptorBase
	interceptor.ActivityInboundInterceptorBase
	dies func(info activity.Info, in any) bool
}

func (r *reaper) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &reaper{ActivityInboundInterceptorBase: interceptor.ActivityInboundInterceptorBase{Next: next}, dies: r.dies}
}

func (r *reaper) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	if r.dies(activity.GetInfo(ctx), in.Args[0]) {
		return nil, temporal.NewHeartbeatTimeoutError()
	}
	return r.Next.ExecuteActivity(ctx, in)
}
