package api

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
)

const (
	progressEvery = time.Second      // no more often than this
	progressAlive = 10 * time.Second // no less often than this: clients cancel calls that stay silent
)

// maxWaiting is how many calls may wait at once in a process. Each follows an investigation.
const maxWaiting = 200

// errNews ends a wait because something new needs a person's attention.
var errNews = errors.New("something waits for a person")

// wait returns when an investigation has ended, when it needs a person's attention for something new, or after some seconds, and reports
// progress to the client meanwhile. Cancelling the call does not affect the investigation. full means that too many calls were waiting
// already, so this one did not wait.
func (m *mcpServer) wait(ctx context.Context, call *mcp.CallToolRequest, id string, seconds int, before string) (full bool, err error) {
	select {
	case m.waiting <- struct{}{}:
		defer func() { <-m.waiting }()
	default:
		return true, nil
	}
	finding, found := context.WithTimeout(ctx, callTimeout)
	h, err := m.opts.System.Find(finding, id)
	found()
	if errors.Is(err, record.ErrNotFound) || err == nil && !h.Running() {
		return false, nil // it may have ended long ago
	}
	if err != nil {
		return false, err
	}
	waiting, cancel := context.WithTimeoutCause(ctx, time.Duration(seconds)*time.Second, errNews)
	defer cancel()
	if gone, ok := ctx.Value(goneKey{}).(context.Context); ok {
		defer context.AfterFunc(gone, cancel)()
	}
	p := &progress{call: call, line: "waiting", before: before}
	var group sync.WaitGroup
	group.Go(func() { p.tell(waiting) })
	_, err = m.opts.System.Follow(waiting, h, math.MaxInt64, p.take)
	cancel()
	group.Wait()
	if errors.Is(err, errNews) || waiting.Err() != nil && ctx.Err() == nil {
		return false, nil
	}
	return false, err
}

// progress describes in one line how far an investigation is.
type progress struct {
	call   *mcp.CallToolRequest
	before string // key of what needed attention before the wait

	mu   sync.Mutex
	line string
}

// take updates the line from an event.
func (p *progress) take(e client.Event) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case e.Connection != nil && !e.Connection.Lost.IsZero():
		p.line = e.Connection.To + " does not answer; waiting for it"
	case e.Status != nil:
		p.line = string(e.Status.Status.Status)
	case e.Update != nil && e.Update.Record != nil:
		p.line = lineOf(*e.Update)
	}
	if e.Update != nil && e.Update.Waits != nil && asks(*e.Update.Waits) && keyOf(*e.Update.Waits) != p.before {
		return errNews
	}
	return nil
}

func asks(w record.Waits) bool { return len(w.Approvals)+len(w.Questions) > 0 }

// keyOf identifies what needs attention, leaving outages aside.
func keyOf(w record.Waits) string {
	w.Outages = nil
	return w.Key()
}

func lineOf(u store.Update) string {
	parts := []string{string(u.Record.Status)}
	for _, x := range u.Executions {
		if !x.Status.Closed() {
			parts = append(parts, fmt.Sprintf("%s (iteration %d)", x.Name, x.Iterations))
		}
	}
	return strings.Join(append(parts, fmt.Sprintf("%d model calls, %d tool calls", u.Record.Usage.ModelCalls, u.Record.Usage.ToolCalls)), ", ")
}

// tell sends the line when it has changed, and at intervals, until ctx ends.
func (p *progress) tell(ctx context.Context) {
	token := p.call.Params.GetProgressToken()
	if token == nil {
		return
	}
	told, at := "", time.Time{}
	for n := 1.0; ; {
		p.mu.Lock()
		line := p.line
		p.mu.Unlock()
		if line != told || time.Since(at) >= progressAlive {
			told, at = line, time.Now()
			// An error means that the client has left, which the context reports anyway.
			_ = p.call.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: n, Message: line})
			n++
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(progressEvery):
		}
	}
}
