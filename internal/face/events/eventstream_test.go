package events

import (
	"strings"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/goldentest"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// TestEvents: an investigation with one reply that arrives in pieces and restarts, a call that waits, an unavailable provider, and
// an end.
func TestEvents(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	dig := transcript.Scope{Investigation: "w:1", Execution: "dig/A"}
	tail := func(attempt int, thinking, text string) store.Update {
		return store.Update{Live: []transcript.Live{{Scope: dig, Iteration: 1, Attempt: attempt, Thinking: thinking, Text: text}}}
	}
	running := &record.Investigation{ID: "w:1", WorkflowID: "w", RunID: "r", Chain: "c", Status: agent.StatusRunning, StartedAt: at}
	ended := *running
	ended.Status, ended.Report, ended.EndedAt = agent.StatusCompleted, "the pool", &at
	call := record.Approval{CallID: "c1_0", Tool: "restart", Arguments: `{"pod":"db-1"}`, Digest: "5f2c09ab77d1", Agent: "A",
		Execution: "dig/A", Expires: at}
	asked := record.Waits{Approvals: []record.Approval{call}}
	away := record.Waits{Outages: []record.Outage{{Agent: "A", Execution: "dig/A", Model: "m", Error: "rate limited", Tries: 2, Since: at,
		Next: at, Until: at}}}
	updates := []store.Update{
		{Record: running,
			Executions: []record.Execution{{Investigation: "w:1", Name: "dig/A", Stage: "dig", Agent: "A", Status: agent.StatusRunning,
				StartedAt: at}}, Waits: &record.Waits{}},
		tail(1, "hm", ""),
		tail(1, "hm", "the <po"),
		tail(1, "hm", "the <pool> \u200bis"),
		tail(1, "hm", "the <pool> \u200bis"),
		tail(2, "", "it"),
		{Live: []transcript.Live{}, Entries: []transcript.Entry{{
			Scope: dig, Key: transcript.Key{Iteration: 1, Position: 2}, Seq: 1, Kind: transcript.KindReply, At: at,
			Body: transcript.Body{Text: "it is the pool"},
		}}},
		{Record: running, Waits: &asked},
		{Record: running, Waits: &asked},
		{Record: running, Waits: &away},
		{Record: &ended, Waits: &record.Waits{}},
	}
	var out strings.Builder
	w := Writer{Out: &out}
	write := func(e Event) {
		if err := w.Write(e); err != nil {
			t.Fatal(err)
		}
	}
	write(Event{Type: Started, ID: "w:1", WorkflowID: "w"})
	for _, u := range updates {
		if err := w.Update(u); err != nil {
			t.Fatal(err)
		}
	}
	write(Event{Type: Connection, To: "Temporal", Lost: &at})
	write(Event{Type: Connection, To: "Temporal"})
	write(Event{Type: Ended, Result: map[string]string{"status": "completed"}})
	const file = "testdata/events.golden"
	goldentest.Equal(t, file, out.String())
}
