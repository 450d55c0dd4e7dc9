package events

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// A reader restores a writer's data: the complete live tails, and the end after everything that led to it.
func TestReader(t *testing.T) {
	t.Parallel()
	dig := transcript.Scope{Execution: "dig/A"}
	live := func(iteration, attempt int, text string) []transcript.Live {
		return []transcript.Live{{Scope: dig, Iteration: iteration, Attempt: attempt, Text: text}}
	}
	reply := transcript.Entry{Scope: dig, Seq: 1, Kind: transcript.KindReply, Body: transcript.Body{Text: "the pool"}}
	running, ended := &record.Investigation{Status: agent.StatusRunning}, &record.Investigation{Status: agent.StatusCompleted}
	asked := &record.Waits{Approvals: []record.Approval{{CallID: "c1_0"}}, Questions: []record.Question{}}
	var w Writer
	var r Reader
	var got []store.Update
	write := func(events ...Event) {
		for _, e := range events {
			if u, ok := r.Update(e); ok {
				got = append(got, u)
			}
		}
	}
	write(Event{Type: Started})
	for _, u := range []store.Update{
		{Record: running, Waits: &record.Waits{}}, {Live: live(1, 1, "the")}, {Live: live(1, 1, "the po")}, {Live: live(1, 2, "it")},
		{Live: []transcript.Live{}, Entries: []transcript.Entry{reply}}, {Live: live(2, 1, "so")}, {Record: running, Waits: asked},
		{Record: ended, Waits: &record.Waits{}},
	} {
		write(w.Events(u)...)
	}
	write(Event{Type: Ended})
	none, over := &record.Waits{}, &record.Waits{Approvals: []record.Approval{}, Questions: []record.Question{}}
	want := []store.Update{
		{Record: running, Waits: none}, {Live: live(1, 1, "the")}, {Live: live(1, 1, "the po")}, {Live: live(1, 2, "it")},
		{Live: []transcript.Live{}, Entries: []transcript.Entry{reply}}, {Live: live(2, 1, "so")}, {Waits: asked},
		{Record: running, Waits: asked},
		{Waits: over}, {Record: ended, Waits: over, More: true}, {Record: ended, Waits: over},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A reader that starts again after a lost connection gets the current waits from the first update on, so an open prompt stays open.
func TestReaderAnew(t *testing.T) {
	t.Parallel()
	asked := record.Waits{Approvals: []record.Approval{{CallID: "c1_0"}}, Outages: []record.Outage{{Execution: "dig/A", Tries: 2}}}
	var w Writer
	var r Reader
	for _, e := range w.Events(store.Update{Record: &record.Investigation{Status: agent.StatusRunning}, Waits: &asked}) {
		if u, ok := r.Update(e); !ok || len(u.Waits.Approvals) != 1 || u.Record != nil && len(u.Waits.Outages) != 1 {
			t.Errorf("%s tells %+v", e.Type, u)
		}
	}
}
