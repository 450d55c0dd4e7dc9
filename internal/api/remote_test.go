package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
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
	r := NewRemote(w.url, secret("viewer"), false)
	r.http.Transport = wire
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	events, over := make(chan client.Event), make(chan struct{})
	var out client.Result
	var err error
	go func() {
		defer close(over)
		out, err = r.Follow(ctx, client.HandleOf(id, true), 0, func(e client.Event) error {
			select {
			case events <- e:
			case <-ctx.Done():
			}
			return nil
		})
		close(events)
	}()
	var said []string
	until := func(what string, is func(client.Event) bool) {
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
		until(text, func(e client.Event) bool { return e.Update != nil && len(said) > 0 && said[len(said)-1] == text })
	}
	entry("one")
	wire.now()
	until("that it is away", func(e client.Event) bool { return e.Connection != nil && !e.Connection.Lost.IsZero() })
	w.say(id, 2, "two")
	until("that it is back", func(e client.Event) bool { return e.Connection != nil && e.Connection.Lost.IsZero() })
	entry("two")
	w.end(id, "ours")
	until("the end", func(e client.Event) bool {
		return e.Update != nil && e.Update.Record != nil && e.Update.Record.Status.Closed() && !e.Update.More
	})
	<-over
	if err != nil || out.Status != agent.StatusCompleted || out.Report != "the pool" || len(said) != 2 {
		t.Errorf("%+v, %v, entries %v", out, err, said)
	}
}

// wire answers requests within the process.
type wire func(*http.Request) *http.Response

func (w wire) RoundTrip(r *http.Request) (*http.Response, error) { return w(r), nil }

// A silent stream counts as lost after a while, but not while a person thinks about a question from the stream.
func TestRemoteSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		connections := 0
		r := NewRemote("http://127.0.0.1", "", false)
		r.http.Transport = wire(func(asked *http.Request) *http.Response {
			connections++
			said, saying := io.Pipe()
			context.AfterFunc(asked.Context(), func() { _ = saying.CloseWithError(context.Canceled) })
			go func(first bool) {
				for range 8 { // twice the allowed silence in total
					if first {
						return
					}
					_, _ = io.WriteString(saying, ": \n\n")
					time.Sleep(heartbeatEvery)
				}
				for _, event := range []string{`{"type":"waiting","approvals":[],"questions":[]}`, `{"type":"ended"}`} {
					_, _ = io.WriteString(saying, "data: "+event+"\n\n")
				}
			}(connections == 1)
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: said}
		})
		var told []string
		begun := time.Now()
		_, err := r.Follow(t.Context(), client.HandleOf("w", true), 0, func(e client.Event) error {
			switch {
			case connections > 2:
				return errors.New("lost again")
			case e.Update != nil:
				time.Sleep(2 * silentFor)
			case e.Connection.Lost.IsZero():
				told = append(told, "back")
			default:
				told = append(told, "lost after "+time.Since(begun).String())
			}
			return nil
		})
		if got := strings.Join(told, ", "); err != nil || connections != 2 || got != "lost after 45s, back" {
			t.Errorf("%d connections, told %q, %v", connections, got, err)
		}
	})
}

// An endless event ends the stream. It is not read into memory and not requested again.
func TestRemoteEndlessEvent(t *testing.T) {
	t.Parallel()
	r := NewRemote("http://127.0.0.1/api/v1/", "", false)
	r.http.Transport = wire(func(asked *http.Request) *http.Response {
		if got := asked.URL.Path; got != investigations+"/w/events" {
			t.Errorf("asked for %s", got)
		}
		endless := io.NopCloser(zeros{})
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: endless}
	})
	_, err := r.Follow(t.Context(), client.HandleOf("w", true), 0, func(client.Event) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "an event has more than 64 MB") {
		t.Errorf("got %v", err)
	}
	if _, err := r.Find(t.Context(), ".."); !errors.Is(err, record.ErrNotFound) {
		t.Errorf("..: %v", err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// A token is sent only to https:// and to this host, and never after a redirect. Things of another project are hidden.
func TestRemoteTokens(t *testing.T) {
	t.Parallel()
	for address, fine := range map[string]bool{
		"https://inquest.example.com/at": true, "http://localhost:8088": true, "http://[::1]:8088": true, "http://127.0.0.1": true,
		"http://inquest.example.com": false, "http://localhost.example.com:8088": false, "ftp://localhost": false, "localhost:8088": false,
		"https://user:word@inquest.example.com": false, "https://inquest.example.com/?a=b": false, "": false,
	} {
		if got := NewRemote(address, "t", false).wrong; (got == nil) != fine {
			t.Errorf("%s: %v", address, got)
		}
	}
	if NewRemote("http://inquest.example.com", "t", true).wrong != nil || NewRemote("http://inquest.example.com", "", false).wrong != nil {
		t.Error("an address is refused that is wanted, or that is told nothing")
	}
	w := newWorld(t)
	id := w.investigation("ours", "payments")
	if _, err := NewRemote(w.url, secret("stranger"), false).Outcome(t.Context(), id); !errors.Is(err, record.ErrNotFound) {
		t.Errorf("another project's: %v", err)
	}
	_, err := NewRemote(w.url, secret("viewer"), false).CancelAs(t.Context(), id, client.Identity{})
	if err == nil || !strings.Contains(err.Error(), "the token of INQUEST_TOKEN may not do it") ||
		strings.Contains(err.Error(), secret("viewer")) {
		t.Errorf("a viewer's: %v", err)
	}
	elsewhere := httptest.NewServer(http.RedirectHandler(w.url+investigations, http.StatusTemporaryRedirect))
	defer elsewhere.Close()
	if _, err := NewRemote(elsewhere.URL, secret("root"), false).List(t.Context(), store.Filter{}); err == nil ||
		!strings.Contains(err.Error(), "307") {
		t.Errorf("a redirect: %v", err)
	}
}
