package app

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store/storetest"
)

// An event contains the beginning of a long text. A wait is reported only if the store has accepted it, not for a late attempt or
// after the end.
func TestListened(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := storetest.Open(t)
	var received []Event
	e := newListened(ctx, s, func(event Event) { received = append(received, event) }, slog.New(slog.DiscardHandler))
	inv := record.Investigation{ID: "inv", WorkflowID: "inv", RunID: "r1", Status: agent.StatusRunning, StartedAt: time.Now()}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	says := func(status agent.Status, seq int) {
		t.Helper()
		must(e.SetWaiting(ctx, record.Waiting{Investigation: "inv", WorkflowID: "inv", RunID: "r1", Seq: seq, Status: status}))
	}
	must(e.StartInvestigation(ctx, inv))
	says(agent.StatusPaused, 2)
	says(agent.StatusWaitingApproval, 1) // late
	inv.Status, inv.EndedAt, inv.Report = agent.StatusCompleted, new(time.Now()), strings.Repeat("é", eventText)
	inv.EndReason, inv.Envelope.NoToolResult = agent.EndPartial, true
	must(e.FinishInvestigation(ctx, inv))
	says(agent.StatusPaused, 3) // after the end
	e.close()
	var got []string
	for _, event := range received {
		got = append(got, event.Kind+" "+event.Status)
	}
	want := "investigation_started running, waiting paused, investigation_ended completed"
	if all := strings.Join(got, ", "); all != want {
		t.Fatalf("told %s, want %s", all, want)
	}
	if text := received[2].Text; len(text) != eventText+len("…") || !strings.HasSuffix(text, "é…") {
		t.Errorf("%d bytes of text", len(text))
	}
	end, caveats := received[2], inv.Envelope.Caveats()
	if end.EndReason != string(agent.EndPartial) || len(caveats) != 1 || !slices.Equal(end.Caveats, caveats) {
		t.Errorf("got %q, %q", end.EndReason, end.Caveats)
	}
}
