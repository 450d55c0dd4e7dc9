package app

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/kit/safely"
	"github.com/inquest-dev/inquest/internal/knowledge/memory"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Event is a commit of the store. The public type inquest.WorkerEvent describes the fields. The compiler refuses a field that only
// one of the two types has.
type Event struct {
	Kind, Investigation, Stage, Agent string
	Iteration                         int
	Seq                               int64
	Tool, Model                       string
	Status, Text                      string
	EndReason                         string
	Caveats                           []string
	InputTokens, OutputTokens         int
	ErrorType                         string
	Recoverable                       bool
	RetryAfter                        time.Duration
	Details                           json.RawMessage
	At                                time.Time
}

// The kinds of events.
const (
	EventStarted      = "investigation_started"
	EventAgentStarted = "agent_started"
	EventModelCall    = "model_call"
	EventToolCall     = "tool_call"
	EventStageEnded   = "stage_ended"
	EventWaiting      = "waiting"
	EventEnded        = "investigation_ended"
)

// eventsQueued is how many events a listener may lag behind. Further events are dropped.
const eventsQueued = 1000

// eventText is the maximum length of an event's text, in bytes, because the queue holds a thousand events.
const eventText = 4 << 10

// lastEvents is how long a stopping worker waits for its listener.
const lastEvents = 2 * time.Second

// listened is the activities' store. It notifies a listener of their commits. A retried activity finds its step in the store, and
// the step's events are sent again.
type listened struct {
	*store.Store
	queue   chan Event // never closed: an activity may outlive the worker
	stop    chan struct{}
	done    chan struct{}
	dropped atomic.Int64
	log     *slog.Logger
}

func newListened(ctx context.Context, s *store.Store, listen func(Event), log *slog.Logger) *listened {
	e := &listened{Store: s, queue: make(chan Event, eventsQueued), stop: make(chan struct{}), done: make(chan struct{}), log: log}
	deliver := func(event Event) {
		_, _ = safely.Run(context.WithoutCancel(ctx), func() (any, error) { listen(event); return nil, nil }, func(kind, stack string) {
			log.Error("a listener has panicked", "type", kind, "stack", stack)
		})
	}
	go func() {
		defer close(e.done)
		for {
			select {
			case event := <-e.queue:
				deliver(event)
			case <-e.stop:
				for len(e.queue) > 0 {
					deliver(<-e.queue)
				}
				return
			}
		}
	}()
	return e
}

// close lets the listener receive the queued events and no more.
func (e *listened) close() {
	close(e.stop)
	select {
	case <-e.done:
	case <-time.After(lastEvents):
		e.dropped.Add(int64(len(e.queue)))
	}
	if n := e.dropped.Load(); n > 0 {
		e.log.Warn("events were dropped: the listener was too slow", "events", n)
	}
}

// enqueue never blocks.
func (e *listened) enqueue(event Event) {
	event.Text = strings.Clone(clip.Text(event.Text, eventText)) // so that the complete text can be freed
	if event.At.IsZero() {
		event.At = time.Now()
	}
	select {
	case e.queue <- event:
	default:
		if e.dropped.Add(1) == 1 {
			e.log.Warn("an event was dropped: the listener is too slow", "queued", eventsQueued)
		}
	}
}

func (e *listened) entries(all []transcript.Entry) {
	for _, row := range all {
		stage, name, _ := strings.Cut(row.Execution, "/")
		event := Event{
			Investigation: row.Investigation, Stage: stage, Agent: name, Iteration: row.Iteration, Seq: row.Seq, Text: row.Text, At: row.At,
		}
		switch {
		case row.Kind == transcript.KindReply && row.Model != "": // not a function's reply
			event.Kind, event.Model, event.Status = EventModelCall, row.Model, row.Finish
			if row.Usage != nil {
				event.InputTokens, event.OutputTokens = row.Usage.InputTokens, row.Usage.OutputTokens
			}
		case row.Kind == transcript.KindResult && row.Call != nil:
			event.Kind, event.Tool, event.Status = EventToolCall, row.Call.Name, row.Status
			event.ErrorType, event.Recoverable, event.Details = row.ErrorType, row.Recoverable, row.Details
			event.RetryAfter = time.Duration(row.RetryAfter * float64(time.Second))
		default:
			continue
		}
		e.enqueue(event)
	}
}

