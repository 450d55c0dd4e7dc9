package remote

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/system"
)

// wire answers requests within the process.
type wire func(*http.Request) *http.Response

func (w wire) RoundTrip(r *http.Request) (*http.Response, error) { return w(r), nil }

// A silent stream counts as lost after a while, but not while a person thinks about a question from the stream.
func TestSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		connections := 0
		r := New("http://127.0.0.1", "", false)
		r.HTTP.Transport = wire(func(asked *http.Request) *http.Response {
			connections++
			said, saying := io.Pipe()
			context.AfterFunc(asked.Context(), func() { _ = saying.CloseWithError(context.Canceled) })
			go func(first bool) {
				for range 8 { // twice the allowed silence in total
					if first {
						return
					}
					_, _ = io.WriteString(saying, ": \n\n")
					time.Sleep(system.HeartbeatEvery)
				}
				for _, event := range []string{`{"type":"waiting","approvals":[],"questions":[]}`, `{"type":"ended"}`} {
					_, _ = io.WriteString(saying, "data: "+event+"\n\n")
				}
			}(connections == 1)
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: said}
		})
		var received []string
		begun := time.Now()
		_, err := r.Follow(t.Context(), system.HandleOf("w", true), 0, func(e system.Event) error {
			switch {
			case connections > 2:
				return errors.New("lost again")
			case e.Update != nil:
				time.Sleep(2 * silentFor)
			case e.Connection.Lost.IsZero():
				received = append(received, "back")
			default:
				received = append(received, "lost after "+time.Since(begun).String())
			}
			return nil
		})
		if got := strings.Join(received, ", "); err != nil || connections != 2 || got != "lost after 45s, back" {
			t.Errorf("%d connections, told %q, %v", connections, got, err)
		}
	})
}

// An endless event ends the stream. It is not read into memory and not requested again.
func TestEndlessEvent(t *testing.T) {
	t.Parallel()
	r := New("http://127.0.0.1/api/v1/", "", false)
	r.HTTP.Transport = wire(func(asked *http.Request) *http.Response {
		if got := asked.URL.Path; got != system.Investigations+"/w/events" {
			t.Errorf("asked for %s", got)
		}
		endless := io.NopCloser(zeros{})
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: endless}
	})
	_, err := r.Follow(t.Context(), system.HandleOf("w", true), 0, func(system.Event) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "an event is larger than 64 MB") {
		t.Errorf("got %v", err)
	}
	if _, err := r.Find(t.Context(), ".."); !errors.Is(err, record.ErrNotFound) {
		t.Errorf("..: %v", err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// Another server at the address is not mistaken for the API, even if it reports success.
func TestForeign(t *testing.T) {
	t.Parallel()
	kind := "text/html"
	var asked atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, "{}")
	}))
	defer elsewhere.Close()
	r := New(elsewhere.URL, "", false)
	for _, kind = range []string{"text/html", "application/json"} {
		for name, call := range map[string]func(context.Context) error{
			"follow": func(ctx context.Context) error {
				_, err := r.Follow(ctx, system.HandleOf("a", true), 0, func(system.Event) error { return nil })
				return err
			},
			"inbox": func(ctx context.Context) error { _, err := r.Waiting(ctx, ""); return err },
			"list":  func(ctx context.Context) error { _, err := r.List(ctx, store.Filter{}); return err },
			"start": func(ctx context.Context) error { _, err := r.Start(ctx, system.Start{}); return err },
			"say":   func(ctx context.Context) error { _, err := r.Say(ctx, system.Words{Agent: "Memo"}, nil); return err },
			"await": func(ctx context.Context) error { _, err := r.Await(ctx, system.HandleOf("a", true)); return err },
		} {
			before := asked.Load()
			if err := call(t.Context()); err == nil || !strings.Contains(err.Error(), "but is not Inquest's API") || asked.Load() != before+1 {
				t.Errorf("%s, %s: %v, asked %d times", name, kind, err, asked.Load()-before)
			}
		}
	}
}

// Errors from proxies are explained, and temporary ones are recognised.
func TestProxies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status     int
		kind, body string
		want       string
		passes     bool
		pause      time.Duration
	}{
		"a problem without a word": {503, "application/problem+json", `{"title":"Service Unavailable"}`, "Service Unavailable", true, 0},
		"a page":                   {502, "text/html", "<p>", "502 Bad Gateway (text/html), but is not Inquest's API", true, 0},
		"too many":                 {429, "application/problem+json", `{"detail":"slowly"}`, "slowly", true, 7 * time.Second},
		"too slow":                 {408, "", "", "408 Request Timeout", true, 0},
		"not allowed":              {418, "application/problem+json", `{"status":503,"detail":"no"}`, "no", false, 0},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.kind)
			if c.pause > 0 {
				w.Header().Set("Retry-After", "7")
			}
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		}))
		_, err := New(server.URL, "", false).Threads(t.Context(), "", 0)
		server.Close()
		if err == nil || !strings.Contains(err.Error(), c.want) || passing(err) != c.passes || retryPause(0, err) < c.pause {
			t.Errorf("%s: %v, passes %v, again in %s", name, err, passing(err), retryPause(0, err))
		}
	}
	if retryable := patiently(); retryable(&AwayError{"here", errors.New("refused")}) || !retryable(&apiError{status: 503}) {
		t.Error("where nobody is, it is asked again; or not where somebody is")
	}
}

// People are told that the API is available again even if the call that found it unavailable has given up.
func TestTellsThatItIsBack(t *testing.T) {
	t.Parallel()
	var received []string
	r := New("http://127.0.0.1:1", "", false)
	r.Tell = func(text string) { received = append(received, text) }
	limited := &apiError{status: http.StatusTooManyRequests, text: "slowly"}
	tries := 0
	twice := func(error) bool { tries++; return tries < 2 }
	if _, err := persist(t.Context(), r, twice, func() (int, error) { return 0, limited }); !errors.Is(err, limited) {
		t.Errorf("gave up with %v", err)
	}
	for range 2 {
		if _, err := persist(t.Context(), r, passing, func() (int, error) { return 1, nil }); err != nil {
			t.Error(err)
		}
	}
	if want := []string{"slowly; waiting", "the API at http://127.0.0.1:1 is available again"}; !slices.Equal(received, want) {
		t.Errorf("told %q, want %q", received, want)
	}
}

// A token is sent only to https:// and to this host.
func TestAddresses(t *testing.T) {
	t.Parallel()
	for address, fine := range map[string]bool{
		"https://inquest.example.com/at": true, "http://localhost:8088": true, "http://[::1]:8088": true, "http://127.0.0.1": true,
		"http://inquest.example.com": false, "http://localhost.example.com:8088": false, "ftp://localhost": false, "localhost:8088": false,
		"https://user:word@inquest.example.com": false, "https://inquest.example.com/?a=b": false, "": false,
	} {
		if got := New(address, "t", false).wrong; (got == nil) != fine {
			t.Errorf("%s: %v", address, got)
		}
	}
	if New("http://inquest.example.com", "t", true).wrong != nil || New("http://inquest.example.com", "", false).wrong != nil {
		t.Error("an address is refused that is wanted, or that is told nothing")
	}
}
