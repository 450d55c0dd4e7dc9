package inquest

import (
	"encoding/json"
	"time"

	"github.com/inquest-dev/inquest/internal/app"
)

// WorkerEvent describes a step of an investigation or a conversation, after the store has committed it. Fields that do
// not apply to the Kind are empty.
type WorkerEvent struct {
	Kind string // EventStarted …
	// Stage is the run of a stage. A stage has started when its first agent has.
	Investigation, Stage, Agent string
	Iteration                   int
	// Seq numbers model and tool calls within an investigation, with gaps. An event that is sent twice has the same
	// Seq.
	Seq         int64
	Tool, Model string
	// Status is a status as "starter status" shows it or, for a model call, the reason that the model stopped. Text is
	// the reply, the tool's result, the report, or the error, masked like the store's text: at most the first 4 KB,
	// followed by "…" if the store has more.
	Status, Text string
	// EndReason and Caveats describe the end of an investigation: the reason for the end, and the caveats of the report.
	// See Ending.
	EndReason                 string
	Caveats                   []string
	InputTokens, OutputTokens int
	// These describe a failed tool call: whether and when to retry it, and the tool's own details as JSON.
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
	EventWaiting      = app.EventWaiting // or no longer waiting: see Status
	EventEnded        = app.EventEnded
)

func (o Options) listener() func(app.Event) {
	if o.Listener == nil {
		return nil
	}
	return func(e app.Event) { o.Listener(WorkerEvent(e)) }
}
