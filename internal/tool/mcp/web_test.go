package mcp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/kit/processtest"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/mcp"
	"github.com/inquest-dev/inquest/internal/tool/tooltest"
	"github.com/inquest-dev/inquest/value"
)

// webPool returns a pool with one server, "s", over HTTP.
func webPool(t *testing.T, server *tooltest.Web, opts tooltest.WebOptions, change func(*mcp.Options, *mcp.Transport)) *mcp.Pool {
	t.Helper()
	transport := mcp.Transport{Type: mcp.HTTP, URL: server.URL}
	if opts.SSE {
		transport.Type = mcp.SSE
	}
	return poolOf(t, mcp.Options{}, transport, change)
}

// protocols are the variants of HTTP.
var protocols = map[string]tooltest.WebOptions{"http": {}, "http with JSON": {JSON: true}, "sse": {SSE: true}}

// TestFaults checks that a fault is reported, causes no second call, and ends with its request.
func TestFaults(t *testing.T) {
	t.Parallel()
	const html, text = "text/html", "text/plain"
	for name, tc := range map[string]struct {
		fault tooltest.Fault
		want  string // in the result, an error; empty means that the call succeeds
		calls int    // that the tool received
		only  string // the protocol, if not all of them
	}{
		"unauthorized": {tooltest.Answer(401, text, "who are\nyou?"), "MCP server s: it answered 401 Unauthorized: who are you?. " +
			"It requires authorization. Set transport.bearer_token or transport.custom_headers", 0, ""},
		"forbidden": {tooltest.Answer(403, html, "<p>no</p>"), "MCP server s: it answered 403 Forbidden. " +
			"It denies access. Set transport.bearer_token or transport.custom_headers", 0, ""},
		"bad request": {tooltest.Answer(400, text, "no such version"), "it answered 400 Bad Request: no such version", 0, ""},
		"broken": {tooltest.Answer(500, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"oh"}}`),
			"it answered 500 Internal Server Error: oh", 0, ""},
		"unavailable":  {tooltest.Answer(503, text, ""), "it answered 503 Service Unavailable", 0, ""},
		"session lost": {tooltest.Answer(404, text, "session not found"), "", 1, ""},
		"session lost, 400": {tooltest.Answer(400, "application/json",
			`{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":7}`), "", 1, ""},
		"slow": {tooltest.Drip(3), "", 1, ""},
		"no answer": {tooltest.Drop, "MCP server s: the connection was lost before a response arrived: EOF. The tool may have taken effect.",
			1, "http with JSON"},
		"half an answer":  {tooltest.Cut(30), "the connection was lost before a response arrived", 1, "http"},
		"half a JSON":     {tooltest.Cut(30), "the connection was lost before a response arrived: unexpected EOF", 1, "http with JSON"},
		"end of a stream": {tooltest.Answer(200, "text/event-stream", ""), "the connection was lost before a response arrived: EOF", 0, "http"},
		"garbage": {tooltest.Answer(200, "application/json", "]"),
			`sent an unreadable response: it is not valid JSON (content type "application/json")`, 0, "http"},
		"an empty answer": {tooltest.Answer(200, "application/json", ""), "sent an unreadable response: it is not valid JSON", 0, "http"},
		"a page": {tooltest.Answer(200, html, "<p>"),
			`sent an unreadable response: it is not valid JSON (content type "text/html")`, 0, "http"},
		"another body": {tooltest.Garble("]"), "sent an unreadable response: it is not valid JSON", 1, "http with JSON"},
		"other path":   {tooltest.Redirect(307, "/mcp/there"), "", 1, "http"},
		"as for a browser": {tooltest.Redirect(302, "/mcp/there"),
			"it cannot be reached: its redirect changes the HTTP method; it must use status 307 or 308", 0, "http"},
	} {
		for protocol, opts := range protocols {
			if tc.only != "" && tc.only != protocol {
				continue
			}
			t.Run(name+"/"+protocol, func(t *testing.T) {
				t.Parallel()
				server := tooltest.ServeWeb(t, opts)
				pool := webPool(t, server, opts, nil)
				file := filepath.Join(t.TempDir(), "effects")
				call(t, pool, "s.echo", `{"text":"there is a session"}`)
				server.Misbehave("tools/call", tc.fault)
				got := call(t, pool, "s.counter", fmt.Sprintf(`{"file":%q}`, file))
				if (tc.want == "") != (got.Status == tool.StatusSuccess) || !strings.Contains(got.Content, tc.want) {
					t.Errorf("got %+v", got)
				}
				if done := strings.Contains(tc.want, "cannot be read") || tc.want != "" && tc.calls > 0; done && !got.Sent {
					t.Error("it is said to have had no effect")
				}
				if lines, _ := os.ReadFile(file); strings.Count(string(lines), "\n") != tc.calls {
					t.Errorf("the tool saw %q", lines)
				}
				if got := call(t, pool, "s.echo", `{"text":"x"}`); got.Content != "x" {
					t.Errorf("after it: %+v", got)
				}
			})
		}
	}
}

// TestSpellingsOfAnswers checks answers with a byte order mark, and streams with each line end of the WHATWG standard.
func TestSpellingsOfAnswers(t *testing.T) {
	t.Parallel()
	for spelling, tc := range map[string]struct{ mark, end, blank string }{
		"byte order mark":          {mark: "\uFEFF", end: "\n"},
		"CR":                       {end: "\r"},
		"CRLF":                     {end: "\r\n"},
		"byte order mark and CR":   {mark: "\uFEFF", end: "\r"},
		"byte order mark and CRLF": {mark: "\uFEFF", end: "\r\n"},
		"fields without a value":   {end: "\n", blank: "id\nunknown\n"},
	} {
		fault := tooltest.Respell(func(part string, first bool) string {
			part = strings.TrimPrefix(part, "event: message\n") // the default; the next field is the data
			if strings.HasSuffix(part, "\n\n") {
				part = tc.blank + part
			}
			if first {
				part = tc.mark + part
			}
			return strings.ReplaceAll(part, "\n", tc.end)
		})
		for protocol, opts := range protocols {
			t.Run(spelling+"/"+protocol, func(t *testing.T) {
				t.Parallel()
				server := tooltest.ServeWeb(t, opts)
				pool := webPool(t, server, opts, nil)
				for _, method := range []string{"GET", "initialize", "tools/list", "tools/call"} {
					if method == "GET" || !opts.SSE { // of SSE, only the stream has messages
						server.Misbehave(method, fault)
					}
				}
				if specs, err := pool.List(t.Context(), plan.Server{Name: "s"}, ""); err != nil || len(specs) == 0 {
					t.Errorf("%d tools, %v", len(specs), err)
				}
				if got := call(t, pool, "s.echo", `{"text":"x"}`); got.Content != "x" {
					t.Errorf("got %+v", got)
				}
				if n := len(server.Seen("initialize")); n != 1 {
					t.Errorf("%d sessions, want 1", n)
				}
			})
		}
	}
}

func TestListIsAskedForAgain(t *testing.T) {
	t.Parallel()
	for protocol, opts := range protocols {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			server := tooltest.ServeWeb(t, opts)
			pool := webPool(t, server, opts, nil)
			for _, fault := range []tooltest.Fault{tooltest.Answer(404, "", ""), tooltest.Drop} {
				if opts.SSE {
					fault = func(http.ResponseWriter, *http.Request, http.Handler) { server.Disconnect() }
				}
				server.Misbehave("tools/list", fault)
				if specs, err := pool.List(t.Context(), plan.Server{Name: "s"}, ""); err != nil || len(specs) == 0 {
					t.Errorf("%d tools, %v", len(specs), err)
				}
			}
		})
	}
}

