package mcp

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// A listening stream that brought an event, or that lasted, resets the delay before the next stream. Any other one keeps it.
func TestListenDelay(t *testing.T) {
	t.Parallel()
	const message = `data: {"jsonrpc":"2.0","method":"notifications/message","params":{}}` + "\n\n"
	for name, tc := range map[string]struct {
		status int
		events string
		before time.Duration
		want   time.Duration
	}{
		"an event with an id":      {200, "id: 1\n" + message, time.Hour, firstListenDelay},
		"an event without an id":   {200, message, time.Hour, firstListenDelay},
		"a comment":                {200, ": alive\n\n", time.Hour, firstListenDelay},
		"the server's delay":       {200, "retry: 2000\n\n", time.Hour, 2 * time.Second},
		"the server's delay stays": {200, "retry: 2000\n\n" + message, time.Hour, 2 * time.Second},
		"no event, and it lasted":  {200, "", time.Nanosecond, firstListenDelay},
		"no event, ended at once":  {200, "", time.Hour, time.Hour},
		"half an event":            {200, "id: 1", time.Hour, time.Hour},
		"refused":                  {503, "", time.Nanosecond, time.Nanosecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				w.WriteHeader(tc.status)
				_, _ = io.WriteString(w, tc.events)
			}))
			defer server.Close()
			w, err := newWeb(Transport{Type: HTTP, URL: server.URL}, secrets{}, nil, func() {}, Options{MessageLimit: 1 << 20})
			if err != nil {
				t.Fatal(err)
			}
			request, err := http.NewRequest(http.MethodGet, server.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			body, out := io.Pipe()
			go io.Copy(io.Discard, body)
			defer out.Close()
			l := listener{web: w, request: request, out: out, first: firstListenDelay, delay: tc.before}
			if retry := l.read(t.Context(), func() {}); !retry || l.delay != tc.want {
				t.Errorf("retry %t after %s, want %s", retry, l.delay, tc.want)
			}
		})
	}
}