func (e *listened) LookupReply(ctx context.Context, scope transcript.Scope, iteration int, w transcript.Writer) (transcript.Known, error) {
	known, err := e.Store.LookupReply(ctx, scope, iteration, w)
	e.entries(known.Step)
	return known, err
}

func (e *listened) LookupSince(
	ctx context.Context, scope transcript.Scope, from, iteration int, w transcript.Writer,
) (transcript.Known, error) {
	known, err := e.Store.LookupSince(ctx, scope, from, iteration, w)
	e.entries(known.Step)
	return known, err
}

func (e *listened) LookupCall(
	ctx context.Context, scope transcript.Scope, iteration, n int, w transcript.Writer,
) (transcript.Known, error) {
	known, err := e.Store.LookupCall(ctx, scope, iteration, n, w)
	e.entries(known.Step)
	return known, err
}

func (e *listened) Append(ctx context.Context, step transcript.Step) ([]transcript.Entry, error) {
	stored, err := e.Store.Append(ctx, step)
	e.entries(stored)
	return stored, err
}

func (e *listened) AppendReply(ctx context.Context, step transcript.Step) ([]transcript.Entry, int, error) {
	stored, unread, err := e.Store.AppendReply(ctx, step)
	e.entries(stored)
	return stored, unread, err
}

func (e *listened) Journal(
	ctx context.Context, batch memory.Batch, run func(memory.Tx, int) (transcript.Body, error),
) ([]transcript.Entry, error) {
	stored, err := e.Store.Journal(ctx, batch, run)
	e.entries(stored)
	return stored, err
}

func (e *listened) StartInvestigation(ctx context.Context, inv record.Investigation) error {
	err := e.Store.StartInvestigation(ctx, inv)
	if err == nil {
		e.enqueue(Event{Kind: EventStarted, Investigation: inv.ID, Status: string(inv.Status), At: inv.StartedAt})
	}
	return err
}

func (e *listened) StartExecution(ctx context.Context, exec record.Execution, run string) error {
	err := e.Store.StartExecution(ctx, exec, run)
	if err == nil {
		_, name, _ := strings.Cut(exec.Name, "/")
		e.enqueue(Event{Kind: EventAgentStarted, Investigation: exec.Investigation, Stage: exec.Stage, Agent: name, Status: string(exec.Status)})
	}
	return err
}

func (e *listened) SaveStage(ctx context.Context, stage record.Stage, execs []record.Execution, envelope *record.Envelope) error {
	err := e.Store.SaveStage(ctx, stage, execs, envelope)
	if err == nil {
		e.enqueue(Event{
			Kind: EventStageEnded, Investigation: stage.Investigation, Stage: stage.Name, Status: string(stage.Status), Text: stage.Error,
		})
	}
	return err
}

func (e *listened) SetWaiting(ctx context.Context, w record.Waiting) error {
	err := e.Store.SetWaiting(ctx, w)
	if err == nil && e.stands(ctx, w) {
		e.enqueue(Event{Kind: EventWaiting, Investigation: w.Investigation, Status: string(w.Status)})
	}
	return err
}

// stands reports whether the store has accepted that status. It excludes late attempts and reports after the end. A conversation
// has no status.
func (e *listened) stands(ctx context.Context, w record.Waiting) bool {
	if w.Status == "" {
		return true
	}
	inv, err := e.Store.Investigation(ctx, w.Investigation)
	return err == nil && inv.Status == w.Status
}

func (e *listened) FinishInvestigation(ctx context.Context, inv record.Investigation) error {
	err := e.Store.FinishInvestigation(ctx, inv)
	if err == nil {
		e.ended(inv)
	}
	return err
}

func (e *listened) CloseInvestigation(ctx context.Context, inv record.Investigation) (bool, error) {
	closed, err := e.Store.CloseInvestigation(ctx, inv)
	if closed {
		e.ended(inv)
	}
	return closed, err
}

func (e *listened) ended(inv record.Investigation) {
	e.enqueue(Event{
		Kind: EventEnded, Investigation: inv.ID, Status: string(inv.Status), Text: cmp.Or(inv.Error, inv.Report),
		EndReason: string(inv.EndReason), Caveats: inv.Envelope.Caveats(),
	})
}
