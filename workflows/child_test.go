package workflows

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// straggler is a child of a run before a reset. It takes a while to end when cancelled.
func straggler(ctx workflow.Context, ends time.Duration) error {
	_ = workflow.Await(ctx, func() bool { return false })
	rest, _ := workflow.NewDisconnectedContext(ctx)
	_ = workflow.Sleep(rest, ends)
	return nil
}

// inheritor starts a child with the ID of a straggler, and signals it at once.
func inheritor(ctx workflow.Context, ends time.Duration) (string, error) {
	old := workflow.ExecuteChildWorkflow(childOptions(ctx, childID("inv", "s"), ""), straggler, ends)
	if err := old.GetChildWorkflowExecution().Get(ctx, nil); err != nil {
		return "", err
	}
	f := newFamily(ctx, newWatch(ctx), "inv")
	c := f.start(ctx, "s", "", heir, nil)
	if !c.signal(ctx, signal{Name: SignalConclude, By: "Ada"}) {
		var result string
		err := c.Get(ctx, &result)
		return result, errors.Join(err, errors.New("the signal found nobody"))
	}
	var result string
	err := c.Get(ctx, &result)
	return result, err
}

// heir returns the sender of its signal.
func heir(ctx workflow.Context, _ any) (string, error) {
	var said Conclude
	workflow.GetSignalChannel(ctx, SignalConclude).Receive(ctx, &said)
	return said.By, ctx.Err()
}

func inherit(t *testing.T, ends time.Duration, prepare func(*testsuite.TestWorkflowEnvironment)) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	env := newEnvFor(t, &fake{})
	env.RegisterWorkflow(straggler)
	env.RegisterWorkflow(heir)
	env.RegisterWorkflow(inheritor)
	if prepare != nil {
		prepare(env)
	}
	env.ExecuteWorkflow(inheritor, ends)
	return env
}

// TestChildOfARunThatWasReset: if a child of an earlier run still uses the ID, the new child starts after its end.
func TestChildOfARunThatWasReset(t *testing.T) {
	t.Parallel()
	env := inherit(t, 20*time.Second, nil)
	var by string
	if err := env.GetWorkflowResult(&by); err != nil || by != "Ada" {
		t.Errorf("the child said %q, %v", by, err)
	}
}

// TestChildThatCannotStart: starting a child is given up on cancellation and after a time limit.
func TestChildThatCannotStart(t *testing.T) {
	t.Parallel()
	env := inherit(t, time.Hour, func(env *testsuite.TestWorkflowEnvironment) {
		env.RegisterDelayedCallback(env.CancelWorkflow, time.Minute)
	})
	if err := env.GetWorkflowError(); err == nil || !strings.Contains(err.Error(), "canceled") {
		t.Errorf("cancelled: ended with %v", err)
	}
	env = inherit(t, 48*time.Hour, nil)
	if err := env.GetWorkflowError(); err == nil ||
		!strings.Contains(err.Error(), "workflow inv/s of a run that was reset did not end within 24h") {
		t.Errorf("never free: ended with %v", err)
	}
}

// TestFirstChildAfterAReset: only the first child after a reset triggers the cleanup.
func TestFirstChildAfterAReset(t *testing.T) {
	t.Parallel()
	f := &fake{}
	env := newEnvFor(t, f)
	parent := func(ctx workflow.Context) error {
		family := newFamily(ctx, newWatch(ctx), "inv")
		family.afterReset(ctx) // nothing was reset
		family.start(ctx, "ended", "", heir, nil)
		family.start(ctx, "kept", "", straggler, time.Duration(0))
		_ = family.children[1].started.Get(ctx, nil) // the environment cannot cancel one that has not
		ended := family.children[0]
		ended.signal(ctx, signal{Name: SignalConclude})
		_ = ended.Get(ctx, nil)
		family.run = "the run before"
		for range 2 { // once is enough
			family.afterReset(ctx)
		}
		return nil
	}
	env.RegisterWorkflowWithOptions(parent, workflow.RegisterOptions{Name: "parent"})
	env.RegisterWorkflow(straggler)
	env.RegisterWorkflow(heir)
	env.ExecuteWorkflow("parent")
	if err := env.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if len(f.reopened) != 1 || f.reopened[0].Investigation != "inv" || strings.Join(f.reopened[0].Children, " ") != "inv/kept" {
		t.Errorf("reopened: %+v", f.reopened)
	}
}

