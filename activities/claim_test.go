package activities_test

import (
	"context"
	"errors"
	"testing"

	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// overtaken is the journal of an attempt that stalls before its first write, while another attempt writes the same row.
type overtaken struct {
	activities.Transcripts
	times int
}

func (o *overtaken) Append(ctx context.Context, step transcript.Step) ([]transcript.Entry, error) {
	if o.times++; o.times == 1 {
		other := step
		other.Writer.ActivityID = "another attempt"
		if _, err := o.Transcripts.Append(ctx, other); err != nil {
			return nil, err
		}
	}
	return o.Transcripts.Append(ctx, step)
}

// An attempt that was overtaken does not make a call that must not run twice. It looked for an intent before there was
// one.
func TestOvertakenAttemptMakesNoCall(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.asks(agent.ToolCall{ID: "c", Name: "lab__write", Arguments: `{}`})
	b.act.Transcripts = &overtaken{Transcripts: b.store}
	_, err := b.callTool(1, 0)
	failed, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok || failed.Type() != activities.ErrorReplaced || failed.NonRetryable() || len(b.calls) != 0 {
		t.Errorf("%d calls, and it ended with %v", len(b.calls), err)
	}
}
