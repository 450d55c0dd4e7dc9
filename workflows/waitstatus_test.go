package workflows

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
)

func TestMostUrgent(t *testing.T) {
	t.Parallel()
	asleep, outage, approval := []Asleep{{Agent: "A"}}, []Outage{{Agent: "B"}}, []Approval{{Agent: "C"}}
	tests := map[agent.Status]struct {
		waiting   Waiting
		questions int
		paused    bool
	}{
		agent.StatusRunning:         {},
		agent.StatusAsleep:          {waiting: Waiting{Asleep: asleep}},
		agent.StatusWaitingProvider: {waiting: Waiting{Asleep: asleep, Outages: outage}},
		agent.StatusPaused:          {waiting: Waiting{Asleep: asleep, Outages: outage}, paused: true},
		agent.StatusWaitingAnswer:   {waiting: Waiting{Asleep: asleep, Outages: outage}, paused: true, questions: 1},
		agent.StatusWaitingApproval: {waiting: Waiting{Asleep: asleep, Outages: outage, Approvals: approval}, paused: true, questions: 1},
	}
	for want, tt := range tests {
		if got := mostUrgent(tt.waiting, tt.questions, tt.paused); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if !slices.Contains(agent.Open(), want) || want.Closed() {
			t.Errorf("%s is an end", want)
		}
	}
}

// shownStatuses returns the values that InquestStatus takes.
func shownStatuses(env *testsuite.TestWorkflowEnvironment) *[]agent.Status {
	var shown []agent.Status
	env.OnUpsertTypedSearchAttributes(mock.Anything).Return(nil).Run(func(args mock.Arguments) {
		if value, set := args.Get(0).(temporal.SearchAttributes).GetKeyword(attributeStatus); set {
			shown = append(shown, agent.Status(value))
		}
	})
	return &shown
}

// TestExecutionsKnowTheirStart: an execution has the same start in its first activity and at its end.
func TestExecutionsKnowTheirStart(t *testing.T) {
	t.Parallel()
	f := &fake{plan: planOf([]string{"default"})}
	if got := investigate(t, newEnv(t, f)); got.Status != agent.StatusCompleted || len(f.generated) != 1 || len(f.saved) != 1 {
		t.Fatalf("got %+v", got)
	}
	started := f.generated[0].Ref.Started
	if saved := f.saved[0].Executions[0].Started; started.IsZero() || !started.Equal(saved) {
		t.Errorf("it started at %s, and at its end at %s", started, saved)
	}
}

// TestWaitingIsAStatus: two agents run in parallel. A's call waits for a person; B sleeps and then waits for its
// provider. A person pauses everything, and at the end the stage has a question.
func TestWaitingIsAStatus(t *testing.T) {
	t.Parallel()
	yes := true
	f := &fake{
		plan: planOf([]string{"default", "default"}), listed: true,
		output: outputs(t, map[string]string{"s1": `{"outcome":"confirm"}`}),
		ownTools: func(activities.CallOwnToolsIn) (activities.CallOwnToolsOut, error) {
			return activities.CallOwnToolsOut{Pause: 60}, nil
		},
	}
	env := newEnv(t, f)
	shown, start := shownStatuses(env), env.Now()
	f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
		switch {
		case in.Ref.Execution == "s1/A" && in.Iteration == 1:
			return askApproval("a"), nil
		case in.Ref.Execution == "s1/B" && in.Iteration == 1:
			out := ask(agent.ToolPauseHeartbeats)
			out.Calls[0].Own = true
			return out, nil
		case in.Ref.Execution == "s1/B" && env.Now().Sub(start) < 80*time.Minute:
			return activities.GenerateOut{}, away("ModelUnavailable", 0)
		}
		return say("x"), nil
	}
	var got []string
	for minute, do := range map[time.Duration]func(Status){
		5: func(now Status) {
			err := env.UpdateWorkflowByID(now.Waiting[0].WorkflowID, UpdateDecide, "", &testsuite.TestUpdateCallback{
				OnAccept: func() {}, OnReject: func(err error) { t.Error(err) }, OnComplete: func(any, error) {},
			}, Decide{CallID: now.Waiting[0].CallID, Approved: &yes})
			if err != nil {
				t.Error(err)
			}
		},
		15:  func(Status) { env.SignalWorkflow(SignalPause, nil) },
		20:  func(Status) { env.SignalWorkflow(SignalResume, nil) },
		70:  func(Status) {},
		100: func(Status) { answer(t, env, Answer{Approved: &yes}, "") },
	} {
		env.RegisterDelayedCallback(func() {
			now := statusOf(t, env)
			f.knows(t, now)
			received := f.untilNow().received
			words := []string{string(now.Status), string(received[len(received)-1]), string((*shown)[len(*shown)-1])}
			words = append(words, "stage "+string(now.Stages[0].Status))
			for _, a := range now.Stages[0].Agents {
				words = append(words, a.Name+" "+string(a.Status))
			}
			got = append(got, strings.Join(words, ", "))
			do(now)
		}, minute*time.Minute)
	}
	result := investigate(t, env)
	want := []string{
		"waiting_approval, waiting_approval, waiting_approval, stage waiting_approval, A waiting_approval, B asleep",
		"asleep, asleep, asleep, stage asleep, A completed, B asleep",
		"paused, paused, paused, stage paused, A completed, B paused",
		"waiting_provider, waiting_provider, waiting_provider, stage waiting_provider, A completed, B waiting_provider",
		"waiting_answer, waiting_answer, waiting_answer, stage completed, A completed, B completed",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("its status, the record's, the search attribute's, and the agents' (-want +got):\n%s", diff)
	}
	at := f.untilNow()
	if last := at.received[len(at.received)-1]; result.Status != agent.StatusCompleted || last != agent.StatusRunning ||
		(*shown)[len(*shown)-1] != agent.StatusCompleted {
		t.Errorf("at the end: %s, told %v, shown %v", result.Status, at.received, *shown)
	}
	for n := 1; n < len(at.received); n++ {
		if at.received[n] == at.received[n-1] && at.waits[n].Key() == at.waits[n-1].Key() || at.writes[n] != n+1 {
			t.Errorf("told %v, as %v", at.received, at.writes)
		}
	}
}

