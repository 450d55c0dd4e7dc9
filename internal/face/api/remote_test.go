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
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/face/remote"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/workflows"
)

// cuts keeps the last opened stream so that a test can cut it.
type cuts struct {
	mu   sync.Mutex
	last io.Closer
}

func (c *cuts) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && strings.HasSuffix(r.URL.Path, "/events") {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.last = response.Body
	}
	return response, err
}

func (c *cuts) now() {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.last.Close()
}

// A stream that is cut resumes where it left off. Each entry and each outage is reported once.
func TestRemoteFollows(t *testing.T) {
	t.Parallel()
	w, wire := newWorld(t), &cuts{}
	id := w.running("ours", "payments")
	w.say(id, 1, "one")
	r := remote.New(w.url, secret("viewer"), false)
	r.HTTP.Transport = wire
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	events, over := make(chan system.Event), make(chan struct{})
	var out system.Result
	var err error
	go func() {
		defer close(over)
		out, err = r.Follow(ctx, system.HandleOf(id, true), 0, func(e system.Event) error {
			select {
			case events <- e:
			case <-ctx.Done():
			}
			return nil
		})
		close(events)
	}()
	var said []string
	until := func(what string, is func(system.Event) bool) {
		t.Helper()
		for e := range events {
			if e.Update != nil {
				for _, entry := range e.Update.Entries {
					said = append(said, entry.Text)
				}
			}
			if is(e) {
				return
			}
		}
		t.Fatalf("%s is not told; entries %v, %v", what, said, err)
	}
	entry := func(text string) {
		until(text, func(e system.Event) bool { return e.Update != nil && len(said) > 0 && said[len(said)-1] == text })
	}
	entry("one")
	wire.now()
	until("that it is away", func(e system.Event) bool { return e.Connection != nil && !e.Connection.Lost.IsZero() })
	w.say(id, 2, "two")
	until("that it is back", func(e system.Event) bool { return e.Connection != nil && e.Connection.Lost.IsZero() })
	entry("two")
	w.end(id, "ours")
	until("the end", func(e system.Event) bool {
		return e.Update != nil && e.Update.Record != nil && e.Update.Record.Status.Closed() && !e.Update.More
	})
	<-over
	if err != nil || out.Status != agent.StatusCompleted || out.Report != "the pool" || len(said) != 2 {
		t.Errorf("%+v, %v, entries %v", out, err, said)
	}
}

// A token is never sent after a redirect. Things of another project are hidden.
func TestRemoteTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.investigation("ours", "payments")
	if _, err := remote.New(w.url, secret("stranger"), false).Outcome(t.Context(), id); !errors.Is(err, record.ErrNotFound) {
		t.Errorf("another project's: %v", err)
	}
	_, err := remote.New(w.url, secret("viewer"), false).CancelAs(t.Context(), id, client.Identity{})
	if err == nil || !strings.Contains(err.Error(), "the token in INQUEST_TOKEN is not permitted") ||
		strings.Contains(err.Error(), secret("viewer")) {
		t.Errorf("a viewer's: %v", err)
	}
	elsewhere := httptest.NewServer(http.RedirectHandler(w.url+system.Investigations, http.StatusTemporaryRedirect))
	defer elsewhere.Close()
	if _, err := remote.New(elsewhere.URL, secret("root"), false).List(t.Context(), store.Filter{}); err == nil ||
		!strings.Contains(err.Error(), "307") {
		t.Errorf("a redirect: %v", err)
	}
}

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
	r := remote.New(w.url, secret("operator"), false)
	r.HTTP.Transport = wire
	var received []string
	r.Tell = func(text string) { received = append(received, text) }
	h, err := r.Start(t.Context(), system.Start{Request: agent.Request{Chain: "shop"}, Data: "slow"})
	if _, is := w.temporal.started[h.Workflow]; err != nil || !is || len(w.temporal.started) != 2 {
		t.Errorf("started %+v, %v, in all %d", h, err, len(w.temporal.started))
	}
	if len(received) != 2 || !strings.Contains(received[0], "EOF; waiting") || !strings.Contains(received[1], "is available again") {
		t.Errorf("told %q", received)
	}
	if _, err := r.Say(t.Context(), system.Words{Thread: "talk", Text: "hello"}, nil); err != nil {
		t.Error(err)
	}
	for _, path := range []string{system.Investigations, system.Conversations + "/talk/messages"} {
		if keys := wire.keys[path]; len(keys) != 2 || keys[0] == "" || keys[0] != keys[1] {
			t.Errorf("%s: keys %q", path, keys)
		}
	}
	// A request without a key is not repeated, and the error says that it may have taken effect.
	_, err = r.Steer(t.Context(), "talk", workflows.SignalPause, nil)
	if err == nil || !strings.Contains(err.Error(), "the request may have taken effect") {
		t.Errorf("paused: %v", err)
	}
	away := remote.New("http://127.0.0.1:1", "", false)
	if _, err := away.Say(t.Context(), system.Words{Thread: "talk", Text: "hello"}, nil); err == nil ||
		strings.Contains(err.Error(), "may have been") {
		t.Errorf("where nobody is: %v", err)
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
	r := remote.New(w.url, secret("viewer"), false)
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
	r := remote.New(w.url, secret("viewer"), false)
	if h, with, err := r.FindThread(t.Context(), "talk"); err != nil || !h.Open || h.Workflow != "talk" || with != "Memo" {
		t.Errorf("%+v with %q, %v", h, with, err)
	}
	if _, _, err := remote.New(w.url, secret("stranger"), false).FindThread(t.Context(), "talk"); !errors.Is(err, record.ErrNotFound) {
		t.Errorf("another project's: %v", err)
	}
	k, second := system.MessageKey{Key: "k"}, system.MessageKey{Key: "k"}
	id := messageID(k, "ada", "talk", "a")
	if id == messageID(k, "ada", "talk", "b") || id != messageID(second, "ada", "talk", "a") ||
		messageID(system.MessageKey{}, "ada", "talk", "a") != "" {
		t.Error("the words are no part of the message's id")
	}
}
