package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
)

const (
	progressEvery = time.Second      // no more often than this
	progressAlive = 10 * time.Second // no less often than this: clients cancel calls that stay silent
)

// maxWaiting is how many calls may wait at once in a process. Each follows an investigation.
const maxWaiting = 200

// errNews ends a wait because something new needs a person's attention.
var errNews = errors.New("something needs a person")

// wait returns when an investigation has ended, when it needs a person's attention for something new, or after some seconds, and reports
// progress to the client meanwhile. Cancelling the call does not affect the investigation. full means that too many calls were waiting
// already, so this one did not wait.
func (m *server) wait(
	ctx context.Context, call *mcp.CallToolRequest, id string, seconds int, before map[string]bool,
) (full bool, err error) {
	select {
	case m.waiting <- struct{}{}:
		defer func() { <-m.waiting }()
	default:
		return true, nil
	}
	finding, found := context.WithTimeout(ctx, system.CallTimeout)
	h, err := m.opts.System.Find(finding, id)
	found()
	if errors.Is(err, record.ErrNotFound) || err == nil && !h.Open {
		return false, nil // it may have ended long ago
	}
	if err != nil {
		return false, err
	}
	waiting, cancel := context.WithTimeoutCause(ctx, time.Duration(seconds)*time.Second, errNews)
	defer cancel()
	if gone, ok := ctx.Value(connectionKey{}).(context.Context); ok {
		defer context.AfterFunc(gone, cancel)()
	}
	p := &progress{call: call, line: "waiting", before: before}
	var group sync.WaitGroup
	group.Go(func() { p.report(waiting) })
	_, err = m.opts.System.Follow(waiting, h, math.MaxInt64, p.take)
	cancel()
	group.Wait()
	if errors.Is(err, errNews) || waiting.Err() != nil && ctx.Err() == nil {
		return false, nil
	}
	return false, err
}

// progress is a one-line description of an investigation's progress.
type progress struct {
	call   *mcp.CallToolRequest
	before map[string]bool // keys of the items that needed attention before the wait

	mu   sync.Mutex
	line string
}

// take updates the line from an event.
func (p *progress) take(e system.Event) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case e.Connection != nil && !e.Connection.Lost.IsZero():
		p.line = e.Connection.To + " is not responding; still waiting for it"
	case e.Status != nil:
		p.line = string(e.Status.Status.Status)
	case e.Update != nil && e.Update.Record != nil:
		p.line = lineOf(*e.Update)
	}
	if e.Update != nil && e.Update.Waits != nil && p.news(*e.Update.Waits) {
		return errNews
	}
	return nil
}

// news reports whether something needs attention that did not before.
func (p *progress) news(w record.Waits) bool {
	for _, a := range w.Approvals {
		if !record.Expired(a.Expires) && !p.before[keyOf(&a, nil)] {
			return true
		}
	}
	return slices.ContainsFunc(w.Questions, func(q record.Question) bool { return !record.Expired(q.Expires) && !p.before[keyOf(nil, &q)] })
}

// keysOf returns the keys of items.
func keysOf(all []system.Thing) map[string]bool {
	keys := map[string]bool{}
	for _, t := range all {
		keys[keyOf(t.Approval, t.Question)] = true
	}
	return keys
}

// keyOf identifies an item that needs attention, either a call or a question.
func keyOf(a *record.Approval, q *record.Question) string {
	w := record.Waits{}
	if a != nil {
		w.Approvals = []record.Approval{*a}
	}
	if q != nil {
		w.Questions = []record.Question{*q}
	}
	return w.Key()
}

func lineOf(u record.Update) string {
	parts := []string{string(u.Record.Status)}
	for _, x := range u.Executions {
		if !x.Status.Closed() {
			parts = append(parts, fmt.Sprintf("%s (iteration %d)", x.Name, x.Iterations))
		}
	}
	use := u.Record.Usage
	return strings.Join(append(parts, fmt.Sprintf("model calls: %d, tool calls: %d", use.ModelCalls, use.ToolCalls)), ", ")
}

// report sends the line when it has changed, and at intervals, until ctx ends.
func (p *progress) report(ctx context.Context) {
	token := p.call.Params.GetProgressToken()
	if token == nil {
		return
	}
	last, at := "", time.Time{}
	for n := 1.0; ; {
		p.mu.Lock()
		line := p.line
		p.mu.Unlock()
		if line != last || time.Since(at) >= progressAlive {
			last, at = line, time.Now()
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