// knows fails the test unless the store has exactly the waits of the status.
func (f *fake) knows(t *testing.T, now Status) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	var received record.Waits
	if len(f.waits) > 0 {
		received = f.waits[len(f.waits)-1]
	}
	if diff := cmp.Diff(now.Waits(), received, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("what waits (-the status +the store):\n%s", diff)
	}
}

// TestWaitsAreTheStatus: in every order of waits and decisions, the store has the same waits as the
// status. Each of the stages ends with a question.
func TestWaitsAreTheStatus(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			chance := rand.New(rand.NewPCG(seed, 0))
			f := &fake{
				plan:   planOf([]string{"default", "default"}, []string{"default"}),
				output: outputs(t, map[string]string{"s1": `{"outcome":"confirm"}`, "s2": `{"outcome":"clarify","question":"Why?"}`}),
			}
			env := newEnv(t, f)
			f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
				switch n := chance.IntN(3); {
				case in.Iteration > 3:
				case n == 0:
					return askApproval("a", "b", "c"), nil
				case n == 1 && in.Try < 4:
					return activities.GenerateOut{}, away("ModelUnavailable", 0)
				}
				return say("x"), nil
			}
			most := 0
			for minute := range 400 {
				env.RegisterDelayedCallback(func() {
					now := statusOf(t, env)
					f.knows(t, now)
					if most = max(most, len(now.Waiting)+len(now.Questions)); now.Status.Closed() || minute%5 > 0 {
						return
					}
					yes := chance.IntN(2) == 0
					quiet := &testsuite.TestUpdateCallback{OnAccept: func() {}, OnReject: func(error) {}, OnComplete: func(any, error) {}}
					if n := len(now.Waiting); n > 0 {
						call := now.Waiting[chance.IntN(n)]
						_ = env.UpdateWorkflowByID(call.WorkflowID, UpdateDecide, "", quiet, Decide{CallID: call.CallID, Approved: &yes})
					}
					for _, q := range now.Questions {
						env.UpdateWorkflow(UpdateAnswer, "", quiet, Answer{ID: q.ID, Text: "because", Approved: new(true)})
					}
				}, time.Duration(minute)*time.Minute+time.Second)
			}
			if result := investigate(t, env); result.Status != agent.StatusCompleted || most == 0 {
				t.Errorf("%+v, and at most %d waited", result, most)
			}
		})
	}
}

