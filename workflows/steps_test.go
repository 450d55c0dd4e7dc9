package workflows

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// localTrouble configures failures of local activities.
type localTrouble struct {
	name string
	says error // nil = a panic
	runs bool  // before it goes wrong, so that only the result is lost
	want int   // local tries; 0 = the error may end them at once
}

var localTroubles = []localTrouble{
	{name: "the store is away", says: temporal.NewApplicationError("away", activities.ErrorStore), want: localTries},
	{name: "only the result is lost", says: temporal.NewApplicationError("died", activities.ErrorStore), runs: true, want: localTries},
	{name: "this worker cannot", says: temporal.NewApplicationError("newer", activities.ErrorWorkerCannot), want: 1},
	{name: "a panic"},
}

// TestStepsOutliveTheirLocalTries: steps that touch only our own store are local activities. If they fail, regular
// activities take over, and the workflow ends as usual.
func TestStepsOutliveTheirLocalTries(t *testing.T) {
	t.Parallel()
	type scene func(*testing.T, *fake, *testsuite.TestWorkflowEnvironment) (outcome any)
	investigation := func(t *testing.T, f *fake, env *testsuite.TestWorkflowEnvironment) any { return investigate(t, env) }
	anAgent := func(pattern agent.Pattern, workflow any, change func(*fake, *AgentInput)) scene {
		return func(t *testing.T, f *fake, env *testsuite.TestWorkflowEnvironment) any {
			in := agentInput(pattern, 3)
			if change != nil {
				change(f, &in)
			}
			env.ExecuteWorkflow(workflow, in)
			return agentEnd(t, env)
		}
	}
	for _, tt := range []struct {
		steps string // all of them, in alphabetical order
		run   scene
	}{
		{"Finish Resolve SaveStage", investigation},
		{"Finish Post Resolve SaveStage SaveStatus", func(t *testing.T, f *fake, env *testsuite.TestWorkflowEnvironment) any {
			env.RegisterDelayedCallback(func() { env.SignalWorkflow(SignalGuide, "look") }, time.Minute)
			f.plan.Stages[0].Routing.DefaultNext = plan.TargetClarification // it waits
			f.plan.Interrupts.Clarification = plan.Interrupt{Resume: "s1", Expires: plan.Duration(time.Hour)}
			got := investigate(t, env)
			return fmt.Sprint(got.Status, got.EndReason, len(f.posted) > 0)
		}},
		{"CallOwnTools ListTools", anAgent(agent.Iterating, IteratingAgent, func(f *fake, in *AgentInput) {
			own := ask(agent.ToolCoreMemoryAppend)
			own.Calls[0].Own = true
			f.model = script(own, say("done"))
			in.Agent.Servers = []plan.ServerSkeleton{{Name: "lab"}, {Name: "elsewhere", TaskQueue: "tools"}}
		})},
		{"PlanCalls PlanResult", anAgent(agent.ToolPlan, ToolPlanAgent, nil)},
		{"Serve", anAgent(agent.Service, ServiceAgent, nil)},
		{"Unanswered", anAgent(agent.SingleShot, SingleShotAgent, func(f *fake, _ *AgentInput) {
			f.model = func(activities.GenerateIn) (activities.GenerateOut, error) {
				return activities.GenerateOut{}, away("CredentialsRefused", 0)
			}
		})},
		{"EndConversation OpenConversation ReadReply", func(t *testing.T, f *fake, env *testsuite.TestWorkflowEnvironment) any {
			f.speaker = plan.AgentSkeleton{Name: "Memo", Models: []string{"m"}, MaxIterations: 3, Pattern: agent.Iterating}
			c := &talk{TestWorkflowEnvironment: env, f: f}
			c.say(time.Minute, "hello")
			c.keepOpen(t, time.Hour)
			return c.replies
		}},
	} {
		t.Run(tt.steps, func(t *testing.T) {
			t.Parallel()
			begin := func(trouble *localTrouble) (*watcher, any) {
				f := &fake{plan: planOf([]string{"default"})}
				env := newEnv(t, f)
				w := &watcher{ways: &ways{trouble: trouble, local: map[string]int{}, regular: map[string]int{}}}
				env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{w}, DeadlockDetectionTimeout: time.Minute})
				return w, tt.run(t, f, env)
			}
			undisturbed, want := begin(nil)
			if got := names(undisturbed.local); got != tt.steps {
				t.Fatalf("local activities: %s", got)
			}
			for _, trouble := range localTroubles {
				w, got := begin(&trouble)
				if diff := cmp.Diff(asJSON(t, want), asJSON(t, got)); diff != "" {
					t.Errorf("%s (-undisturbed +got):\n%s", trouble.name, diff)
				}
				for step, n := range undisturbed.local {
					if w.regular[step] != undisturbed.regular[step]+n || trouble.want > 0 && w.local[step] != n*trouble.want {
						t.Errorf("%s: %s: %d local tries, %d regular ones", trouble.name, step, w.local[step], w.regular[step])
					}
				}
			}
		})
	}
}

// TestStepsThatFailForGood: errors that a regular activity would also return are not retried as one.
func TestStepsThatFailForGood(t *testing.T) {
	t.Parallel()
	f := &fake{resolve: func(context.Context) error {
		return temporal.NewNonRetryableApplicationError("no such chain", activities.ErrorInvalidRequest, nil)
	}}
	env := newEnv(t, f)
	w := &watcher{ways: &ways{local: map[string]int{}, regular: map[string]int{}}}
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{w}, DeadlockDetectionTimeout: time.Minute})
	env.ExecuteWorkflow(TypeInvestigation, json.RawMessage(`{"chain":"chain"}`))
	failed, _ := errors.AsType[*temporal.ApplicationError](env.GetWorkflowError())
	if failed == nil || failed.Type() != activities.ErrorInvalidRequest || w.local["Resolve"] != 1 || w.regular["Resolve"] != 0 {
		t.Errorf("ended with %v after %d local tries and %d regular ones", env.GetWorkflowError(), w.local["Resolve"], w.regular["Resolve"])
	}
}

func names(counts map[string]int) string { return strings.Join(slices.Sorted(maps.Keys(counts)), " ") }

func asJSON(t *testing.T, v any) string {
	t.Helper()
	body, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// watcher counts local and regular runs of activities, and makes local ones fail.
type watcher struct {
	interceptor.WorkerInterceptorBase
	interceptor.ActivityInboundInterceptorBase
	*ways
}

type ways struct {
	mu             sync.Mutex
	local, regular map[string]int
	trouble        *localTrouble
}

func (w *watcher) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &watcher{ActivityInboundInterceptorBase: interceptor.ActivityInboundInterceptorBase{Next: next}, ways: w.ways}
}

func (w *watcher) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	info := activity.GetInfo(ctx)
	w.mu.Lock()
	if info.IsLocalActivity {
		w.local[info.ActivityType.Name]++
	} else {
		w.regular[info.ActivityType.Name]++
	}
	w.mu.Unlock()
	if w.trouble == nil || !info.IsLocalActivity {
		return w.Next.ExecuteActivity(ctx, in)
	}
	if w.trouble.runs {
		if _, err := w.Next.ExecuteActivity(ctx, in); err != nil {
			return nil, err
		}
	}
	if w.trouble.says == nil {
		panic("of the test")
	}
	return nil, w.trouble.says
}
