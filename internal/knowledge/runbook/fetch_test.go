package runbook_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/knowledge/runbook"
	"github.com/inquest-dev/inquest/internal/knowledge/runbook/runbooktest"
)

const token = "ghp_0123456789"

// settings allows GitHub's hosts and two others, without a cache.
func settings() runbook.Settings {
	return runbook.Settings{Domains: append(runbook.DefaultDomains(), "docs.example.com", "evil.example.org"), Token: token}
}

// seen is a request to the test's server.
type seen struct{ Host, Target, Token string }

// recorder records requests, and answers them by target (host and path).
type recorder struct {
	answers map[string]http.HandlerFunc

	mu   sync.Mutex
	seen []seen
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	r.seen = append(r.seen, seen{req.Host, req.RequestURI, req.Header.Get("Authorization")})
	r.mu.Unlock()
	if answer := r.answers[req.Host+req.URL.Path]; answer != nil {
		answer(w, req)
		return
	}
	http.NotFound(w, req)
}

func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }
}

func redirects(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// TestFetch: which requests are sent, with and without the token, and what they return.
func TestFetch(t *testing.T) {
	t.Parallel()
	const raw, bearer = "raw.githubusercontent.com", "Bearer " + token
	for name, tt := range map[string]struct {
		address string
		answers map[string]http.HandlerFunc
		want    string
		seen    []seen
	}{
		"a page of GitHub about a file": {"https://github.com/acme/ops/blob/main/db%20full.md?plain=1#L3",
			map[string]http.HandlerFunc{raw + "/acme/ops/main/db full.md": says("# Disk")}, "# Disk",
			[]seen{{raw, "/acme/ops/main/db%20full.md", bearer}}},
		"a raw page of GitHub": {"https://WWW.github.com:443/acme/ops/raw/v1/a/b.md",
			map[string]http.HandlerFunc{raw + "/acme/ops/v1/a/b.md": says("\xef\xbb\xbfa b")}, "a b",
			[]seen{{raw, "/acme/ops/v1/a/b.md", bearer}}},
		"a raw file": {"https://" + raw + "/acme/ops/main/db.md",
			map[string]http.HandlerFunc{raw + "/acme/ops/main/db.md": says("one\r\n\ttwo")}, "one\r\n\ttwo",
			[]seen{{raw, "/acme/ops/main/db.md", bearer}}},
		"another host": {" https://docs.example.com/db?v=2 ",
			map[string]http.HandlerFunc{"docs.example.com/db": says("disk")}, "disk",
			[]seen{{"docs.example.com", "/db?v=2", ""}}},
		"a subdomain": {"https://a.docs.example.com/db",
			map[string]http.HandlerFunc{"a.docs.example.com/db": says("disk")}, "disk",
			[]seen{{"a.docs.example.com", "/db", ""}}},
		"a redirect within a host": {"https://" + raw + "/old", map[string]http.HandlerFunc{
			raw + "/old": redirects("/new"), raw + "/new": says("new"),
		}, "new", []seen{{raw, "/old", bearer}, {raw, "/new", bearer}}},
		"a redirect to another allowed host and back": {"https://" + raw + "/old", map[string]http.HandlerFunc{
			raw + "/old": redirects("https://docs.example.com/there"), "docs.example.com/there": redirects("https://" + raw + "/new"),
			raw + "/new": says("new"),
		}, "new", []seen{{raw, "/old", bearer}, {"docs.example.com", "/there", ""}, {raw, "/new", ""}}},
		"the largest size": {"https://docs.example.com/db", map[string]http.HandlerFunc{
			"docs.example.com/db": says(strings.Repeat("x", runbook.MaxSize)),
		}, strings.Repeat("x", runbook.MaxSize), []seen{{"docs.example.com", "/db", ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := &recorder{answers: tt.answers}
			world := &runbooktest.World{Handler: server}
			got, err := world.Fetcher(t, settings).Fetch(t.Context(), "", tt.address)
			if err != nil || got != tt.want {
				t.Errorf("Fetch returned %q, %v", got, err)
			}
			if diff := cmp.Diff(tt.seen, server.seen); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// endless writes a body in parts until the client is gone, and reports how much it wrote.
func endless(part string, pause time.Duration, done chan<- int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		written := 0
		defer func() { done <- written }()
		for r.Context().Err() == nil && written < 1<<30 {
			n, err := w.Write([]byte(part))
			written += n
			if err != nil || http.NewResponseController(w).Flush() != nil {
				return
			}
			select {
			case <-r.Context().Done():
			case <-time.After(pause):
			}
		}
	}
}

// with returns a handler that sets a header and then writes a body.
func with(header, value, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(header, value)
		_, _ = w.Write([]byte(body))
	}
}

// secretQuery is in the address of every attack, and in no error.
const secretQuery = "?key=s3cret"

// TestAttacks checks that attacks by an address or a server are refused, for the right reason.
func TestAttacks(t *testing.T) {
	t.Parallel()
	const host = "evil.example.org"
	const home = "https://" + host + "/" + secretQuery
	html := "<html>" + strings.Repeat("<div>", 1000)
	for name, tt := range map[string]struct {
		address string // empty means home
		answer  http.HandlerFunc
		hosts   map[string]string // addresses, separated by spaces
		want    string
		dialed  int // connections
	}{
		"http":           {"http://" + host + "/", nil, nil, "only https", 0},
		"another scheme": {"file:///etc/passwd", nil, nil, "only https", 0},
		"another host": {"https://other.example.org/" + secretQuery, nil, nil,
			`"other.example.org" is not in system.runbooks.allowed_domains`, 0},
		"a similar host":    {"https://notgithub.com/", nil, nil, "allowed_domains", 0},
		"a longer host":     {"https://github.com.example.org/", nil, nil, "allowed_domains", 0},
		"a user":            {"https://me:s3cret@" + host + "/", nil, nil, "user name or password", 0},
		"a host as a user":  {"https://github.com@other.example.org/", nil, nil, "user name or password", 0},
		"another port":      {"https://" + host + ":22/", nil, nil, "only port 443", 0},
		"an IP address":     {"https://10.0.0.1/", nil, nil, "allowed_domains", 0},
		"no host":           {"https:///x", nil, nil, "allowed_domains", 0},
		"a broken URL":      {"https://" + host + "/%zz" + secretQuery, nil, nil, "not valid", 0},
		"a backslash":       {`https://github.com\@other.example.org/`, nil, nil, "not valid", 0},
		"a very long URL":   {home + strings.Repeat("x", 3000), nil, nil, "longer than 2048 bytes", 0},
		"a private address": {"", nil, map[string]string{host: "10.1.2.3"}, "private or local", 0},
		"one private address of several": {"", nil, map[string]string{host: runbooktest.Public + " 192.168.1.1"},
			"private or local", 0},
		"the metadata service, translated": {"", nil, map[string]string{host: "64:ff9b::a9fe:a9fe"}, "private or local", 0},
		"loopback, mapped":                 {"", nil, map[string]string{host: "::ffff:127.0.0.1"}, "private or local", 0},
		"no address":                       {"", nil, map[string]string{host: ""}, "cannot be resolved", 0},
		"a redirect to a host that is not allowed": {"", redirects("https://other.example.org/" + secretQuery), nil,
			`"other.example.org" is not in`, 1},
		"a redirect to http":          {"", redirects("http://" + host + "/"), nil, "not allowed: only https", 1},
		"a redirect to a file":        {"", redirects("file:///etc/passwd"), nil, "not allowed: only https", 1},
		"a redirect to an IP address": {"", redirects("https://169.254.169.254/latest"), nil, "is not in", 1},
		"a redirect to a private address": {"", redirects("https://docs.example.com/"),
			map[string]string{"docs.example.com": "127.0.0.1"}, "private or local", 1},
		"a redirect without an address":    {"", status(http.StatusFound), nil, "not valid", 1},
		"redirects without an end":         {"", redirects("/"), nil, "more than 5 times", 6},
		"an HTML page":                     {"", with("Content-Type", "text/html; charset=utf-8", "Sign in"), nil, "HTML page", 1},
		"an HTML page that says otherwise": {"", with("Content-Type", "text/plain", "\n<!DOCTYPE HTML>"), nil, "HTML page", 1},
		"nested HTML":                      {"", with("Content-Type", "text/plain", html), nil, "HTML page", 1},
		"a compressed body":                {"", with("Content-Encoding", "gzip", "\x1f\x8b\x08"), nil, "compressed", 1},
		"a compressed body that says nothing": {"", with("Content-Type", "text/plain", "\x1f\x8b\x08\x00\xff"), nil,
			"not text", 1},
		"binary":                 {"", says("a\x00b"), nil, "not text", 1},
		"nothing":                {"", says(" \n"), nil, "is empty", 1},
		"one byte too much":      {"", says(strings.Repeat("x", runbook.MaxSize+1)), nil, "larger than 256 KB", 1},
		"a declared size":        {"", with("Content-Length", fmt.Sprint(1<<30), ""), nil, "larger than 256 KB", 1},
		"a body that breaks off": {"", with("Content-Length", "100", "short"), nil, "request to evil.example.org failed", 1},
		"large headers":          {"", with("X-Large", strings.Repeat("x", 1<<20), "text"), nil, "failed", 1},
		"an error":               {"", status(http.StatusTeapot), nil, "answered 418", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world := &runbooktest.World{Handler: http.HandlerFunc(tt.answer)}
			world.Addresses = func(host string, _ int) []string {
				if addrs, ok := tt.hosts[host]; ok {
					return strings.Fields(addrs)
				}
				return []string{runbooktest.Public}
			}
			address := tt.address
			if address == "" {
				address = home
			}
			text, err := world.Fetcher(t, settings).Fetch(t.Context(), "", address)
			refused(t, text, err, tt.want)
			if got := len(world.Dialed()); got != tt.dialed {
				t.Errorf("%d connections, want %d", got, tt.dialed)
			}
		})
	}
}

// refused checks that a fetch failed for a reason, and that its error reveals nothing.
func refused(t *testing.T, text string, err error, want string) {
	t.Helper()
	if err == nil || text != "" || !strings.Contains(err.Error(), want) {
		t.Fatalf("Fetch returned %q, %v; want an error with %q", text, err, want)
	}
	for _, secret := range []string{token, "s3cret"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the error contains %q: %v", secret, err)
		}
	}
	if len(err.Error()) > 500 {
		t.Errorf("the error has %d bytes", len(err.Error()))
	}
}

// TestHugeBody: a body of 1 GB without a declared size is cut off, and the connection closed, soon after the limit. A page of nested
// HTML and a compressed body that never end are not read to the limit.
func TestHugeBody(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ chunk, header, value, want string }{
		"1 GB":           {"x", "", "", "larger than 256 KB"},
		"nested HTML":    {"<div>", "Content-Type", "text/html", "HTML page"},
		"a gzip of gzip": {"\x1f\x8b\x08", "Content-Encoding", "gzip", "compressed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			done := make(chan int, 1)
			body := endless(strings.Repeat(tt.chunk, 64<<10/len(tt.chunk)), 0, done)
			world := &runbooktest.World{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if tt.header != "" {
					w.Header().Set(tt.header, tt.value)
				}
				body(w, r)
			})}
			text, err := world.Fetcher(t, settings).Fetch(t.Context(), "", "https://evil.example.org/"+secretQuery)
			refused(t, text, err, tt.want)
			if written := <-done; written > 64<<20 { // what the buffers of two sockets can hold is far less
				t.Errorf("the server could write %d bytes", written)
			}
		})
	}
}

