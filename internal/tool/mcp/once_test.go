package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/mcp"
	"github.com/inquest-dev/inquest/internal/tool/tooltest"
)

// effects are the effects of the tool "counter", which must not run twice, and the reports about each of its calls.
type effects struct {
	file string // has a line for each effect: the key of the call
	said map[string]tool.Result
}

func newEffects(t testing.TB) *effects {
	return &effects{filepath.Join(t.TempDir(), "effects"), map[string]tool.Result{}}
}

// of counts the effects of a call.
func (e *effects) of(t rapid.TB, key string) int {
	t.Helper()
	lines, err := os.ReadFile(e.file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	count := 0
	for line := range strings.Lines(string(lines)) {
		if line == key+"\n" {
			count++
		}
	}
	return count
}

// call returns the next call, with a new key.
func (e *effects) call() tool.Call {
	return tool.Call{
		Name: "s.counter", Arguments: fmt.Appendf(nil, `{"file":%q}`, e.file), Key: fmt.Sprint("call ", len(e.said)), Class: tool.NonIdempotent,
	}
}

// make makes the next call and checks that the report about it is true.
func (e *effects) make(ctx context.Context, t rapid.TB, pool *mcp.Pool) tool.Result {
	t.Helper()
	call := e.call()
	got, err := pool.Call(ctx, call)
	if err != nil {
		t.Fatal(err)
	}
	e.said[call.Key] = got
	e.check(t, call.Key)
	return got
}

func (e *effects) check(t rapid.TB, key string) {
	t.Helper()
	made, got := e.of(t, key), e.said[key]
	switch {
	case made > 1 || got.Sends > 1:
		t.Errorf("%s was made %d times and sent %d times", key, made, got.Sends)
	case got.Status == tool.StatusSuccess && made != 1:
		t.Errorf("%s is said to be done, and was not: %+v", key, got)
	case got.Status == tool.StatusError && !got.Sent && made > 0:
		t.Errorf("%s is said not to be done, and was: %+v", key, got)
	case made > 0 && got.Sends != 1:
		t.Errorf("%s was made, and is said to be sent %d times", key, got.Sends)
	}
}

// checkAll checks all calls again, because some effects come after the answer.
func (e *effects) checkAll(t rapid.TB) {
	t.Helper()
	for key := range e.said {
		e.check(t, key)
	}
}

// after performs the request, and answers with something else.
func after(answer tooltest.Fault) tooltest.Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		tooltest.Garble("")(&discarded{header: http.Header{}}, r, next)
		answer(w, r, next)
	}
}

type discarded struct{ header http.Header }

func (d *discarded) Header() http.Header         { return d.header }
func (d *discarded) WriteHeader(int)             {}
func (d *discarded) Write(p []byte) (int, error) { return len(p), nil }

// TestNoStatusMeansNotDone checks that after any status of a server that has done its work, the call is not repeated
// and the agent is not told that it was not made.
func TestNoStatusMeansNotDone(t *testing.T) {
	t.Parallel()
	bodies := []string{"", `{"error":"gateway"}`, "session not found", "row written, then the database session was closed"}
	for protocol, opts := range onceProtocols {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			server := tooltest.ServeWeb(t, opts)
			pool, made := webPool(t, server, opts, nil), newEffects(t)
			for status := 300; status < 600; status++ {
				server.Misbehave("tools/call", after(tooltest.Answer(status, "application/json", bodies[status%len(bodies)])))
				got, want := made.make(t.Context(), t, pool), fmt.Sprintf("it answered %d", status)
				answered := opts.SSE && got.Status == tool.StatusSuccess // by the stream, before the status
				if !answered && (!got.Sent || !strings.Contains(got.Content, want) && status >= 400) {
					t.Errorf("%d: %+v", status, got)
				}
			}
			made.checkAll(t)
		})
	}
}

// onceProtocols are the variants of HTTP, with and without sessions.
var onceProtocols = map[string]tooltest.WebOptions{
	"http": {}, "http with JSON": {JSON: true}, "sse": {SSE: true}, "stateless": {Stateless: true},
	"stateless with JSON": {Stateless: true, JSON: true},
}

