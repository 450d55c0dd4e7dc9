package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/workflows"
)

// cutter drops the first response for each path after the API has handled the request, and records the keys.
type cutter struct {
	mu   sync.Mutex
	keys map[string][]string
}

func (c *cutter) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	response, err := http.DefaultTransport.RoundTrip(r)
	if c.keys[r.URL.Path] = append(c.keys[r.URL.Path], r.Header.Get("Idempotency-Key")); len(c.keys[r.URL.Path]) == 1 && err == nil {
		_ = response.Body.Close()
		return nil, io.EOF
	}
	return response, err
}

// A request without a response is repeated with the same key: one investigation starts, and one message is said.
func TestRemoteRepeats(t *testing.T) {
	t.Parallel()
	w, wire := newWorld(t), &cutter{keys: map[string][]string{}}
	w.conversation("talk", "payments")
	w.temporal.waits = &record.Waits{}
	r := NewRemote(w.url, secret("operator"), false)
	r.http.Transport = wire
	var told []string
	r.Tell = func(text string) { told = append(told, text) }
	h, err := r.Start(t.Context(), client.Start{Request: agent.Request{Chain: "shop"}, Data: "slow"})
	if _, is := w.temporal.started[h.Workflow]; err != nil || !is || len(w.temporal.started) != 2 {
		t.Errorf("started %+v, %v, in all %d", h, err, len(w.temporal.started))
	}
	if len(told) != 2 || !strings.Contains(told[0], "EOF; waiting") || !strings.Contains(told[1], "answers again") {
		t.Errorf("told %q", told)
	}
	if _, err := r.Say(t.Context(), client.Words{Thread: "talk", Text: "hello"}, nil); err != nil {
		t.Error(err)
	}
	for _, path := range []string{investigations, conversations + "/talk/messages"} {
		if keys := wire.keys[path]; len(keys) != 2 || keys[0] == "" || keys[0] != keys[1] {
			t.Errorf("%s: keys %q", path, keys)
		}
	}
	// A request without a key is not repeated, and the error says that it may have been done.
	_, err = r.Steer(t.Context(), "talk", workflows.SignalPause, nil)
	if err == nil || !strings.Contains(err.Error(), "it may have been done") {
		t.Errorf("paused: %v", err)
	}
	away := NewRemote("http://127.0.0.1:1", "", false)
	if _, err := away.Say(t.Context(), client.Words{Thread: "talk", Text: "hello"}, nil); err == nil ||
		strings.Contains(err.Error(), "may have been") {
		t.Errorf("where nobody is: %v", err)
	}
}

// Another server at the address is not mistaken for the API, even if it reports success.
func TestRemoteForeign(t *testing.T) {
	t.Parallel()
	kind := "text/html"
	var asked atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, "{}")
	}))
	defer elsewhere.Close()
	r := NewRemote(elsewhere.URL, "", false)
	for _, kind = range []string{"text/html", "application/json"} {
		for name, call := range map[string]func(context.Context) error{
			"follow": func(ctx context.Context) error {
				_, err := r.Follow(ctx, client.HandleOf("a", true), 0, func(client.Event) error { return nil })
				return err
			},
			"inbox": func(ctx context.Context) error { _, err := r.Waiting(ctx, ""); return err },
			"list":  func(ctx context.Context) error { _, err := r.List(ctx, store.Filter{}); return err },
			"start": func(ctx context.Context) error { _, err := r.Start(ctx, client.Start{}); return err },
			"say":   func(ctx context.Context) error { _, err := r.Say(ctx, client.Words{Agent: "Memo"}, nil); return err },
			"await": func(ctx context.Context) error { _, err := r.Await(ctx, client.HandleOf("a", true)); return err },
		} {
			before := asked.Load()
			if err := call(t.Context()); err == nil || !strings.Contains(err.Error(), "not as Inquest's API does") || asked.Load() != before+1 {
				t.Errorf("%s, %s: %v, asked %d times", name, kind, err, asked.Load()-before)
			}
		}
	}
}