// stays is a connection whose deadline and close come late, as on a busy machine.
type stays struct{ net.Conn }

func (stays) SetDeadline(time.Time) error { return nil }
func (stays) Close() error                { return nil }

// TestSlowServers: a server that is slow at any point of a fetch is given up after the time limit.
func TestSlowServers(t *testing.T) {
	t.Parallel()
	gone := make(chan int, 1)
	var entered atomic.Bool
	for name, world := range map[string]*runbooktest.World{
		"a byte at a time": {Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			entered.Store(true)
			endless("x", time.Millisecond, gone)(w, r)
		})},
		"an end at close_notify": {Handler: endless("x", time.Millisecond, make(chan int, 1))},
		"no answer":              {Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })},
		"no resolution": {Lookup: func(ctx context.Context, _ string) ([]netip.Addr, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}},
		"no connection": {Connect: func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}},
		"no handshake": {Connect: func(context.Context, netip.AddrPort) (net.Conn, error) {
			ours, theirs := net.Pipe()
			t.Cleanup(func() { _ = theirs.Close() })
			return ours, nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world.Within = 300 * time.Millisecond
			if name == "an end at close_notify" {
				world.Connect = func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
					conn, err := world.Reach(ctx, to)
					t.Cleanup(func() { _ = conn.Close() })
					return stays{conn}, err
				}
			}
			text, err := world.Fetcher(t, settings).Fetch(t.Context(), "", "https://evil.example.org/"+secretQuery)
			refused(t, text, err, "did not arrive within 300ms")
			if name == "a byte at a time" && entered.Load() { // not if the handshake took that long
				<-gone // the connection is closed
			}
		})
	}
}