// TestResume checks that a broken stream is resumed if the server supports it: the answer arrives, and the tool has run
// once.
func TestResume(t *testing.T) {
	t.Parallel()
	opts := tooltest.WebOptions{Resumable: true}
	server := tooltest.ServeWeb(t, opts)
	pool := webPool(t, server, opts, nil)
	gate, file := tooltest.NewGate(t), filepath.Join(t.TempDir(), "effects")
	done := make(chan tool.Result)
	go func() { done <- call(t, pool, "s.counter", fmt.Sprintf(`{"file":%q,"gate":%q}`, file, gate.Path)) }()
	release := gate.Wait(t)
	server.Disconnect()
	release()
	if diff := cmp.Diff(tool.Success("1"), <-done); diff != "" {
		t.Error(diff)
	}
}

// TestLostSessionKeepsItsCalls checks that calls in progress continue in a session that another call has lost.
func TestLostSessionKeepsItsCalls(t *testing.T) {
	t.Parallel()
	server := tooltest.ServeWeb(t, tooltest.WebOptions{})
	pool := webPool(t, server, tooltest.WebOptions{}, nil)
	gate := tooltest.NewGate(t)
	done := make(chan tool.Result)
	go func() { done <- call(t, pool, "s.counter", fmt.Sprintf(`{"gate":%q}`, gate.Path)) }()
	release := gate.Wait(t)
	server.Misbehave("tools/call", tooltest.Answer(404, "", ""))
	if got := call(t, pool, "s.echo", `{"text":"x"}`); got.Content != "x" {
		t.Errorf("got %+v", got)
	}
	release()
	if diff := cmp.Diff(tool.Success("0"), <-done); diff != "" {
		t.Error(diff)
	}
	server.Wait("DELETE", 1) // then it is over
}