// TestErrorsThatProveNothing checks that no JSON-RPC error of an open session proves that a tool has not run.
func TestErrorsThatProveNothing(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		code    int
		message string
	}{
		"internal error":    {-32603, "internal error"},
		"server error":      {-32000, "upstream timed out"},
		"session not found": {-32001, "Session not found"},
		"unknown":           {7, "no"},
		"invalid result":    {-32602, "Output validation error: no structured content"},
		"invalid arguments": {-32602, "name is missing"},
		"unknown method":    {-32601, "no such method"},
		"invalid request":   {-32600, "no"},
		"parse error":       {-32700, "no"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := tooltest.ServeWeb(t, tooltest.WebOptions{JSON: true})
			pool, made := webPool(t, server, tooltest.WebOptions{JSON: true}, nil), newEffects(t)
			refuse := func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				var request struct{ ID json.RawMessage }
				json.NewDecoder(r.Body).Decode(&request)
				text := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, request.ID, tc.code, tc.message)
				tooltest.Answer(200, "application/json", text)(w, r, next)
			}
			server.Misbehave("tools/call", refuse)
			if got := made.make(t.Context(), t, pool); !got.Sent || got.Content != tc.message {
				t.Errorf("got %+v", got)
			}
			server.Misbehave("tools/call", refuse)
			call := made.call()
			call.Class = tool.Idempotent
			if got, err := pool.Call(t.Context(), call); err != nil || !got.Sent || got.Sends != 1 || got.Content != tc.message {
				t.Errorf("of an idempotent tool: %+v, %v", got, err)
			}
		})
	}
}

// TestToolErrorsMayHaveEffects checks that a tool that reports an error may have done part of its work.
func TestToolErrorsMayHaveEffects(t *testing.T) {
	t.Parallel()
	pool := newPool(t, tooltest.Tools, nil)
	const added = "\nThe tool may have taken effect before it failed."
	for class, added := range map[tool.Idempotency]string{tool.NonIdempotent: added, tool.Idempotent: added, tool.Safe: ""} {
		if got := callOf(t, pool, class, "s.fail", `{"text":"upstream failed"}`); got.Content != "upstream failed"+added || got.Sent {
			t.Errorf("%s: got %+v", class, got)
		}
	}
}

// TestLostSessionIsFoundBeforeTheCall checks that a lost session is detected before a call that must not be made twice,
// if the session was idle.
func TestLostSessionIsFoundBeforeTheCall(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"http", "http with JSON"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			server := tooltest.ServeWeb(t, onceProtocols[protocol])
			pool := webPool(t, server, onceProtocols[protocol], func(o *mcp.Options, _ *mcp.Transport) { o.CheckAfter = time.Nanosecond })
			call(t, pool, "s.echo", `{"text":"there is a session"}`)
			server.Restart()
			got := newEffects(t).make(t.Context(), t, pool)
			if got.Status != tool.StatusSuccess || len(server.Seen("tools/call")) != 2 {
				t.Errorf("got %+v after %v", got, server.Seen())
			}
		})
	}
}

// expired is a ctx whose time ends when ended is closed.
type expired struct {
	context.Context
	ended chan struct{}
}

func (e expired) Done() <-chan struct{} { return e.ended }

func (e expired) Err() error {
	select {
	case <-e.ended:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// TestRepeatedCallIsNotSaidToBeUnsent checks the report about an idempotent call that was sent, and whose time ended while a
// new session was opened for sending it again.
func TestRepeatedCallIsNotSaidToBeUnsent(t *testing.T) {
	t.Parallel()
	lost := after(tooltest.Answer(404, "text/plain", "session not found"))
	for name, tc := range map[string]struct {
		lost int // sessions
		open tooltest.Fault
		want string
	}{
		"time ends": {1, nil,
			"The call to tool s.counter was sent once, but no response showed its outcome. " +
				"MCP server s was not ready in time for the next attempt."},
		"time ends later": {2, nil, "The call to tool s.counter was sent 2 times, but no response showed its outcome. " +
			"MCP server s was not ready"},
		"no new session": {1, tooltest.Answer(503, "text/plain", "busy"),
			"The call to tool s.counter was sent once, but no response showed its outcome. " +
				"The next attempt failed: start MCP server s: it answered 503"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := tooltest.ServeWeb(t, tooltest.WebOptions{JSON: true})
			pool, made := webPool(t, server, tooltest.WebOptions{JSON: true}, nil), newEffects(t)
			call(t, pool, "s.echo", `{"text":"there is a session"}`)
			ctx, left := expired{t.Context(), make(chan struct{})}, tc.lost
			var lose, initialize tooltest.Fault
			lose = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				left--
				server.Misbehave("initialize", initialize)
				lost(w, r, next)
			}
			initialize = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				switch {
				case left > 0:
					server.Misbehave("tools/call", lose)
					next.ServeHTTP(w, r)
				case tc.open != nil:
					tc.open(w, r, next)
				default:
					close(ctx.ended)
					tooltest.Hang(w, r, next)
				}
			}
			server.Misbehave("tools/call", lose)
			next := made.call()
			next.Class = tool.Idempotent
			got, err := pool.Call(ctx, next)
			if err != nil || !got.Sent || got.Sends != tc.lost || !strings.Contains(got.Content, tc.want) {
				t.Errorf("got %+v, %v", got, err)
			}
			if effects := made.of(t, next.Key); effects != tc.lost {
				t.Errorf("%d effects", effects)
			}
		})
	}
}