// TestChangingAddress: a name whose address changes between the check and the connection (DNS rebinding) is resolved only
// once, so the connection is to the address that was checked. At the next resolution, the new address is refused.
func TestChangingAddress(t *testing.T) {
	t.Parallel()
	server := &recorder{answers: map[string]http.HandlerFunc{"evil.example.org/": says("text")}}
	world := &runbooktest.World{Handler: server, Addresses: func(_ string, n int) []string {
		if n == 1 {
			return []string{runbooktest.Public}
		}
		return []string{"127.0.0.1"}
	}}
	f := world.Fetcher(t, settings)
	if _, err := f.Fetch(t.Context(), "", "https://evil.example.org/"); err != nil {
		t.Fatal(err)
	}
	text, err := f.Fetch(t.Context(), "", "https://evil.example.org/")
	refused(t, text, err, "private or local")
	want := []netip.AddrPort{netip.MustParseAddrPort(runbooktest.Public + ":443")}
	if diff := cmp.Diff(want, world.Dialed(), cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
		t.Errorf("connections (-want +got):\n%s", diff)
	}
}

// TestSeveralAddresses: if an address does not answer, the next one is tried.
func TestSeveralAddresses(t *testing.T) {
	t.Parallel()
	world := &runbooktest.World{Addresses: func(string, int) []string { return []string{"2606:50c0:8000::154", runbooktest.Public} }}
	world.Connect = func(_ context.Context, to netip.AddrPort) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: fmt.Errorf("no route to %v", to.Addr())}
	}
	text, err := world.Fetcher(t, settings).Fetch(t.Context(), "", "https://evil.example.org/")
	refused(t, text, err, "no route to "+runbooktest.Public)
	if got := len(world.Dialed()); got != 2 {
		t.Errorf("%d addresses were tried", got)
	}
}

