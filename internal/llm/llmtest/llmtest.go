// Package llmtest is a model provider for tests: an HTTP server with the wire formats of OpenAI, Gemini and Anthropic
// that answers, or fails, as a script says. It serves the test's process and any other.
//
//	srv := llmtest.Start(t, llmtest.Sequence(
//		llmtest.RateLimited(time.Second),
//		llmtest.Calls(llmtest.Call{Name: "shell", Args: `{"command":"uptime"}`}),
//		llmtest.Text("The disk is full.").Chunked(4, 0),
//	))
package llmtest

import (
	"context"
	"net/http/httptest"
	"slices"
	"testing"
	"time"
)

// patience is how long a test waits for an event before it fails.
const patience = 60 * time.Second

// Server is a provider that ends with its test.
type Server struct {
	*Handler
	URL       string // the base URL to configure; it ends in /v1
	GeminiURL string // the same for the wire formats of Gemini and Anthropic

	t testing.TB
}

// Start starts a server that answers by the script.
func Start(t testing.TB, script Script) *Server {
	t.Helper()
	handler := New(script)
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		handler.Close()
		server.CloseClientConnections()
		server.Close()
	})
	return &Server{Handler: handler, URL: server.URL + "/v1", GeminiURL: server.URL, t: t}
}

// BaseURL returns the base URL for a wire format.
func (s *Server) BaseURL(w Wire) string {
	if w == OpenAI || w == Responses {
		return s.URL
	}
	return s.GeminiURL
}

// Wait waits until n requests have arrived, and returns the n-th.
func (s *Server) Wait(n int) Request {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	if err := s.Arrived(ctx, n); err != nil {
		s.t.Fatalf("llmtest: request %d did not come: %v", n, err)
	}
	return s.Requests()[n-1]
}

// WaitDone waits until n requests are finished: answered, or abandoned by the client.
func (s *Server) WaitDone(n int) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	if err := s.Done(ctx, n); err != nil {
		s.t.Fatalf("llmtest: %d requests are not over: %v", n, err)
	}
}

// Requests returns the chat requests received so far, in order of arrival.
func (h *Handler) Requests() []Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.requests)
}

// Forget drops all received requests, which are then no longer counted. It is for runs with too many requests to keep
// in memory.
func (h *Handler) Forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests, h.over = nil, 0
	clear(h.attempts)
}

// Arrived waits until n requests have arrived.
func (h *Handler) Arrived(ctx context.Context, n int) error {
	return h.await(ctx, func() bool { return len(h.requests) >= n })
}

// Done waits until n requests are finished: answered, or abandoned by the client.
func (h *Handler) Done(ctx context.Context, n int) error {
	return h.await(ctx, func() bool { return h.over >= n })
}

// await waits for a condition, which it checks with the lock held.
func (h *Handler) await(ctx context.Context, met func() bool) error {
	for {
		h.mu.Lock()
		changed, ok := h.changed, met()
		h.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
