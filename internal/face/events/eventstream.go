// Package events encodes the events of an investigation as JSON, one event per line (docs/reference/events.md).
// `starter run --json` and `watch --json` print them.
package events

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/kit/reveal"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Version is the version of the events. Types and fields are only ever added, and readers ignore unknown ones.
const Version = 1

// The types of events.
const (
	Started    = "started"    // the investigation is watched from here on
	Record     = "record"     // its current records
	Entry      = "entry"      // a new transcript entry, or one that a reset has superseded
	Delta      = "delta"      // an addition to a reply in progress
	Waiting    = "waiting"    // the approvals and questions that currently wait for people
	Outage     = "outage"     // the providers and tool servers that agents currently wait for
	Connection = "connection" // the connection was lost or restored
	Status     = "status"     // the state, if the store is not available
	Ended      = "ended"      // the result; the last event
)

// Event is one line. Besides V and Type, it has the fields of its type.
type Event struct {
	V    int    `json:"v"`
	Type string `json:"type"`

	ID         string `json:"id,omitempty"` // of the investigation
	WorkflowID string `json:"workflow_id,omitempty"`

	Investigation *record.Investigation `json:"investigation,omitempty"`
	Stages        []record.Stage        `json:"stages,omitempty"`
	Executions    []record.Execution    `json:"executions,omitempty"`
	About         string                `json:"about,omitempty"` // a line about the subject of the investigation

	Entry *transcript.Entry `json:"entry,omitempty"`
	Delta *Part             `json:"delta,omitempty"`

	Approvals *[]record.Approval `json:"approvals,omitempty"`
	Questions *[]record.Question `json:"questions,omitempty"`
	Outages   *[]record.Outage   `json:"outages,omitempty"`

	To     string     `json:"to,omitempty"`
	Lost   *time.Time `json:"lost,omitempty"` // absent means restored
	Why    string     `json:"why,omitempty"`  // why only the status is available
	Status any        `json:"status,omitempty"`
	Result any        `json:"result,omitempty"`
}

// Part is an addition to a reply in progress. The reply's entry has the complete text.
type Part struct {
	Execution string `json:"execution"`
	Iteration int    `json:"iteration"`
	Attempt   int    `json:"attempt"`
	// Restart means that the earlier parts are void.
	Restart  bool   `json:"restart,omitempty"`
	Text     string `json:"text,omitempty"`
	Thinking string `json:"thinking,omitempty"`
}

// Writer writes the events of one investigation.
type Writer struct {
	Out   io.Writer
	live  map[string]transcript.Live // by execution: what has been written
	waits record.Waits
}

// Write writes one event. Invisible characters become JSON escapes.
func (w *Writer) Write(e Event) error {
	e.V = Version
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return err
	}
	_, err := io.WriteString(w.Out, reveal.Unseen(line.String()))
	return err
}

// Update writes the events of a store's update.
func (w *Writer) Update(u record.Update) error {
	for _, e := range w.Events(u) {
		if err := w.Write(e); err != nil {
			return err
		}
	}
	return nil
}

// Events returns the events of a store's update.
func (w *Writer) Events(u record.Update) (out []Event) {
	for _, e := range u.Entries {
		out = append(out, Event{Type: Entry, Entry: &e})
	}
	for _, tail := range u.Live {
		if part := w.part(tail); part.Restart || part.Text+part.Thinking != "" {
			out = append(out, Event{Type: Delta, Delta: &part})
		}
	}
	if u.Live != nil {
		w.live = map[string]transcript.Live{}
		for _, tail := range u.Live {
			w.live[tail.Execution] = tail
		}
	}
	if u.Waits != nil {
		out = append(out, w.waiting(*u.Waits)...)
	}
	if u.Record != nil {
		out = append(out, Event{Type: Record, Investigation: u.Record, Stages: u.Stages, Executions: u.Executions, About: u.About})
	}
	return out
}

// waiting returns the events for changed waits. They come before the record. So after the first record of a stream, a reader that
// got no such event knows that nothing is waiting.
func (w *Writer) waiting(now record.Waits) (out []Event) {
	before := w.waits
	w.waits = now
	if key(now.Approvals, now.Questions) != key(before.Approvals, before.Questions) {
		approvals, questions := append([]record.Approval{}, now.Approvals...), append([]record.Question{}, now.Questions...)
		out = append(out, Event{Type: Waiting, Approvals: &approvals, Questions: &questions})
	}
	if (record.Waits{Outages: now.Outages}).Key() != (record.Waits{Outages: before.Outages}).Key() {
		outages := append([]record.Outage{}, now.Outages...)
		out = append(out, Event{Type: Outage, Outages: &outages})
	}
	return out
}

func key(approvals []record.Approval, questions []record.Question) string {
	return record.Waits{Approvals: approvals, Questions: questions}.Key()
}

// part returns the new part of a reply.
func (w *Writer) part(tail transcript.Live) Part {
	p := Part{Execution: tail.Execution, Iteration: tail.Iteration, Attempt: tail.Attempt, Text: tail.Text, Thinking: tail.Thinking}
	before, known := w.live[tail.Execution]
	text, more := strings.CutPrefix(tail.Text, before.Text)
	thinking, also := strings.CutPrefix(tail.Thinking, before.Thinking)
	switch {
	case !known || before.Iteration != tail.Iteration:
	case before.Attempt != tail.Attempt || !more || !also:
		p.Restart = true
	default:
		p.Text, p.Thinking = text, thinking
	}
	return p
}