// TestStatusOutlivesAStore: a status that the store cannot accept within the workflow task is recorded later.
func TestStatusOutlivesAStore(t *testing.T) {
	t.Parallel()
	f := &fake{plan: planOf([]string{"default"})}
	f.noStatus = func(local bool) error {
		if local {
			return errors.New("the store is away")
		}
		return nil
	}
	env := newEnv(t, f)
	f.model = script(askApproval("a"), say("x"))
	var during []agent.Status
	env.RegisterDelayedCallback(func() {
		during = slices.Clone(f.untilNow().received)
		env.SignalWorkflow(SignalConclude, nil)
	}, time.Minute)
	if got := investigate(t, env); got.Status != agent.StatusCompleted {
		t.Errorf("got %+v", got)
	}
	if want := slices.Repeat([]agent.Status{agent.StatusWaitingApproval}, localTries+1); !slices.Equal(during, want) {
		t.Errorf("told %v, want %v", during, want)
	}
}

// TestRecordedStatusAfterAReset: after a reset within a stage, the record is reopened before it gets new waits.
func TestRecordedStatusAfterAReset(t *testing.T) {
	t.Parallel()
	f := &fake{}
	env := newEnv(t, f)
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		watch := newWatch(ctx)
		r := newInvestigationRun()
		r.id, r.watch, r.family, r.signals = "inv", watch, newFamily(ctx, watch, "inv"), listen(ctx)
		r.result.Status, r.family.run = agent.StatusRunning, "the run before"
		r.view.recordStatus(ctx)
		r.state.Steering.Paused = true
		return workflow.Sleep(ctx, time.Minute)
	})
	if err := env.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	received := f.untilNow().received
	if len(f.reopened) != 1 || f.reopened[0].Investigation != "inv" || !slices.Equal(received, []agent.Status{agent.StatusPaused}) {
		t.Errorf("reopened %+v, told %v", f.reopened, received)
	}
}

// TestLargeWaitsOutliveAStore: waits are written even if the store is slow and they are too large for a history.
func TestLargeWaitsOutliveAStore(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ calls, size int }{
		"for an activity":       {4, 16 << 10},
		"for a local activity":  {4, MaxLocalArguments / 4},
		"for an activity, bare": {2000, 1 << 9},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{plan: planOf([]string{"default"})}
			f.noStatus = func(local bool) error {
				if local {
					return errors.New("the store is away")
				}
				return nil
			}
			env := newEnv(t, f)
			out := askApproval(make([]string, tt.calls)...)
			for n := range out.Calls {
				out.Calls[n].Approve.ID = fmt.Sprint("c1_", n)
				out.Calls[n].Approve.Arguments = `"` + strings.Repeat("x", tt.size) + `"`
			}
			want := record.Waits{}
			for _, call := range out.Calls {
				want.Approvals = append(want.Approvals, Approval{
					CallID: call.Approve.ID, Arguments: call.Approve.Arguments, Execution: "s1/A", Expires: env.Now().Add(time.Hour),
				})
			}
			in := activities.SaveStatusIn{Investigation: "inv", Status: agent.StatusWaitingApproval, Seq: 1, Waits: want}
			env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{&Guard{}}, DeadlockDetectionTimeout: time.Minute})
			env.ExecuteWorkflow(func(ctx workflow.Context) error { return saveStatus(ctx, in) })
			if err := env.GetWorkflowError(); err != nil {
				t.Fatal(err)
			}
			at := f.untilNow()
			received := at.waits[len(at.waits)-1]
			if tt.calls > 100 {
				if received.Len() > 0 || at.received[len(at.received)-1] != in.Status {
					t.Errorf("told %v of %d calls", at.received, received.Len())
				}
				return
			}
			if received.Key() != want.Key() || received.Approvals[0].Arguments != "" || received.Approvals[0].Size != tt.size+2 ||
				want.Approvals[0].Arguments == "" {
				t.Errorf("told of %q", received.Key())
			}
		})
	}
}

// TestWaitsAreToldAgain: a write that the store rejects is repeated.
func TestWaitsAreToldAgain(t *testing.T) {
	t.Parallel()
	f := &fake{plan: planOf([]string{"default"})}
	f.noStatus = func(bool) error {
		if len(f.received) <= 1 {
			return temporal.NewNonRetryableApplicationError("no", "No", nil)
		}
		return nil
	}
	env := newEnv(t, f)
	f.model = script(askApproval("a"), say("x"))
	var during []agent.Status
	env.RegisterDelayedCallback(func() {
		during = slices.Clone(f.untilNow().received)
		env.SignalWorkflow(SignalConclude, nil)
	}, 2*rewriteAfter)
	if got := investigate(t, env); got.Status != agent.StatusCompleted {
		t.Errorf("got %+v", got)
	}
	if len(during) != 2 || during[1] != agent.StatusWaitingApproval {
		t.Errorf("told %v", during)
	}
}

