package mcp_test

import (
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/mcp"
	"github.com/inquest-dev/inquest/internal/tool/tooltest"
)

// TestAway checks that the result of an unsent write says whether the server may be back soon.
func TestAway(t *testing.T) {
	t.Parallel()
	at := func(url string) func(*mcp.Options, *mcp.Transport) {
		return func(_ *mcp.Options, tr *mcp.Transport) { tr.URL = url }
	}
	program := func(command string) func(*mcp.Options, *mcp.Transport) {
		return func(_ *mcp.Options, tr *mcp.Transport) { tr.Type, tr.Command = mcp.Stdio, command }
	}
	secure := func(_ *mcp.Options, tr *mcp.Transport) { tr.URL = strings.Replace(tr.URL, "http:", "https:", 1) }
	for name, tc := range map[string]struct {
		change func(*mcp.Options, *mcp.Transport)
		status int // of the answer to initialize
		want   string
	}{
		"nobody listens":     {change: at("http://127.0.0.1:1/mcp"), want: "connection refused"},
		"unknown host":       {change: at("http://no-such-host.invalid/mcp"), want: "its host name cannot be resolved"},
		"no TLS":             {change: secure, want: "the TLS handshake failed"},
		"missing command":    {change: program("/no/such/server"), want: "it cannot be started"},
		"command that exits": {change: program("false"), want: "its session has ended"},
		"gateway":            {status: 503, want: "it returned HTTP status 503"},
		"no token":           {status: 401},
		"no such path":       {status: 404},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := tooltest.ServeWeb(t, tooltest.WebOptions{})
			if tc.status > 0 {
				server.Misbehave("initialize", tooltest.Answer(tc.status, "text/plain", "no"))
			}
			pool, made := webPool(t, server, tooltest.WebOptions{}, tc.change), newEffects(t)
			got := made.make(t.Context(), t, pool)
			if got.ErrorType != tool.ErrorUnavailable || got.Sent || got.Away != tc.want {
				t.Errorf("got %+v, want %q", got, tc.want)
			}
		})
	}
}
