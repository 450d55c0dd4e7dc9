package toolcall

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// claim is the right to make a call that must not run twice: the call's intent in the journal. It is made when the
// request is about to go out, and made again whenever the request is delayed after that.
type claim struct {
	call *toolCall

	mu      sync.Mutex
	asking  bool      // a write to the journal is in progress
	claimed time.Time // just before the intent was written; zero: not written
}

// ensure writes the intent. If another attempt wrote it first, that attempt makes the call. If this attempt then stalls,
// another one may have told the agent that the outcome is unknown. In that case the request must not go out.
func (c *claim) ensure(ctx context.Context) error {
	c.mu.Lock()
	c.asking = true
	claimed := c.claimed
	c.mu.Unlock()
	claimed, err := c.call.claimed(ctx, claimed)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asking, c.claimed = false, claimed
	return err
}

// state reports whether the intent is written, and whether a write to the journal is in progress.
func (c *claim) state() (written, asking bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.claimed.IsZero(), c.asking
}

// claimed writes the intent, unless it was written at the given time. If that time is not fresh, it checks again that
// the call still belongs to this attempt.
func (c *toolCall) claimed(ctx context.Context, at time.Time) (time.Time, error) {
	if at.IsZero() {
		now := time.Now()
		stored, err := c.append(ctx, c.intends(ctx, c.in.Decision))
		if err == nil && stored[0].Writer != c.Writer {
			err = temporal.NewApplicationError("another attempt has started the call", job.ErrorReplaced)
		}
		if err != nil {
			return at, err
		}
		job.SetIntended(ctx)
		at = now
	}
	byWall := time.Now().Round(0).Sub(at.Round(0)) // the monotonic clock stops while a machine sleeps
	if time.Since(at) < job.Fresh && byWall.Abs() < job.Fresh {
		return at, nil
	}
	known, err := c.Transcripts.LookupCall(ctx, c.Ref.Scope(), c.in.Iteration, c.in.Call, c.Writer)
	if err == nil && len(known.Step) > 0 {
		err = temporal.NewApplicationError("another attempt has ended the call", job.ErrorReplaced)
	}
	return at, err
}

// late returns a function that records a late answer to the call in the transcript, for people. The agent has already
// been told that the call was cut or that its outcome is unknown.
func (c *toolCall) late(ctx context.Context, name string) func(tool.Result) {
	logger, called := activity.GetLogger(ctx), time.Now()
	ctx = context.WithoutCancel(ctx)
	key := transcript.LateKey(c.in.Iteration, c.in.Call)
	return func(result tool.Result) {
		ctx, cancel := context.WithTimeout(ctx, lateTimeout)
		defer cancel()
		masked, err := c.Masked(ctx, name, result)
		if err == nil {
			took := time.Since(called).Round(time.Second)
			text := transcript.LateNotice(name, took, string(masked.Status), clip.Text(masked.Content, maxLateText))
			if masked.Sent {
				text += "\nIt may have taken effect anyway."
			}
			_, err = c.append(ctx, transcript.Row{Key: key, Kind: transcript.KindNotice, Body: transcript.Body{Text: text}})
		}
		if err != nil {
			logger.Warn("the late response to a call was not recorded", "execution", c.Ref.Execution, "tool", name, "error", err)
		}
	}
}

// maxLateText limits a late answer in the transcript, in bytes. lateTimeout limits the time to write it.
const (
	maxLateText = 2000
	lateTimeout = time.Minute
)
