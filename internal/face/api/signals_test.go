package api

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/face/remote"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
)

// Each signal can be sent through the API, arrives as the client has given it.
func TestSignals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.running("ours", "payments")
	w.temporal.waits = &record.Waits{}
	r := remote.New(w.url, secret("operator"), false)
	for _, signal := range system.Signals {
		want := signal.Payload("look at the deploy", system.Target{Stage: "dig"}, "operator")
		if _, err := r.Steer(t.Context(), id, signal.Name, want); err != nil {
			t.Errorf("%s: %v", signal.Name, err)
			continue
		}
		if diff := cmp.Diff(want, w.temporal.inputs[len(w.temporal.inputs)-1]); diff != "" {
			t.Errorf("%s (-sent +received):\n%s", signal.Name, diff)
		}
	}
	if _, err := r.Steer(t.Context(), id, "limits", nil); err == nil || !strings.Contains(err.Error(), `cannot send the signal "limits"`) {
		t.Errorf("a signal that people do not send: %v", err)
	}
}
