package activities

import (
	"context"
	"sync"
	"time"

	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// liveEvery is how often the tail is written. A reply that is complete before the first write has no live tail, which
// saves a transaction.
const liveEvery = 200 * time.Millisecond

// live writes the part of a reply that has arrived into the transcript's tail.
type live struct {
	*job
	mu   sync.Mutex
	tail transcript.Live
	due  *time.Timer // of the next write; nil if there is nothing to write
}

func newLive(j *job, iteration, attempt int) *live {
	return &live{job: j, tail: transcript.Live{Scope: j.ref.scope(), Iteration: iteration, Attempt: attempt}}
}

// add appends a chunk.
func (l *live) add(ctx context.Context, d llm.Delta) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tail.Text += d.Content
	l.tail.Thinking += d.Thinking
	if l.due == nil {
		l.due = time.AfterFunc(liveEvery, func() { l.write(ctx) })
	}
}

// write writes the tail. The tail is only for viewers: errors are logged and change nothing.
func (l *live) write(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.due == nil {
		return // stopped meanwhile
	}
	l.due = nil
	if err := l.Transcripts.SetLive(ctx, l.tail); err != nil && ctx.Err() == nil {
		l.Logger.Warn("live tail not written", "execution", l.ref.Execution, "error", err)
	}
}

// said returns the output that has arrived.
func (l *live) said() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tail.Text + l.tail.Thinking
}

// stop ends the writing, and waits for a write in progress, because the reply comes next.
func (l *live) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.due != nil {
		l.due.Stop()
		l.due = nil
	}
}

// maxProgress limits a call's progress messages, in bytes.
const maxProgress = 4 << 10

// tellProgress shows a call's progress in live views.
func (c *toolCall) tellProgress(ctx context.Context, live *live, name string) func(string) {
	var mu sync.Mutex
	said := 0
	return func(text string) {
		mu.Lock()
		defer mu.Unlock()
		if said > maxProgress {
			return
		}
		shown, err := c.masked(ctx, name, tool.Success(text))
		if err != nil {
			return
		}
		line := name + ": " + preview(shown.Content) + "\n"
		said += len(line)
		live.add(ctx, llm.Delta{Thinking: line})
	}
}