// TestWrongCertificate: a server without a valid certificate for the host is refused.
func TestWrongCertificate(t *testing.T) {
	t.Parallel()
	world := &runbooktest.World{}
	other := &runbooktest.World{Handler: says("text")}
	other.Fetcher(t, settings)
	world.Connect = other.Reach
	text, err := world.Fetcher(t, settings).Fetch(t.Context(), "", "https://evil.example.org/")
	refused(t, text, err, "certificate of evil.example.org is not valid")
}

// TestCancelled: if the caller gives up, the error is the caller's own and no fault of the server.
func TestCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the worker stops")
	world := &runbooktest.World{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel(cause)
		<-r.Context().Done()
	})}
	if _, err := world.Fetcher(t, settings).Fetch(ctx, "", "https://evil.example.org/"); !errors.Is(err, cause) {
		t.Errorf("the error is %v", err)
	}
}

// TestCache: a text is fetched again after its time is over, and errors are not kept. The allow-list applies to cached
// texts as well.
func TestCache(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 17, 14, 0, 0, 0, time.UTC)
	server := &recorder{answers: map[string]http.HandlerFunc{}}
	world := &runbooktest.World{Handler: server, Now: func() time.Time { return now }}
	current := settings()
	current.CacheTTL = time.Minute
	f := world.Fetcher(t, func() runbook.Settings { return current })
	fetch := func(address, want string, requests int) {
		t.Helper()
		if text, _ := f.Fetch(t.Context(), "", address); text != want || len(server.seen) != requests {
			t.Errorf("%s: %q after %d requests, want %q after %d", address, text, len(server.seen), want, requests)
		}
	}
	fetch("https://docs.example.com/a", "", 1)
	server.answers["docs.example.com/a"] = says("first")
	fetch("https://docs.example.com/a", "first", 2)
	server.answers["docs.example.com/a"] = says("second")
	fetch("https://docs.example.com/a", "first", 2)
	fetch("https://docs.example.com/a#part", "first", 2)
	fetch("https://docs.example.com/a?v=2", "second", 3)
	now = now.Add(time.Minute)
	fetch("https://docs.example.com/a", "second", 4)
	current.Domains = nil
	fetch("https://docs.example.com/a", "", 4)
	current.Domains, current.CacheTTL = settings().Domains, 0
	fetch("https://docs.example.com/a", "second", 5)
}

