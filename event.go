package inquest

import (
	"encoding/json"
	"time"

	"github.com/inquest-dev/inquest/internal/app"
)

// WorkerEvent tells what an investigation or a conversation has come to, once the store has committed it. Fields that
// its kind has no use for are empty.
type WorkerEvent struct {
	Kind string // EventStarted …
	// Stage is the run of a stage, which has started when the first of its agents has.
	Investigation, Stage, Agent string
	Iteration                   int
	// Seq numbers model and tool calls within an investigation, with gaps: told twice, it is the same.
	Seq         int64
	Tool, Model string
	// Status is a word of starter status, of a model call why the model stopped; Text is the
	// reply, the tool's result, the report, or what went wrong, masked as it is stored: at
	// most the first 4 KB, and "…" where more is in the store.
	Status, Text              string
	InputTokens, OutputTokens int
	// These are of a tool call that failed: another attempt may succeed; when to make it; what else the tool says, as JSON.
	ErrorType   string
	Recoverable bool
	RetryAfter  time.Duration
	Details     json.RawMessage
	At          time.Time
}

// The kinds of a WorkerEvent.
const (
	EventStarted      = app.EventStarted
	EventAgentStarted = app.EventAgentStarted
	EventModelCall    = app.EventModelCall
	EventToolCall     = app.EventToolCall
	EventStageEnded   = app.EventStageEnded
	EventWaiting      = app.EventWaiting // or at work again, as Status says
	EventEnded        = app.EventEnded
)

func (o Options) listener() func(app.Event) {
	if o.Listener == nil {
		return nil
	}
	return func(e app.Event) { o.Listener(WorkerEvent(e)) }
}
