package api

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/metrics"
	"github.com/inquest-dev/inquest/internal/record"
)

// The metrics include all pending items.
func TestGauges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.investigation("ended", "payments")
	waiting := record.Waiting{Investigation: "talk:1", WorkflowID: "talk", RunID: "r", Seq: 1, Waits: record.Waits{
		Approvals: []record.Approval{{CallID: "a"}, {CallID: "b"}}, Outages: []record.Outage{{Execution: "e"}},
	}}
	if err := w.store.SetWaiting(t.Context(), waiting); err != nil {
		t.Fatal(err)
	}
	m := metrics.New()
	gauges(t.Context(), w.store, m)
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{"\ninquest_approvals_open 2\n", "\ninquest_questions_open 0\n", "\ninquest_outages 1\n"} {
		if !strings.Contains(answer.Body.String(), want) {
			t.Errorf("nothing says %s", want)
		}
	}
}