// Errors from proxies are explained, and temporary ones are recognised.
func TestRemoteProxies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status     int
		kind, body string
		want       string
		passes     bool
		again      time.Duration
	}{
		"a problem without a word": {503, "application/problem+json", `{"title":"Service Unavailable"}`, "Service Unavailable", true, 0},
		"a page":                   {502, "text/html", "<p>", "502 Bad Gateway (text/html), and not as Inquest's API does", true, 0},
		"too many":                 {429, "application/problem+json", `{"detail":"slowly"}`, "slowly", true, 7 * time.Second},
		"too slow":                 {408, "", "", "408 Request Timeout", true, 0},
		"not allowed":              {418, "application/problem+json", `{"status":503,"detail":"no"}`, "no", false, 0},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.kind)
			if c.again > 0 {
				w.Header().Set("Retry-After", "7")
			}
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		}))
		_, err := NewRemote(server.URL, "", false).Threads(t.Context(), "", 0)
		server.Close()
		if err == nil || !strings.Contains(err.Error(), c.want) || passing(err) != c.passes || retryPause(0, err) < c.again {
			t.Errorf("%s: %v, passes %v, again in %s", name, err, passing(err), retryPause(0, err))
		}
	}
	if again := patiently(); again(&AwayError{"here", errors.New("refused")}) || !again(&toldError{status: 503}) {
		t.Error("where nobody is, it is asked again; or not where somebody is")
	}
}

// The inbox is read to its end, and the complete arguments of a large call on request.
func TestRemoteInbox(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.running("ours", "payments")
	large := `{"pods":"` + strings.Repeat("web ", 5000) + `"}`
	ref, err := w.store.PutBlob(t.Context(), []byte(large))
	waits := record.Waits{Approvals: []record.Approval{{
		CallID: "c#1", Execution: "dig/Memo", Digest: "d", Arguments: large[:100], ArgumentsRef: ref, Size: len(large),
		Expires: time.Now().Add(time.Hour),
	}}}
	for n := range 1001 {
		waits.Questions = append(waits.Questions, record.Question{ID: fmt.Sprint("q", n), Kind: "clarification",
			Stage: "dig", Question: "which?"})
	}
	if err == nil {
		err = w.store.SetWaiting(t.Context(), record.Waiting{
			Investigation: id, WorkflowID: "ours", RunID: "r", Seq: 1, Status: agent.StatusWaitingApproval, Waits: waits,
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	r := NewRemote(w.url, secret("viewer"), false)
	all, err := r.Waiting(t.Context(), "")
	if err != nil || len(all) != 1 || len(all[0].Questions) != 1001 || len(all[0].Approvals) != 1 {
		t.Fatalf("%d wait, %v", len(all), err)
	}
	call := all[0].Approvals[0]
	if err := r.Text(t.Context(), &call.Arguments, call.ArgumentsRef); err != nil || call.Arguments != large ||
		all[0].Approvals[0].Arguments != large[:100] {
		t.Errorf("%d bytes, %v", len(call.Arguments), err)
	}
	if err := r.Text(t.Context(), &call.Arguments, strings.TrimSuffix(call.ArgumentsRef, "d")+"e"); err == nil {
		t.Error("another call's arguments are read")
	}
}

// A conversation is looked up by its thread, however many there are. The same key with another text is another message.
func TestRemoteThread(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.conversation("talk", "payments")
	r := NewRemote(w.url, secret("viewer"), false)
	if h, with, err := r.FindThread(t.Context(), "talk"); err != nil || !h.Running() || h.Workflow != "talk" || with != "Memo" {
		t.Errorf("%+v with %q, %v", h, with, err)
	}
	if _, _, err := NewRemote(w.url, secret("stranger"), false).FindThread(t.Context(), "talk"); !errors.Is(err, record.ErrNotFound) {
		t.Errorf("another project's: %v", err)
	}
	k, again := MessageKey{"k"}, MessageKey{"k"}
	id := k.id("ada", "talk", "a")
	if id == k.id("ada", "talk", "b") || id != again.id("ada", "talk", "a") || (MessageKey{}).id("ada", "talk", "a") != "" {
		t.Error("the words are no part of the message's id")
	}
}
