package events

import (
	"maps"
	"slices"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Reader converts the events of one stream to updates, as the store sends them.
type Reader struct {
	live  map[string]transcript.Live // by execution
	waits record.Waits
	last  Event // of type Record
}

// Update returns the update for an event; ok is false for events without one. If records say that the investigation has ended, the
// update has More set until the last event arrives.
func (r *Reader) Update(e Event) (u record.Update, ok bool) {
	switch {
	case e.Type == Entry && e.Entry != nil:
		u.Entries = []transcript.Entry{*e.Entry}
		if _, live := r.live[e.Entry.Execution]; live && e.Entry.Kind == transcript.KindReply {
			delete(r.live, e.Entry.Execution)
			u.Live = r.tails()
		}
	case e.Type == Delta && e.Delta != nil:
		r.add(*e.Delta)
		u.Live = r.tails()
	case e.Type == Record && e.Investigation != nil:
		r.last = e
		u = r.records()
		u.More = e.Investigation.Status.Closed()
	case e.Type == Waiting && e.Approvals != nil && e.Questions != nil:
		r.waits.Approvals, r.waits.Questions = *e.Approvals, *e.Questions
		u.Waits = r.now()
	case e.Type == Outage && e.Outages != nil:
		r.waits.Outages = *e.Outages
		u.Waits = r.now()
	case e.Type == Ended && r.last.Investigation != nil:
		u = r.records()
	default:
		return u, false
	}
	return u, true
}

func (r *Reader) records() record.Update {
	return record.Update{
		Record: r.last.Investigation, Stages: r.last.Stages, Executions: r.last.Executions, About: r.last.About, Waits: r.now(),
	}
}

func (r *Reader) now() *record.Waits {
	waits := r.waits
	return &waits
}

// add appends a part to the reply that it continues.
func (r *Reader) add(p Part) {
	now := transcript.Live{
		Scope: transcript.Scope{Execution: p.Execution}, Iteration: p.Iteration, Attempt: p.Attempt, Text: p.Text, Thinking: p.Thinking,
	}
	before := r.live[p.Execution]
	if !p.Restart && before.Iteration == p.Iteration && before.Attempt == p.Attempt {
		now.Text, now.Thinking = before.Text+p.Text, before.Thinking+p.Thinking
	}
	if r.live == nil {
		r.live = map[string]transcript.Live{}
	}
	r.live[p.Execution] = now
}

// tails returns the replies in progress, in the order of their executions; never nil.
func (r *Reader) tails() []transcript.Live {
	out := []transcript.Live{}
	for _, name := range slices.Sorted(maps.Keys(r.live)) {
		out = append(out, r.live[name])
	}
	return out
}
