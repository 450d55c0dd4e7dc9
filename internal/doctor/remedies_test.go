package doctor

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/knowledge/pack"
	"github.com/inquest-dev/inquest/internal/tool"
)

// A remedy fits the error and the transport, and its commands use the configuration that was examined.
func TestRemedies(t *testing.T) {
	t.Parallel()
	e := Examination{ConfigPath: "my lab", Patience: 100 * time.Second}
	process := config.Transport{Command: "npx"}
	remote := config.Transport{URL: "https://u:hunter2@mcp.example/mcp?key=hunter2"}
	late := &tool.ServerError{Err: errors.New("late"), Pending: time.Second}
	for name, tt := range map[string]struct {
		transport config.Transport
		err       error
		want      []string
		never     string
	}{
		"no program": {process, &tool.ServerError{Err: errors.New("x"), NotStarted: true},
			[]string{"install its command", "mcp_servers.s.transport.command"}, "--wait"},
		"slow program": {process, late,
			[]string{"starter doctor --config 'my lab' --wait 400s", "npx, docker", "starter config show 'my lab'"}, "MCP server listen"},
		"wrong program": {process, errors.New("x"), []string{"starter config show 'my lab'"}, "--wait"},
		"slow address":  {remote, late, []string{"--wait 400s", "https://mcp.example/mcp?"}, "npx"},
		"wrong address": {remote, errors.New("connection refused"), []string{"https://mcp.example/mcp, and"}, "by hand"},
	} {
		got := e.remedy("s", tt.transport, tt.err)
		for _, want := range tt.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q lacks %q", name, got, want)
			}
		}
		if strings.Contains(got, tt.never) || strings.Contains(got, "hunter2") {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

// Remedies of packs have the real address, and without a server's env the name of the variable.
func TestRemedyOfPack(t *testing.T) {
	t.Parallel()
	p, _ := pack.Named("prometheus")
	for address, want := range map[string]string{
		"http://localhost:9090":            `curl "http://localhost:9090/api/v1/query?query=1"`,
		"http://u:hunter2@localhost:9090/": `curl "http://localhost:9090/api/v1/query?query=1"`,
		"":                                 `curl "$PROMETHEUS_URL/api/v1/query?query=1"`,
	} {
		if got := remedyOf(p, config.Transport{Env: map[string]string{"PROMETHEUS_URL": address}}); !strings.HasSuffix(got, want) {
			t.Errorf("%q: got %q, want %q", address, got, want)
		}
	}
}
