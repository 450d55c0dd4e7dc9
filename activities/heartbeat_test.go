package activities_test

import (
	"context"
	"errors"
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

// beats is what Temporal says to heartbeats.
type beats struct{ says error }

func (b beats) Beat(context.Context, []byte, activities.Doing) error { return b.says }

// What Temporal says to a heartbeat decides whether a call goes on. Only what was
// cancelled counts as cancelled, and whatever cuts a call, nothing is written about it.
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
				select {
				case <-ctx.Done():
					return tool.Result{}, context.Cause(ctx)
				case <-time.After(4 * time.Second): // of heartbeats' time
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
			// What the workflow has to say about it is true: nobody knows.
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
