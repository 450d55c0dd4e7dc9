package mcp_test

import (
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/mcp"
	"github.com/inquest-dev/inquest/internal/tool/tooltest"
)

// The result of a write that was not sent says whether the server may be back soon.
func TestAway(t *testing.T) {
	t.Parallel()
	closed := func(_ *mcp.Options, tr *mcp.Transport) { tr.URL = "http://127.0.0.1:1/mcp" }
	for name, tc := range map[string]struct {
		change func(*mcp.Options, *mcp.Transport)
		status int // of the answer to initialize
		want   string
	}{
		"nobody listens":     {change: closed, want: "connection refused"},
		"unknown host":       {change: func(_ *mcp.Options, tr *mcp.Transport) { tr.URL = "http://no-such-host.invalid/mcp" }, want: "its name cannot be resolved"},
		"no TLS":             {change: func(_ *mcp.Options, tr *mcp.Transport) { tr.URL = strings.Replace(tr.URL, "http:", "https:", 1) }, want: "the TLS handshake fails"},
		"missing command":    {change: func(_ *mcp.Options, tr *mcp.Transport) { tr.Type, tr.Command = mcp.Stdio, "/no/such/server" }, want: "it cannot be started"},
		"command that exits": {change: func(_ *mcp.Options, tr *mcp.Transport) { tr.Type, tr.Command = mcp.Stdio, "false" }, want: "it has ended"},
		"gateway":            {status: 503, want: "it refuses (503)"},
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
