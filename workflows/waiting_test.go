package workflows

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
)

// needy is a model that requests calls with arguments of 4 KB that need approval, and then concludes.
func needy(calls int) func(activities.GenerateIn) (activities.GenerateOut, error) {
	out := say("")
	for n := range calls {
		out.Calls = append(out.Calls, activities.Call{Name: "b", Approve: &activities.Approve{
			ID: fmt.Sprintf("c1_%d", n), Risk: agent.RiskHigh, Arguments: strings.Repeat("x", 4<<10), Digest: fmt.Sprint(n),
		}})
	}
	return script(out, say("found"))
}

// TestArgumentsAreToldOnce: many calls of sub-agents wait for approval, and people decide one a minute. All parents know
// every call in full, although it was sent once.
func TestArgumentsAreToldOnce(t *testing.T) {
	t.Parallel()
	const subs, each = 5, 8
	cases := map[string]func(activities.GenerateIn) (activities.GenerateOut, error){
		"s1/A": script(dispatch("Logs", "Logs", "Logs", "Logs", "Logs"), say("I wait")),
	}
	for n := range subs {
		cases[fmt.Sprintf("s1/A/Logs-%d", n+1)] = needy(each)
	}
	f := &fake{plan: leading(), model: cast(cases)}
	env := newEnv(t, f)
	received := &tally{times: map[string]int{}, bytes: map[string]int{}}
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute, Interceptors: []interceptor.WorkerInterceptor{received}})
	for n := range subs * each {
		env.RegisterDelayedCallback(func() {
			waiting := statusOf(t, env).Waiting
			if len(waiting) != subs*each-n {
				t.Errorf("%d calls wait, want %d", len(waiting), subs*each-n)
				return
			}
			for _, a := range waiting {
				if len(a.Arguments) != 4<<10 || a.Tool != "b" || a.Expires.IsZero() {
					t.Fatalf("waits: %+v", a)
				}
			}
			one := waiting[n%len(waiting)]
			quiet := &testsuite.TestUpdateCallback{OnAccept: func() {}, OnReject: func(err error) { t.Error(err) }, OnComplete: func(any, error) {}}
			if err := env.UpdateWorkflowByID(one.WorkflowID, UpdateDecide, fmt.Sprint(n), quiet,
				Decide{CallID: one.CallID, Approved: new(true)}); err != nil {
				t.Error(err)
			}
		}, time.Duration(n+1)*time.Minute)
	}
	got := investigate(t, env)
	if got.Status != agent.StatusCompleted {
		t.Errorf("got %+v", got)
	}
	workflowID, _ := WorkflowOf(got.ID)
	for _, id := range []string{workflowID, childID(got.ID, "s1"), childID(got.ID, "s1/A")} {
		t.Logf("%s was told %d times, %d bytes", id, received.times[id], received.bytes[id])
		if size := received.bytes[id]; size > subs*each*(4<<10)+300_000 { // the names of those that still wait take the rest
			t.Errorf("%s was told %d bytes", id, size)
		}
	}
}

// TestNamesOfWhatNobodyKnows: a parent that does not know a named approval has lost the message in a reset without its signals.
func TestNamesOfWhatNobodyKnows(t *testing.T) {
	t.Parallel()
	known := Approval{Execution: "s/A", CallID: "1", WorkflowID: "w", Arguments: "{}"}
	named := []Approval{{Execution: "s/A", CallID: "1"}, {Execution: "s/A", CallID: "2"}}
	got := Waiting{Approvals: named}.after(Waiting{Approvals: []Approval{known}})
	if len(got.Approvals) != 1 || got.Approvals[0].Arguments != "{}" {
		t.Errorf("got %+v", got)
	}
}

// adopted makes a workflow of the test environment look like the child of another.
type adopted struct {
	interceptor.WorkerInterceptorBase
}

func (*adopted) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &adoptedIn{interceptor.WorkflowInboundInterceptorBase{Next: next}}
}

type adoptedIn struct {
	interceptor.WorkflowInboundInterceptorBase
}

func (i *adoptedIn) Init(next interceptor.WorkflowOutboundInterceptor) error {
	return i.Next.Init(&adoptedOut{interceptor.WorkflowOutboundInterceptorBase{Next: next}})
}

type adoptedOut struct {
	interceptor.WorkflowOutboundInterceptorBase
}

func (o *adoptedOut) GetInfo(ctx workflow.Context) *workflow.Info {
	info := *o.Next.GetInfo(ctx)
	if info.WorkflowType.Name == "Stage" {
		info.ParentWorkflowExecution = &workflow.Execution{ID: "parent"}
	}
	return &info
}

// TestLongHistoriesTellSeldom: the longer a stage's history, the less often it reports its waits. It sends the latest state.
func TestLongHistoriesTellSeldom(t *testing.T) {
	t.Parallel()
	const calls = 8 // of which one is decided each ten seconds
	for events, want := range map[int]string{0: "8 7 6 5 4 3 2 1 0", 7000: "3 0"} {
		t.Run(fmt.Sprint(events), func(t *testing.T) {
			t.Parallel()
			f := &fake{model: needy(calls)}
			env := newEnv(t, f)
			env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute, Interceptors: []interceptor.WorkerInterceptor{&adopted{}}})
			env.SetCurrentHistoryLength(events)
			var received []string
			env.OnSignalExternalWorkflow(mock.Anything, "parent", mock.Anything, SignalWaiting, mock.Anything).
				Return(func(_, _, _, _ string, arg any) error {
					received = append(received, fmt.Sprint(len(arg.(Waiting).Approvals)))
					return nil
				})
			env.OnActivity(f.Generate, mock.Anything, mock.MatchedBy(func(in activities.GenerateIn) bool { return in.Iteration > 1 })).
				After(time.Hour).Return(say("done"), nil)
			env.OnActivity(f.Generate, mock.Anything, mock.Anything).Return(f.Generate)
			quiet := &testsuite.TestUpdateCallback{OnAccept: func() {}, OnReject: func(err error) { t.Error(err) }, OnComplete: func(any, error) {}}
			for n := range calls {
				env.RegisterDelayedCallback(func() {
					d := Decide{CallID: fmt.Sprintf("c1_%d", n), Approved: new(true)}
					if err := env.UpdateWorkflowByID("inv/s1/A", UpdateDecide, fmt.Sprint(n), quiet, d); err != nil {
						t.Error(err)
					}
				}, time.Duration(10*n+10)*time.Second)
			}
			env.ExecuteWorkflow(Stage, StageInput{Investigation: "inv", Stage: planOf([]string{"default"}).Skeleton().Stages[0]})
			if got := strings.Join(received, " "); got != want || env.GetWorkflowError() != nil {
				t.Errorf("told of %s calls, want %s: %v", got, want, env.GetWorkflowError())
			}
		})
	}
}
