package activities_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// beats is Temporal's answer to heartbeats.
type beats struct{ says error }

func (b beats) Beat(context.Context, []byte, activities.Doing) error { return b.says }

// Temporal's answer to a heartbeat decides whether a call continues. Only a cancelled call counts as cancelled, and a
// call that is cut writes nothing, whatever the cause.
func TestHeartbeatsDecideWhatIsCut(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		says error
		cut  bool
		ends func(error) bool
	}{
		"no answer":           {says: context.DeadlineExceeded},
		"too many requests":   {says: serviceerror.NewResourceExhausted(0, "busy")},
		"unavailable":         {says: serviceerror.NewUnavailable("failover")},
		"cancelled":           {temporal.NewCanceledError(), true, temporal.IsCanceledError},
		"the attempt is over": {serviceerror.NewNotFound("timed out"), true, isType(activities.ErrorReplaced)},
		"paused":              {activity.ErrActivityPaused, true, isType(activities.ErrorReplaced)},
		"reset":               {activity.ErrActivityReset, true, isType(activities.ErrorReplaced)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.act.Heartbeats = beats{tt.says}
			b.runUnder = func(ctx context.Context, _ tool.Call) (tool.Result, error) {
				var done <-chan time.Time // never, if the call is to be cut
				if !tt.cut {
					done = time.After(4 * time.Second) // several heartbeat intervals
				}
				select {
				case <-ctx.Done():
					return tool.Result{}, context.Cause(ctx)
				case <-done:
					return tool.Success("done"), nil
				}
			}
			b.plan(func(a *plan.Agent) { a.Timeouts.Tool = plan.Duration(time.Minute) })
			b.asks(agent.ToolCall{Name: "lab__write", Arguments: "{}"})
			out, err := b.callTool(1, 0)
			if !tt.cut {
				if err != nil || out.Status != "success" {
					t.Errorf("got %+v, %v", out, err)
				}
				return
			}
			if err == nil || !tt.ends(err) {
				t.Errorf("got %+v, %v", out, err)
			}
			for _, e := range entries(t, b) {
				if e.Kind == transcript.KindResult {
					t.Errorf("it is in the transcript: %+v", e)
				}
			}
			// The workflow's text for the result is true: the outcome is unknown.
			in := activities.GenerateIn{Iteration: 2, Inputs: []activities.Input{{
				Kind: activities.InputResult, Iteration: 1, ErrorType: activities.ErrorCancelled, Text: "The call was cancelled.",
			}}}
			b.reply = func(llm.Request) (llm.Response, error) {
				return llm.Response{Content: "done", Finish: llm.FinishStop}, nil
			}
			if _, err := b.generate(in); err != nil {
				t.Fatal(err)
			}
			for _, e := range entries(t, b) {
				if e.Kind == transcript.KindResult && e.ErrorType != tool.ErrorOutcomeUnknown {
					t.Errorf("the model is told %s: %s", e.ErrorType, e.Text)
				}
			}
		})
	}
}

// oneBeat blocks the first heartbeat, and notices another one that is sent meanwhile.
type oneBeat struct {
	count            atomic.Int32
	began, let, both chan struct{}
	last             chan activities.Doing
}

func (o *oneBeat) Beat(_ context.Context, _ []byte, doing activities.Doing) error {
	if o.count.Add(1) == 1 {
		close(o.began)
		<-o.let
		return nil
	}
	select {
	case <-o.let:
	default:
		close(o.both)
	}
	o.last <- doing
	return nil
}

// waitsFirst are servers whose calls wait for a heartbeat before they ask the fence.
type waitsFirst struct {
	*bench
	one *oneBeat
}

func (w waitsFirst) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	<-w.one.began
	return w.bench.Call(ctx, call)
}

// The heartbeat that reports an intent waits for an earlier one in progress, because Temporal keeps the last to arrive.
func TestHeartbeatsOfAnIntentComeLast(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	one := &oneBeat{
		began: make(chan struct{}), let: make(chan struct{}), both: make(chan struct{}), last: make(chan activities.Doing, 100),
	}
	b.act.Heartbeats = one
	b.act.Servers = waitsFirst{b, one}
	b.runUnder = func(context.Context, tool.Call) (tool.Result, error) {
		select {
		case <-one.both:
			t.Error("two heartbeats were under way")
		case <-time.After(time.Second): // enough for another goroutine to begin
		}
		close(one.let)
		if doing := <-one.last; !doing.Intended {
			t.Errorf("the heartbeat after the intent says %+v", doing)
		}
		return tool.Success("done"), nil
	}
	b.plan(func(a *plan.Agent) { a.Timeouts.Tool = plan.Duration(time.Minute) })
	b.asks(agent.ToolCall{Name: "lab__write", Arguments: "{}"})
	if out, err := b.callTool(1, 0); err != nil || out.Status != "success" {
		t.Errorf("%+v, %v", out, err)
	}
}

func isType(name string) func(error) bool {
	return func(err error) bool {
		app, ok := errors.AsType[*temporal.ApplicationError](err)
		return ok && app.Type() == name && !app.NonRetryable()
	}
}

func entries(t *testing.T, b *bench) []transcript.Entry {
	t.Helper()
	all, err := b.store.Entries(t.Context(), b.scope())
	if err != nil {
		t.Fatal(err)
	}
	return all
}
