package activities_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// skewed is the store's clock as seen by a worker whose own clock is wrong.
type skewed struct{ ahead time.Duration }

func (s skewed) Now(context.Context) time.Time { return time.Now().Add(s.ahead) }

// The wait for a call that began on another worker uses the store's clock. A wrong local clock makes it neither too
// short nor too long.
func TestHandOverGoesByTheStoresClock(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		ahead time.Duration // of the store's clock
		age   time.Duration // of the intent
		waits bool
	}{
		"young, the worker is behind": {time.Minute, time.Second, true},
		"young, the worker is ahead":  {-time.Minute, time.Second, true},
		"old, the worker is behind":   {time.Minute, time.Minute, false},
		"old, the worker is ahead":    {-time.Minute, time.Minute, false},
		"young, no skew":              {0, time.Second, true},
		"old, no skew":                {0, time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			clock := skewed{tt.ahead}
			b.act.Clock, b.act.Abandoned = clock, 30*time.Second
			b.asks(agent.ToolCall{ID: "c", Name: "lab__read", Arguments: `{"n":1}`})
			intent := transcript.Row{Key: transcript.CallKey(1, 0), Kind: transcript.KindCall, At: clock.Now(t.Context()).Add(-tt.age)}
			_, err := b.store.Append(t.Context(), transcript.Step{
				Scope: b.scope(), Writer: transcript.Writer{RunID: "default-test-run-id", ActivityID: "another"}, Rows: []transcript.Row{intent},
			})
			if err != nil {
				t.Fatal(err)
			}
			in := activities.CallToolIn{Ref: b.ref, Iteration: 1, Begun: true}
			_, err = b.env.ExecuteActivity(b.act.CallTool, in)
			failed, _ := errors.AsType[*temporal.ApplicationError](err)
			if waits := failed != nil && failed.Type() == activities.ErrorReplaced; waits != tt.waits || waits == (len(b.calls) == 1) {
				t.Errorf("%d calls, and it ended with %v", len(b.calls), err)
			}
		})
	}
}

// An intent has the store's time, so that every worker computes the same age from it.
func TestIntentsHaveTheStoresTime(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.act.Clock = skewed{time.Hour}
	b.run = func(tool.Call) (tool.Result, error) { return tool.Success("done"), nil }
	b.asks(agent.ToolCall{ID: "c", Name: "lab__write", Arguments: `{}`})
	if _, err := b.callTool(1, 0); err != nil {
		t.Fatal(err)
	}
	entries, err := b.store.Entries(t.Context(), b.scope())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if off := time.Until(e.At) - time.Hour; e.Kind == transcript.KindCall && off.Abs() > 10*time.Minute {
			t.Errorf("the call began at %s", e.At)
		}
	}
}
