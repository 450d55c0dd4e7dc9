package mcp_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/mcp"
	"github.com/inquest-dev/inquest/internal/tool/tooltest"
)

// callAs makes a call for an execution.
func callAs(t *testing.T, pool *mcp.Pool, execution string) {
	t.Helper()
	result, err := pool.Call(t.Context(), tool.Call{Name: "s.echo", Arguments: []byte(`{"text":"x"}`), Session: execution, Class: tool.Safe})
	if err != nil || result.Content != "x" {
		t.Errorf("call for %s: %+v, %v", execution, result, err)
	}
}

// lives returns the sessions that a server has seen, by execution.
func lives(server *tooltest.Web) map[string]string {
	out := map[string]string{}
	for _, r := range server.Seen("initialize", "DELETE") {
		name := r.Header.Get("X-Session")
		switch cleaned, ok := strings.CutPrefix(r.Path, "/cleanup/"); {
		case r.Method == "initialize":
			out[name] += "start "
		case ok:
			out[cleaned] += "cleanup "
		default:
			out[name] += "end "
		}
	}
	return out
}

func TestSessionsOfExecutions(t *testing.T) {
	t.Parallel()
	const whole = "start end cleanup "
	for name, tc := range map[string]struct {
		change func(*mcp.Options, *mcp.Transport)
		do     func(*testing.T, *mcp.Pool, *tooltest.Web)
		want   map[string]string
	}{
		"shared by all": {func(*mcp.Options, *mcp.Transport) {}, func(t *testing.T, pool *mcp.Pool, _ *tooltest.Web) {
			callAs(t, pool, "a")
			callAs(t, pool, "b")
			pool.End("a")
			callAs(t, pool, "a")
		}, map[string]string{"": "start end "}},
		"one for each": {func(*mcp.Options, *mcp.Transport) {}, func(t *testing.T, pool *mcp.Pool, server *tooltest.Web) {
			callAs(t, pool, "a")
			callAs(t, pool, "b")
			callAs(t, pool, "a")
			pool.End("b")
			server.Wait("DELETE", 2)
		}, map[string]string{"a": whole, "b": whole}},
		"listed for it first": {func(*mcp.Options, *mcp.Transport) {}, func(t *testing.T, pool *mcp.Pool, server *tooltest.Web) {
			if _, err := pool.List(t.Context(), plan.Server{Name: "s"}, "a"); err != nil {
				t.Error(err)
			}
			callAs(t, pool, "a")
			pool.End("a")
			server.Wait("DELETE", 2)
		}, map[string]string{"a": whole}},
		"as many as there may be": {func(o *mcp.Options, _ *mcp.Transport) { o.ExecutionLimit = 2 },
			func(t *testing.T, pool *mcp.Pool, server *tooltest.Web) {
				for _, execution := range []string{"a", "b", "a", "c", "a", "b"} {
					callAs(t, pool, execution)
				}
			}, map[string]string{"a": whole, "b": whole + whole, "c": whole}},
		"unused for long": {func(o *mcp.Options, _ *mcp.Transport) { o.ExecutionIdle = 2 * time.Second },
			func(t *testing.T, pool *mcp.Pool, server *tooltest.Web) {
				callAs(t, pool, "a")
				server.Wait("DELETE", 2)
			}, map[string]string{"a": whole}},
		"again after the end": {func(*mcp.Options, *mcp.Transport) {}, func(t *testing.T, pool *mcp.Pool, _ *tooltest.Web) {
			callAs(t, pool, "a")
			pool.End("a")
			callAs(t, pool, "a")
		}, map[string]string{"a": whole + whole}},
		"only the cleanup is its own": {func(_ *mcp.Options, tr *mcp.Transport) { tr.CustomHeaders = nil },
			func(t *testing.T, pool *mcp.Pool, _ *tooltest.Web) {
				callAs(t, pool, "a")
			}, map[string]string{"": "start end ", "a": "cleanup "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := tooltest.ServeWeb(t, tooltest.WebOptions{})
			pool := webPool(t, server, tooltest.WebOptions{}, func(o *mcp.Options, tr *mcp.Transport) {
				if name != "shared by all" {
					tr.CustomHeaders = map[string]string{"X-Session": "{{.SESSION_ID}}"}
					tr.SessionCleanupURL = strings.Replace(tr.URL, "/mcp", "/cleanup/{{.SESSION_ID}}", 1)
				}
				tc.change(o, tr)
			})
			tc.do(t, pool, server)
			closesSoon(t, pool)
			if diff := cmp.Diff(tc.want, lives(server)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestIdleAfterUse checks that each use restarts a session's idle time.
func TestIdleAfterUse(t *testing.T) {
	t.Parallel()
	server := tooltest.ServeWeb(t, tooltest.WebOptions{})
	pool := webPool(t, server, tooltest.WebOptions{}, func(o *mcp.Options, tr *mcp.Transport) {
		withSecrets(o, tr)
		o.ExecutionIdle = time.Second
	})
	for begin := time.Now(); time.Since(begin) < 2*time.Second; {
		callAs(t, pool, "a")
	}
	server.Wait("DELETE", 2)
}

// TestNoCleanupOfALostSession checks that a lost session is not cleaned up, because that would end its successor.
func TestNoCleanupOfALostSession(t *testing.T) {
	t.Parallel()
	server := tooltest.ServeWeb(t, tooltest.WebOptions{})
	pool := webPool(t, server, tooltest.WebOptions{}, withSecrets)
	callAs(t, pool, "a")
	server.Restart()
	callAs(t, pool, "a")
	server.Wait("DELETE", 1)
	callAs(t, pool, "a")
	pool.Close()
	var paths []string
	for _, r := range server.Seen("DELETE") {
		paths = append(paths, r.Path)
	}
	if diff := cmp.Diff([]string{"/mcp", "/mcp", "/cleanup/a"}, paths); diff != "" {
		t.Error(diff)
	}
}

func TestCleanupThatFails(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(*tooltest.Web) tooltest.Fault{
		"refused": func(*tooltest.Web) tooltest.Fault { return tooltest.Answer(500, "text/plain", token) },
		"broken off": func(server *tooltest.Web) tooltest.Fault {
			return func(http.ResponseWriter, *http.Request, http.Handler) { server.Disconnect() }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			server := tooltest.ServeWeb(t, tooltest.WebOptions{})
			pool := webPool(t, server, tooltest.WebOptions{}, func(o *mcp.Options, tr *mcp.Transport) {
				withSecrets(o, tr)
				o.Logger = slog.New(slog.NewTextHandler(&log, nil))
			})
			callAs(t, pool, "a")
			server.Misbehave("DELETE", func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				server.Misbehave("DELETE", fault(server)) // of the cleanup
				next.ServeHTTP(w, r)
			})
			pool.Close()
			if text := log.String(); !strings.Contains(text, "MCP session was not cleaned up") || strings.Contains(text, "sesame") {
				t.Errorf("log: %s", text)
			}
		})
	}
}

// TestListWithASessionOfItsOwn checks that listing works without an execution, for example for a person.
func TestListWithASessionOfItsOwn(t *testing.T) {
	t.Parallel()
	server := tooltest.ServeWeb(t, tooltest.WebOptions{})
	pool := webPool(t, server, tooltest.WebOptions{}, withSecrets)
	for range 2 {
		if _, err := pool.List(t.Context(), plan.Server{Name: "s"}, ""); err != nil {
			t.Error(err)
		}
	}
	if seen := server.Seen("initialize"); len(seen) != 1 || !strings.HasPrefix(seen[0].Header.Get("X-Session"), "list-") {
		t.Errorf("sessions: %v", seen)
	}
}

// TestCloseIsBounded checks that a slow server does not delay Close.
func TestCloseIsBounded(t *testing.T) {
	t.Parallel()
	server := tooltest.ServeWeb(t, tooltest.WebOptions{})
	pool := webPool(t, server, tooltest.WebOptions{}, withSecrets)
	callAs(t, pool, "a")
	server.Misbehave("DELETE", func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		server.Misbehave("DELETE", tooltest.Hang) // of the cleanup
		tooltest.Hang(w, r, next)
	})
	closesSoon(t, pool)
	if got := len(server.Seen("DELETE")); got != 2 {
		t.Errorf("%d requests", got)
	}
}