// TestHotSessionsAreNotChecked checks that a session in use needs no ping.
func TestHotSessionsAreNotChecked(t *testing.T) {
	t.Parallel()
	server := tooltest.ServeWeb(t, tooltest.WebOptions{})
	pool := webPool(t, server, tooltest.WebOptions{}, func(o *mcp.Options, _ *mcp.Transport) { o.CheckAfter = time.Hour })
	for range 3 {
		if got := newEffects(t).make(t.Context(), t, pool); got.Status != tool.StatusSuccess {
			t.Errorf("got %+v", got)
		}
	}
	if seen := server.Seen("ping"); len(seen) != 0 {
		t.Errorf("pings: %v", seen)
	}
}

// TestCallsAreNotRedirected checks that after a redirect of the endpoint all requests go to the new address, and that a
// call itself is never redirected.
func TestCallsAreNotRedirected(t *testing.T) {
	t.Parallel()
	server := tooltest.ServeWeb(t, tooltest.WebOptions{})
	pool, made := webPool(t, server, tooltest.WebOptions{}, nil), newEffects(t)
	server.Misbehave("initialize", tooltest.Redirect(307, "/mcp/there"))
	if got := made.make(t.Context(), t, pool); got.Status != tool.StatusSuccess {
		t.Fatalf("got %+v", got)
	}
	if seen := server.Seen("tools/call"); len(seen) != 1 || seen[0].Path != "/mcp/there" {
		t.Errorf("calls: %v", seen)
	}
	server.Misbehave("tools/call", after(tooltest.Redirect(308, "/mcp/elsewhere")))
	got := made.make(t.Context(), t, pool)
	const want = "it answered 308 Permanent Redirect, but a call that must not be sent twice is not redirected"
	if !got.Sent || !strings.Contains(got.Content, want) {
		t.Errorf("got %+v", got)
	}
	if seen := server.Seen("tools/call"); len(seen) != 2 {
		t.Errorf("calls: %v", seen)
	}
}

// TestHeadersDoNotMakeCallsRepeatable is needed because net/http resends a request after a broken connection if a
// header allows it.
func TestHeadersDoNotMakeCallsRepeatable(t *testing.T) {
	t.Parallel()
	server := tooltest.ServeWeb(t, tooltest.WebOptions{JSON: true, TLS: true}) // HTTP/2
	pool := webPool(t, server, tooltest.WebOptions{JSON: true}, func(_ *mcp.Options, tr *mcp.Transport) {
		tr.VerifySSL = new(bool)
		tr.CustomHeaders = map[string]string{"Idempotency-Key": "x"}
	})
	call(t, pool, "s.echo", `{"text":"x"}`)
	server.Misbehave("tools/call", after(func(http.ResponseWriter, *http.Request, http.Handler) { server.Disconnect() }))
	if got := newEffects(t).make(t.Context(), t, pool); !got.Sent {
		t.Errorf("got %+v", got)
	}
}

// TestFence checks that the fence is called directly before the request is sent, and again if the request was delayed
// after that. A call whose time runs out meanwhile was not made.
func TestFence(t *testing.T) {
	t.Parallel()
	for kind, open := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s, made := open(t, tooltest.Tools, nil), newEffects(t)
			call(t, s, "s.echo", `{"text":"x"}`)
			refused, asked := errors.New("another attempt has taken over"), 0
			barred := made.call()
			barred.Fence = func(context.Context) error { return refused }
			if result, err := s.Call(t.Context(), barred); err != refused || made.of(t, barred.Key) != 0 {
				t.Errorf("got %+v, %v, made %d times", result, err, made.of(t, barred.Key))
			}
			slow := made.call()
			slow.Fence = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
			if got := within(t, s, slow, 50*time.Millisecond); got.ErrorType != tool.ErrorTimeout || got.Sent || made.of(t, slow.Key) != 0 {
				t.Errorf("time ran out during the fence: %+v, made %d times", got, made.of(t, slow.Key))
			}
			if got := call(t, s, "s.echo", `{"text":"x"}`); got.Content != "x" {
				t.Errorf("after it: %+v", got)
			}
			free := made.call()
			free.Fence = func(context.Context) error { asked++; return nil }
			result, err := s.Call(t.Context(), free)
			if err != nil || result.Content != "1" || asked != 1 || result.Sends != 1 {
				t.Errorf("got %+v, %v, asked %d times", result, err, asked)
			}
		})
	}
}

