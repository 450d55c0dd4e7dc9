package llmtest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"net/http"
	"sync"
)

// Handler is the provider as an http.Handler, for use outside tests. It is safe for concurrent use.
type Handler struct {
	script Script
	mux    *http.ServeMux
	quit   context.Context // ends held and stalled replies
	stop   context.CancelFunc

	mu       sync.Mutex
	requests []Request
	attempts map[[sha256.Size]byte]int
	over     int
	changed  chan struct{} // closed and replaced at every change
}

// New returns a handler for POST …/v1/chat/completions, POST …/v1/messages, GET …/v1/models and POST
// …/v1beta/models/{model}:generateContent or :streamGenerateContent, with the variants of Azure, Vertex AI and Bedrock.
func New(script Script) *Handler {
	h := &Handler{
		script:   script,
		mux:      http.NewServeMux(),
		attempts: map[[sha256.Size]byte]int{},
		changed:  make(chan struct{}),
	}
	h.quit, h.stop = context.WithCancel(context.Background())
	h.mux.HandleFunc("POST /v1/chat/completions", h.serve(decodeOpenAI))
	h.mux.HandleFunc("POST /openai/deployments/{deployment}/chat/completions", h.serve(decodeAzure))
	h.mux.HandleFunc("POST /v1/responses", h.serve(decodeResponses))
	h.mux.HandleFunc("POST /v1beta/models/{call}", h.serve(decodeGemini))
	h.mux.HandleFunc("POST /v1/messages", h.serve(decodeAnthropic))
	h.mux.HandleFunc("POST /v1beta1/projects/{project}/locations/{location}/publishers/google/models/{call}", h.serve(decodeGemini))
	h.mux.HandleFunc("POST /anthropic/v1/messages", h.serve(decodeAnthropic)) // as on Bedrock
	h.mux.HandleFunc("POST /v1/projects/{project}/locations/{location}/publishers/anthropic/models/{call}", h.serve(decodeVertexClaude))
	h.mux.HandleFunc("GET /v1/models", models)
	return h
}

// Close ends every reply that is still being sent.
func (h *Handler) Close() { h.stop() }

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.mux.ServeHTTP(w, r) }

// decode decodes a request of one wire format. For an invalid request it also returns the wire format.
type decode func(r *http.Request, body []byte) (Request, error)

func (h *Handler) serve(decode decode) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client has disconnected
		}
		req, err := decode(r, body)
		if err == nil {
			err = refusedBy(common, req)
		}
		if err != nil {
			Refuse(http.StatusBadRequest, "invalid_request_error", err.Error()).play(r.Context(), w, req)
			return
		}
		req = h.record(req)
		defer h.finished()

		// The reply ends when the client disconnects or the server closes.
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(h.quit, cancel)()
		h.script(req).play(ctx, w, req)
	}
}

func (h *Handler) record(req Request) Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	sum := sha256.Sum256(req.Body)
	h.attempts[sum]++
	req.Attempt = h.attempts[sum]
	h.requests = append(h.requests, req)
	h.announce()
	return req
}

func (h *Handler) finished() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over++
	h.announce()
}

// announce wakes all waiters. The caller must hold the lock.
func (h *Handler) announce() {
	close(h.changed)
	h.changed = make(chan struct{})
}

func models(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"object": "list",
		"data":   []map[string]any{{"id": "llmtest", "object": "model", "created": 0, "owned_by": "llmtest"}},
	})
}