// TestProjects: only the projects of the repository see its list, and only for them is the token used. What was fetched with it is not
// in the others' cache.
func TestProjects(t *testing.T) {
	t.Parallel()
	const file = "https://github.com/acme/ops/blob/main/db.md"
	world := &runbooktest.World{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") == "":
			w.WriteHeader(http.StatusNotFound)
		case r.Host == "api.github.com":
			_, _ = w.Write([]byte(`[{"name":"db.md","type":"file"}]`))
		default:
			_, _ = w.Write([]byte("private"))
		}
	})}
	s := listing("https://github.com/acme/ops")
	s.Token, s.CacheTTL = "ghp_x", time.Hour
	f := world.Fetcher(t, func() runbook.Settings { return s })
	for _, tt := range []struct {
		projects []string
		project  string
		sees     bool
	}{
		{[]string{"shop", "default"}, "shop", true}, {[]string{"shop", "default"}, "", true},
		{[]string{"shop", "default"}, "bank", false}, {[]string{"shop"}, "", false}, {nil, "bank", true},
	} {
		s.Projects = tt.projects
		text, err := f.Fetch(t.Context(), tt.project, file)
		found, unlisted := f.List(t.Context(), tt.project, nil)
		if tt.sees && (text != "private" || len(found) != 1) || !tt.sees && (err == nil || !errors.Is(unlisted, runbook.ErrNoRepository)) {
			t.Errorf("project %q of %v: %q, %v, %v, %v", tt.project, tt.projects, text, err, found, unlisted)
		}
	}
}

// TestPrivateFile: GitHub answers 404 for a private file, so the error names the missing token.
func TestPrivateFile(t *testing.T) {
	t.Parallel()
	world := &runbooktest.World{Handler: &recorder{}}
	f := world.Fetcher(t, func() runbook.Settings { return runbook.Settings{Domains: []string{"github.com"}} })
	text, err := f.Fetch(t.Context(), "", "https://github.com/acme/ops/blob/main/db.md")
	refused(t, text, err, "answered 404 Not Found. Private files need system.runbooks.token_env, and a project")
}