// TestAConversationEndsWithoutAStore: a conversation ends even if the store accepts no writes.
func TestAConversationEndsWithoutAStore(t *testing.T) {
	t.Parallel()
	c := newTalk(t, plan.AgentSkeleton{})
	c.f.noStatus = func(bool) error { return temporal.NewNonRetryableApplicationError("no", "No", nil) }
	c.f.model = script(askApproval("a"), say("x"))
	c.say(time.Minute, "hello")
	c.RegisterDelayedCallback(func() { decide(t, c.TestWorkflowEnvironment, Decide{CallID: "c1_0", Approved: new(true)}) }, 12*time.Minute)
	began := c.Now()
	c.keepOpen(t, 13*time.Minute)
	received := c.f.untilNow().received
	if err := c.GetWorkflowError(); err != nil || c.Now().Sub(began) > time.Hour || len(received) < 3 {
		t.Errorf("ended after %s with %v, told %v", c.Now().Sub(began), err, received)
	}
}

// TestATellingIsUnderWayWhenItCloses: a write of waits is in flight although no call waits any more. The conversation
// ends after the store has the current waits.
func TestATellingIsUnderWayWhenItCloses(t *testing.T) {
	t.Parallel()
	c := newTalk(t, plan.AgentSkeleton{})
	began := c.Now()
	c.f.noStatus = func(bool) error {
		if c.Now().Sub(began) < 3*time.Minute {
			return errors.New("the store is away")
		}
		return nil
	}
	c.f.model = script(askApproval("a"), say("x"))
	c.say(time.Minute, "hello")
	c.RegisterDelayedCallback(func() { decide(t, c.TestWorkflowEnvironment, Decide{CallID: "c1_0", Approved: new(true)}) }, 100*time.Second)
	c.keepOpen(t, 110*time.Second)
	waits := c.f.untilNow().waits
	if last := waits[len(waits)-1]; c.GetWorkflowError() != nil || last.Len() > 0 || len(waits) < 4 {
		t.Errorf("ended with %v, and the store knows of %+v", c.GetWorkflowError(), last)
	}
}

// TestAResetWhileTheStoreIsTold: after a reset during a write, the new run reopens the record and repeats the write.
func TestAResetWhileTheStoreIsTold(t *testing.T) {
	t.Parallel()
	f := &fake{}
	env := newEnv(t, f)
	began := env.Now()
	f.noStatus = func(bool) error {
		if env.Now().Sub(began) < time.Minute {
			return errors.New("the store is away")
		}
		return nil
	}
	received := 0
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		watch := newWatch(ctx)
		r := newInvestigationRun()
		r.id, r.watch, r.family, r.signals = "inv", watch, newFamily(ctx, watch, "inv"), listen(ctx)
		r.result.Status = agent.StatusRunning
		r.view.recordStatus(ctx)
		r.state.Steering.Paused = true
		_ = workflow.Sleep(ctx, time.Second)
		workflow.GetInfo(ctx).WorkflowExecution.RunID = "the run after"
		err := workflow.Sleep(ctx, time.Hour)
		received = r.state.Tellings
		return err
	})
	if err := env.GetWorkflowError(); err != nil || received != 2 || len(f.reopened) != 1 {
		t.Errorf("told %d times, reopened %+v: %v", received, f.reopened, err)
	}
}

// TestRefusedIsAStatus: a rejected request is shown as such in Temporal's list, too.
func TestRefusedIsAStatus(t *testing.T) {
	t.Parallel()
	for name, listed := range map[string]bool{"with search attributes": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{resolve: func(context.Context) error {
				known := activities.ResolveOut{SearchAttributes: listed, Skeleton: plan.Skeleton{Chain: "lob"}}
				return temporal.NewNonRetryableApplicationError(`no chain "lob"`, activities.ErrorInvalidRequest, nil, known)
			}}
			env := newEnv(t, f)
			shown := shownStatuses(env)
			env.ExecuteWorkflow(TypeInvestigation, map[string]string{"chain": "lob"})
			if status := statusOf(t, env); status.Status != agent.StatusRefused || status.Chain != "lob" || status.Error != `no chain "lob"` {
				t.Errorf("status %+v", status)
			}
			var want []agent.Status
			if listed {
				want = []agent.Status{agent.StatusRefused}
			}
			if received := f.untilNow().received; !slices.Equal(*shown, want) || len(received) > 0 {
				t.Errorf("shown %v, want %v; told %v", *shown, want, received)
			}
		})
	}
}
