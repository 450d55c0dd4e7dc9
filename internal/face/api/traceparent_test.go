package api

import (
	"net/http"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/webhook"
)

// The trace context of a request becomes the investigation's, unless it is invalid.
func TestTraceParent(t *testing.T) {
	t.Parallel()
	const sent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for header, want := range map[string]string{sent: sent, "": "", "00-no-context-01": "", "00-" + sent: ""} {
		w := hooked(t, "")
		i := w.intake(webhook.DefaultLimits)
		for _, post := range []struct {
			path string
			in   any
		}{
			{"/webhooks/alertmanager", firing("firing", 1, 1)},
			{"/api/v1/investigations", map[string]any{"alert_type": "Slow", "data": "x", "again": true, "metadata": map[string]string{"a": "b"}}},
		} {
			if a := w.call("", http.MethodPost, post.path, post.in, "traceparent", header); a.status/100 != 2 {
				t.Fatalf("%s: %+v", post.path, a)
			}
		}
		if _, err := w.place(i); err != nil {
			t.Fatal(err)
		}
		for _, in := range w.temporal.inputs {
			req := in.(agent.Request)
			if got, given := req.Metadata[agent.TraceParent]; got != want || given != (want != "") {
				t.Errorf("%q: %q in %v", header, got, req.Metadata)
			}
		}
		if len(w.temporal.inputs) != 2 || w.temporal.inputs[0].(agent.Request).Metadata["a"] != "b" {
			t.Errorf("started %+v", w.temporal.inputs)
		}
	}
}
