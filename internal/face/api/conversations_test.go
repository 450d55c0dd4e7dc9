package api

import (
	"net/http"
	"testing"
	"time"
)

// With wait=0 the response comes before the reply. The default wait is a minute.
func TestWaitForReply(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.conversation("talk", "payments")
	w.temporal.thinks = true
	begun := time.Now()
	got := w.call("operator", "POST", "/api/v1/conversations/talk/messages?wait=0", map[string]any{"text": "hello"})
	if got.status != http.StatusAccepted || time.Since(begun) > 50*time.Second {
		t.Errorf("after %s: %d %s", time.Since(begun), got.status, got.body)
	}
	if got := w.call("operator", "POST", "/api/v1/conversations/talk/messages?wait=601",
		map[string]any{"text": "hello"}); got.status != http.StatusUnprocessableEntity {
		t.Errorf("for too long: %d %s", got.status, got.body)
	}
	if s := (orMinute{}); s.duration() != time.Minute {
		t.Errorf("by itself %s", s.duration())
	}
	for _, p := range w.api.OpenAPI().Paths["/api/v1/conversations/{id}/messages"].Post.Parameters {
		if p.Name == "wait" && (p.Schema.Default != 60 || *p.Schema.Maximum != 600) {
			t.Errorf("the document says %+v", p.Schema)
		}
	}
}