const token = "sesame-token"

// withSecrets puts a secret into every field of a transport that may have one.
func withSecrets(_ *mcp.Options, tr *mcp.Transport) {
	tr.BearerToken = token
	tr.CustomHeaders = map[string]string{"X-Key": "sesame-header", "X-Session": "{{.SESSION_ID}}", "Proxy-Login": "Basic sesame-basic"}
	tr.SessionCleanupURL = strings.Replace(tr.URL, "/mcp", "/cleanup/{{ .SESSION_ID }}?key=sesame-cleanup", 1)
	tr.URL += "?key=sesame-url"
}

func TestHeadersGoToNoOtherHost(t *testing.T) {
	t.Parallel()
	other := tooltest.ServeWeb(t, tooltest.WebOptions{})
	endpoint := tooltest.Stream("event: endpoint\ndata: " + other.URL + "\n\n")
	for name, tc := range map[string]struct {
		opts   tooltest.WebOptions
		method string
		fault  tooltest.Fault
		want   string
	}{
		"redirect of the start": {tooltest.WebOptions{}, "initialize", tooltest.Redirect(307, other.URL),
			"start MCP server s: it cannot be reached: it redirects to another origin, http://127.0.0.1:"},
		"redirect of a call": {tooltest.WebOptions{}, "tools/call", tooltest.Redirect(308, other.URL),
			"MCP server s: it cannot be reached: it redirects to another origin, http://127.0.0.1:"},
		"redirect of the SSE stream": {tooltest.WebOptions{SSE: true}, "GET", tooltest.Redirect(302, other.URL),
			"it redirects to another origin, http://127.0.0.1:"},
		"SSE endpoint on another host": {tooltest.WebOptions{SSE: true}, "GET", endpoint, "its endpoint has another origin, http://127.0.0.1:"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := tooltest.ServeWeb(t, tc.opts)
			pool := webPool(t, server, tc.opts, withSecrets)
			server.Misbehave(tc.method, tc.fault)
			if got := call(t, pool, "s.echo", `{"text":"x"}`); got.ErrorType != tool.ErrorUnavailable || !strings.Contains(got.Content, tc.want) {
				t.Errorf("got %+v", got)
			}
			if seen := other.Seen(); len(seen) > 0 {
				t.Errorf("the other host was sent %v", seen)
			}
		})
	}
}

// TestCleanupElsewhereHasNoSecrets checks that a cleanup address on another host gets the session id and no secret.
func TestCleanupElsewhereHasNoSecrets(t *testing.T) {
	t.Parallel()
	other := tooltest.ServeWeb(t, tooltest.WebOptions{})
	server := tooltest.ServeWeb(t, tooltest.WebOptions{})
	pool := webPool(t, server, tooltest.WebOptions{}, func(opts *mcp.Options, tr *mcp.Transport) {
		withSecrets(opts, tr)
		tr.SessionCleanupURL = strings.Replace(other.URL, "/mcp", "/cleanup/{{.SESSION_ID}}", 1)
	})
	callAs(t, pool, "a")
	pool.Close()
	seen := other.Seen("DELETE")
	if len(seen) != 1 || seen[0].Path != "/cleanup/a" {
		t.Fatalf("cleanup: %v", seen)
	}
	for name, values := range seen[0].Header {
		if strings.Contains(strings.Join(values, " "), "sesame") {
			t.Errorf("the other host was sent %s: %v", name, values)
		}
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	for protocol, opts := range protocols {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			server := tooltest.ServeWeb(t, opts)
			pool := webPool(t, server, opts, withSecrets)
			callAs(t, pool, "a/b c")
			pool.Close()
			for _, r := range server.Seen() {
				got := []string{r.Header.Get("Authorization"), r.Header.Get("X-Key"), r.Header.Get("X-Session"), r.Header.Get("Proxy-Login")}
				if diff := cmp.Diff([]string{"Bearer " + token, "sesame-header", "a/b c", "Basic sesame-basic"}, got); diff != "" {
					t.Errorf("%s: %s", r.Method, diff)
				}
			}
			if last := server.Seen("DELETE"); len(last) == 0 || last[len(last)-1].Path != "/cleanup/a/b c" {
				t.Errorf("cleanup: %v", last)
			}
		})
	}
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	no := false
	server := tooltest.ServeWeb(t, tooltest.WebOptions{TLS: true})
	pool := mcp.New(mcp.Options{Transport: func(name string) (mcp.Transport, error) {
		tr := mcp.Transport{Type: mcp.HTTP, URL: server.URL}
		if name == "lax" {
			tr.VerifySSL = &no
		}
		return tr, nil
	}})
	t.Cleanup(pool.Close)
	if got := call(t, pool, "lax.echo", `{"text":"x"}`); got.Content != "x" {
		t.Errorf("got %+v", got)
	}
	const want = "start MCP server strict: it cannot be reached: tls: failed to verify certificate"
	if got := call(t, pool, "strict.echo", `{}`); !strings.HasPrefix(got.Content, want) {
		t.Errorf("got %+v", got)
	}
}