// TestLastChildBeforeAReset: if no child starts after a reset, the cleanup happens before the end is
// recorded, even in a cancelled run.
func TestLastChildBeforeAReset(t *testing.T) {
	t.Parallel()
	investigation := func(ctx workflow.Context) error {
		run := newInvestigationRun()
		_, err := run.execute(ctx, requestOf(t, `{"chain":"chain"}`))
		return err
	}
	stage := func(ctx workflow.Context) error {
		_, err := Stage(ctx, StageInput{Investigation: "inv", Stage: planOf([]string{"default"}).Skeleton().Stages[0]})
		return err
	}
	orchestrator := func(ctx workflow.Context) error {
		_, err := IteratingAgent(ctx, lead(plan.OrchestratorLimits{MaxConcurrent: 1}))
		return err
	}
	for name, tt := range map[string]struct {
		run    func(workflow.Context) error
		resets bool
		cancel bool
		want   string
	}{
		"nothing was reset":           {investigation, false, false, "Finish"},
		"an investigation":            {investigation, true, false, "Reopen Finish"},
		"one that is then cancelled":  {investigation, true, true, "Reopen Finish"},
		"a stage":                     {stage, true, false, "Reopen SaveStage"},
		"an agent that dispatches":    {orchestrator, true, false, "Reopen"},
		"a stage that nobody touched": {stage, false, false, "SaveStage"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{plan: planOf([]string{"default"})}
			env := newEnvFor(t, f)
			env.OnActivity(f.Generate, mock.Anything, mock.Anything).After(time.Minute).Return(say("done"), nil)
			env.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
				info := workflow.GetInfo(ctx)
				workflow.Go(ctx, func(ctx workflow.Context) {
					if workflow.Sleep(ctx, 20*time.Second) == nil && tt.resets {
						info.WorkflowExecution.RunID = "the run after the reset"
					}
				})
				return tt.run(ctx)
			}, workflow.RegisterOptions{Name: "reset"})
			if tt.cancel {
				env.RegisterDelayedCallback(env.CancelWorkflow, 30*time.Second)
			}
			var ran []string
			note := func(info *activity.Info) {
				if slices.Contains([]string{"Reopen", "SaveStage", "Finish"}, info.ActivityType.Name) && info.WorkflowType.Name == "reset" {
					ran = append(ran, info.ActivityType.Name)
				}
			}
			env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) { note(info) })
			env.SetOnLocalActivityStartedListener(func(info *activity.Info, _ context.Context, _ []any) { note(info) })
			env.ExecuteWorkflow("reset")
			if got := strings.Join(ran, " "); got != tt.want {
				t.Errorf("ran %q, want %q: %v", got, tt.want, env.GetWorkflowError())
			}
		})
	}
}

// requestOf returns a request in the form in which Temporal passes it to a workflow.
func requestOf(t *testing.T, request string) converter.RawValue {
	payload, err := converter.GetDefaultDataConverter().ToPayload(json.RawMessage(request))
	if err != nil {
		t.Error(err)
	}
	return converter.NewRawValue(payload)
}

// TestCancelledWhileResolving: an investigation cancelled before it has a plan is recorded as cancelled.
func TestCancelledWhileResolving(t *testing.T) {
	t.Parallel()
	f := &fake{resolve: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
	env := newEnv(t, f)
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(SignalGuide, Guide{Text: "look"}) }, time.Second/2) // it waits for a plan
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Second)
	env.ExecuteWorkflow(TypeInvestigation, json.RawMessage(`{"chain":"chain"}`))
	if _, cancelled := errors.AsType[*temporal.CanceledError](env.GetWorkflowError()); !cancelled {
		t.Errorf("ended with %v", env.GetWorkflowError())
	}
	if len(f.finished) != 1 || f.finished[0].Status != agent.StatusCancelled || f.finished[0].EndReason != agent.EndCancelled {
		t.Errorf("recorded %+v", f.finished)
	}
	if received := f.finished[0].Envelope.Undelivered; len(received) != 1 {
		t.Errorf("not delivered: %q", received)
	}
}

// TestContinuedWithoutAState: a continued run that has a request instead of a state runs that request.
func TestContinuedWithoutAState(t *testing.T) {
	t.Parallel()
	f := &fake{plan: planOf([]string{"default"})}
	env := newEnv(t, f)
	env.SetContinuedExecutionRunID("run-before")
	if got := investigate(t, env); got.Status != agent.StatusCompleted || statuses(got) != "completed" {
		t.Errorf("got %+v", got)
	}
}