// TestAtMostOnce checks that wherever a connection breaks, and whatever the answer, a call that must not be made twice
// is made at most once, and the report about it is true.
func TestAtMostOnce(t *testing.T) {
	t.Parallel()
	for protocol, opts := range onceProtocols {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			server := tooltest.ServeWeb(t, opts)
			cutter := newCutter(t, server.URL)
			pool := webPool(t, server, opts, func(_ *mcp.Options, tr *mcp.Transport) { tr.URL = cutter.url })
			made := newEffects(t)
			rapid.Check(t, func(t *rapid.T) {
				if got := call2(t, pool, "s.echo", `{"text":"x"}`); got.Content != "x" && !opts.SSE {
					t.Logf("before it: %+v", got)
				}
				draw(t, server, cutter)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second) // for answers that never come
				defer cancel()
				made.make(ctx, t, pool)
				cutter.set(none, none)
				server.Misbehave("tools/call", nil)
			})
			made.checkAll(t)
		})
	}
}

// call2 is call for a property test.
func call2(t *rapid.T, pool *mcp.Pool, name, args string) tool.Result {
	result, err := pool.Call(t.Context(), tool.Call{Name: name, Arguments: json.RawMessage(args), Class: tool.Safe})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// draw prepares the faults that the next call meets.
func draw(t *rapid.T, server *tooltest.Web, cutter *cutter) {
	body := rapid.SampledFrom([]string{"", "]", "<p>", "session not found", `{"error":"no"}`,
		`{"jsonrpc":"2.0","id":9999,"result":{"content":[]}}`,
		`{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}`,
		"event: message\ndata: {\n\n", "id: 1\nretry: 1\ndata: \n\n"})
	kind := rapid.SampledFrom([]string{"application/json", "text/event-stream", "text/html", ""})
	answer := tooltest.Answer(rapid.IntRange(200, 599).Draw(t, "status"), kind.Draw(t, "type"), body.Draw(t, "body"))
	redirect := tooltest.Redirect(rapid.IntRange(300, 308).Draw(t, "redirect"),
		rapid.SampledFrom([]string{"/mcp", "/mcp/x", "http://127.0.0.2:1/"}).Draw(t, "to"))
	fault := rapid.SampledFrom([]tooltest.Fault{
		nil, answer, after(answer), redirect, after(redirect), tooltest.Drop, tooltest.Cut(rapid.IntRange(0, 300).Draw(t, "answer cut")),
		tooltest.Drip(rapid.IntRange(1, 9).Draw(t, "pieces")), after(func(http.ResponseWriter, *http.Request, http.Handler) { server.Restart() }),
		func(http.ResponseWriter, *http.Request, http.Handler) { server.Restart() },
	}).Draw(t, "fault")
	server.Misbehave("tools/call", fault)
	if rapid.Bool().Draw(t, "cut") {
		cut := rapid.IntRange(0, 900)
		cutter.set(cut.Draw(t, "request bytes"), cut.Draw(t, "response bytes"))
	}
}

// cutter is a TCP proxy that breaks connections after a number of bytes.
type cutter struct {
	url    string
	limits chan [2]int
}

const none = 1 << 30

func newCutter(t *testing.T, target string) *cutter {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	c := &cutter{url: "http://" + listener.Addr().String() + u.Path, limits: make(chan [2]int, 1)}
	c.limits <- [2]int{none, none}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go c.pass(conn, u.Host)
		}
	}()
	return c
}

func (c *cutter) set(up, down int) {
	<-c.limits
	c.limits <- [2]int{up, down}
}

func (c *cutter) pass(client net.Conn, host string) {
	limits := <-c.limits
	c.limits <- limits
	defer client.Close()
	server, err := net.Dial("tcp", host)
	if err != nil {
		return
	}
	defer server.Close()
	over := make(chan struct{}, 2)
	for n, way := range [][2]net.Conn{{server, client}, {client, server}} {
		go func() {
			io.Copy(way[0], io.LimitReader(way[1], int64(limits[n])))
			over <- struct{}{}
		}()
	}
	<-over
}