func TestTransportsThatLeadNowhere(t *testing.T) {
	t.Parallel()
	address, err := processtest.FreeAddress() // no other test of the run listens there
	if err != nil {
		t.Fatal(err)
	}
	gone := "http://" + address + "/mcp"
	for want, tr := range map[string]mcp.Transport{
		`unknown type of transport "carrier pigeon"`:                       {Type: "carrier pigeon"},
		"its url must begin with http:// or https://, followed by a host":  {Type: mcp.HTTP, URL: "sesame://x\x7f"},
		"its url must begin with http:// or https://, followed by a host ": {Type: mcp.SSE},
		"it cannot be reached: dial tcp 127.0.0.1:":                        {Type: mcp.SSE, URL: gone},
		"it cannot be reached: dial tcp":                                   {Type: mcp.HTTP, URL: gone},
	} {
		pool := poolOf(t, mcp.Options{}, tr, nil)
		got := call(t, pool, "s.echo", `{}`)
		if got.ErrorType != tool.ErrorUnavailable || !strings.Contains(got.Content, strings.TrimSpace(want)) ||
			strings.Contains(got.Content, "sesame") {
			t.Errorf("%s: got %+v", tr.Type, got)
		}
	}
}

// TestSecretsAreNotTold checks that no secret is in an error or in the log, whatever goes wrong, with a server that
// repeats everything it was sent.
func TestSecretsAreNotTold(t *testing.T) {
	t.Parallel()
	repeat := func(status int) tooltest.Fault {
		return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			w.Header().Set("Content-Type", "text/"+token)
			w.WriteHeader(status)
			fmt.Fprint(w, r.URL, r.Header)
		}
	}
	refuse := func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		var request struct{ ID json.RawMessage }
		json.NewDecoder(r.Body).Decode(&request)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"not with %s"}}`, request.ID, token)
	}
	clipped := tooltest.Answer(500, "text/plain", strings.Repeat("x", 293)+token)
	for name, fault := range map[string]tooltest.Fault{
		"401": repeat(401), "404": repeat(404), "500": repeat(500), "200": repeat(200), "refused": refuse, "clipped": clipped,
		"drop": tooltest.Drop, "cut": tooltest.Cut(30), "redirect": tooltest.Redirect(307, "http://"+token+"@127.0.0.2/?x=sesame-url"),
	} {
		for protocol, opts := range protocols {
			if opts.SSE && (name == "drop" || name == "cut") {
				continue // there, the answer to a request has no body
			}
			t.Run(name+"/"+protocol, func(t *testing.T) {
				t.Parallel()
				var log bytes.Buffer
				server := tooltest.ServeWeb(t, opts)
				pool := webPool(t, server, opts, func(o *mcp.Options, tr *mcp.Transport) {
					withSecrets(o, tr)
					tr.Timeout = value.Duration(300 * time.Millisecond) // of the answers that never come with SSE
					o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
				})
				var received []any
				for _, method := range []string{"initialize", "tools/call", "tools/list"} {
					server.Misbehave(method, fault)
					result, err := pool.Call(t.Context(), tool.Call{Name: "s.echo", Arguments: []byte(`{"text":"x"}`)})
					_, listErr := pool.List(t.Context(), plan.Server{Name: "s"}, "")
					received = append(received, result, err, listErr)
				}
				pool.Close()
				text := fmt.Sprintf("%+v %s", received, log.String())
				if strings.Contains(text, "sesame") || !strings.Contains(text, "MCP") {
					t.Error(text)
				}
			})
		}
	}
}

// TestProxy runs in a separate process, because the environment of a process is read only once.
func TestProxy(t *testing.T) {
	t.Parallel()
	if os.Getenv("INQUEST_TEST_PROXIED") != "" {
		pool := poolOf(t, mcp.Options{}, mcp.Transport{Type: mcp.HTTP, URL: "http://mcp.invalid/mcp"}, nil)
		if got := call(t, pool, "s.echo", `{"text":"x"}`); got.Content != "x" {
			t.Errorf("got %+v", got)
		}
		return
	}
	proxy := tooltest.ServeWeb(t, tooltest.WebOptions{})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), self, "-test.run=^TestProxy$")
	child.Env = append(os.Environ(), "INQUEST_TEST_PROXIED=1", "HTTP_PROXY="+proxy.URL, "NO_PROXY=")
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if len(proxy.Seen("tools/call")) != 1 {
		t.Errorf("the proxy saw %v", proxy.Seen())
	}
}
