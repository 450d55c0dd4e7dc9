package tooltest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// WebOptions configure a server over HTTP. The zero value is a server with streamable HTTP and the tools of this
// package.
type WebOptions struct {
	Mode      Mode // empty means Tools; also Pages, Loop, Endless and Mute
	SSE       bool // the older protocol, with one stream for all answers
	JSON      bool // answers are JSON, not streams
	Resumable bool // a broken stream can be resumed
	Stateless bool // sessions have no id
	TLS       bool // with an untrusted certificate
}

// Web is an MCP server on a loopback listener, in the test's process.
type Web struct {
	URL    string // its endpoint
	server *httptest.Server
	opts   WebOptions

	mu      sync.Mutex
	handler http.Handler
	faults  map[string]Fault
	seen    []Request
	arrived *sync.Cond
	frozen  chan struct{} // closed when the server continues; nil if it is not frozen
}

// Request is a request that a server has received.
type Request struct {
	// Method is the JSON-RPC method, or the HTTP method without one: tools/call, DELETE.
	Method string
	Path   string
	Header http.Header
}

// ServeWeb runs a server for the duration of a test.
func ServeWeb(t testing.TB, opts WebOptions) *Web {
	t.Helper()
	w := &Web{opts: opts, faults: map[string]Fault{}}
	w.arrived = sync.NewCond(&w.mu)
	w.handler = w.newHandler()
	w.server = httptest.NewUnstartedServer(w)
	w.server.Config.ErrorLog = log.New(io.Discard, "", 0) // of intended faults
	if opts.TLS {
		w.server.StartTLS()
	} else {
		w.server.Start()
	}
	t.Cleanup(w.Close)
	w.URL = w.server.URL + "/mcp"
	return w
}

func (w *Web) newHandler() http.Handler {
	server := newServer(w.opts.Mode)
	get := func(*http.Request) *mcp.Server { return server }
	if w.opts.SSE {
		return mcp.NewSSEHandler(get, &mcp.SSEOptions{DisableLocalhostProtection: true})
	}
	opts := &mcp.StreamableHTTPOptions{
		JSONResponse:               w.opts.JSON,
		Stateless:                  w.opts.Stateless,
		DisableLocalhostProtection: true, // it would refuse requests that look proxied
	}
	if w.opts.Resumable {
		opts.EventStore = mcp.NewMemoryEventStore(nil)
	}
	return mcp.NewStreamableHTTPHandler(get, opts)
}

// Misbehave applies a fault to the next request with a method.
func (w *Web) Misbehave(method string, fault Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults[method] = fault
}

// Freeze freezes the server: it accepts connections and does nothing until Thaw.
func (w *Web) Freeze() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.frozen = make(chan struct{})
}

// Thaw lets the server continue, with all requests that arrived meanwhile.
func (w *Web) Thaw() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.frozen)
	w.frozen = nil
}

// Restart simulates a restart for clients: the server knows no session, and every connection is gone.
func (w *Web) Restart() {
	w.mu.Lock()
	w.handler = w.newHandler()
	w.mu.Unlock()
	w.Disconnect()
}

// Disconnect breaks every connection.
func (w *Web) Disconnect() { w.server.CloseClientConnections() }

// Close ends the server without waiting for calls, which may hang.
func (w *Web) Close() { w.server.Config.Close() }

// Seen returns the requests so far, in order of arrival.
func (w *Web) Seen(methods ...string) (seen []Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.seen {
		if len(methods) == 0 || slices.Contains(methods, r.Method) {
			seen = append(seen, r)
		}
	}
	return seen
}

// Wait waits until a number of requests with a method have arrived, and returns
// the last of them.
func (w *Web) Wait(method string, count int) Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		left := count
		for _, r := range w.seen {
			if r.Method != method {
				continue
			}
			if left--; left == 0 {
				return r
			}
		}
		w.arrived.Wait()
	}
}

// ServeHTTP makes Web a handler, for servers in front of it.
func (w *Web) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	method := rpcMethod(r)
	w.mu.Lock()
	w.seen = append(w.seen, Request{Method: method, Path: r.URL.Path, Header: r.Header.Clone()})
	fault, handler := w.faults[method], w.handler
	delete(w.faults, method)
	frozen := w.frozen
	w.arrived.Broadcast()
	w.mu.Unlock()
	if frozen != nil {
		<-frozen
		r = r.WithContext(context.WithoutCancel(r.Context())) // a frozen process does not notice that clients have left
	}
	switch {
	case w.opts.Mode == Mute:
		Hang(rw, r, handler)
	case fault != nil:
		fault(rw, r, handler)
	case !strings.HasPrefix(r.URL.Path, "/mcp"):
		rw.WriteHeader(http.StatusNoContent) // such as a session_cleanup_url
	default:
		handler.ServeHTTP(rawResponse{rw}, r)
	}
}

// rpcMethod returns the method of the JSON-RPC request in a body, or the HTTP method.
func rpcMethod(r *http.Request) string {
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	var message struct{ Method string }
	if err != nil || json.Unmarshal(body, &message) != nil || message.Method == "" {
		return r.Method
	}
	return message.Method
}
