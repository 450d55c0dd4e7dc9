package job

import (
	"context"
	"sync"
	"time"

	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// liveEvery is how often the tail is written. A reply that is complete before the first write has no live tail, which
// saves a transaction.
const liveEvery = 200 * time.Millisecond

// Live writes the part of a reply that has arrived into the transcript's tail.
type Live struct {
	*Job
	mu   sync.Mutex
	tail transcript.Live
	due  *time.Timer // of the next write; nil if there is nothing to write
}

// NewLive returns the live tail of an attempt at an iteration's reply.
func NewLive(j *Job, iteration, attempt int) *Live {
	return &Live{Job: j, tail: transcript.Live{Scope: j.Ref.Scope(), Iteration: iteration, Attempt: attempt}}
}

// Add appends a chunk.
func (l *Live) Add(ctx context.Context, d llm.Delta) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tail.Text += d.Content
	l.tail.Thinking += d.Thinking
	if l.due == nil {
		l.due = time.AfterFunc(liveEvery, func() { l.write(ctx) })
	}
}

// write writes the tail. The tail is only for viewers: errors are logged and change nothing.
func (l *Live) write(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.due == nil {
		return // stopped meanwhile
	}
	l.due = nil
	if err := l.Transcripts.SetLive(ctx, l.tail); err != nil && ctx.Err() == nil {
		l.Logger.Warn("live tail not written", "execution", l.Ref.Execution, "error", err)
	}
}

// Said returns the output that has arrived.
func (l *Live) Said() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tail.Text + l.tail.Thinking
}

// Stop ends the writing, and waits for a write in progress, because the reply comes next.
func (l *Live) Stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.due != nil {
		l.due.Stop()
		l.due = nil
	}
}
