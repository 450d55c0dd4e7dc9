package sample

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serveDir makes the test binary an MCP server for the incident in that directory.
const serveDir = "INQUEST_TEST_SERVE_INCIDENT"

func TestMain(m *testing.M) {
	dir, ok := os.LookupEnv(serveDir)
	if !ok {
		os.Exit(m.Run())
	}
	if err := ServeMCP(context.Background(), dir); err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
}

// TestServeOverStdio talks to a real process.
func TestServeOverStdio(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := Extract(dir); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serveDir+"="+filepath.Join(dir, Folder))
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := session.Close(); err != nil {
			t.Errorf("the server did not end well: %v", err)
		}
	}()
	if got := session.InitializeResult().ServerInfo.Name; got != ServerName {
		t.Errorf("server %q", got)
	}
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		if tool.Annotations == nil || !tool.Annotations.ReadOnlyHint || tool.Description == "" {
			t.Errorf("%s: annotations %+v, description %q", tool.Name, tool.Annotations, tool.Description)
		}
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"get_manifest", "list_events", "list_metrics", "list_services", "query_logs", "query_metric"},
		names); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	text, isError := callTool(t, session, "query_metric", map[string]any{"name": "postgres_connections", "from": "2026-03-17T14:30:00Z"})
	if isError || !strings.HasPrefix(text, "time,postgres\n2026-03-17T14:30:00Z,") {
		t.Errorf("query_metric: %s", text)
	}
}

func callTool(t *testing.T, session *mcp.ClientSession, name string, args map[string]any) (text string, isError bool) {
	t.Helper()
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s %v: %v", name, args, err)
	}
	return res.Content[0].(*mcp.TextContent).Text, res.IsError
}

// TestTools reads a small incident that is completely listed here.
func TestTools(t *testing.T) {
	t.Parallel()
	session := connect(t, small(t))
	type args = map[string]any
	tests := []struct {
		name, tool string
		args       args
		want       string
		isError    bool
	}{
		{"services", "list_services", nil,
			"2 services:\na: lines: 3 (info 1, error 2), 2026-01-01T10:00:00Z to 2026-01-01T10:01:00Z\nb: lines: 1 (warn 1), 2026-01-01T10:00:30Z " +
				"to 2026-01-01T10:00:30Z\n", false},
		{"all logs by time", "query_logs", nil, "Matching lines: 4 (a 3, b 1). Shown: 4, oldest first.\n" +
			"[a] " + lineA1 + "\n[b] " + lineB + "\n[a] " +
			lineA2 + "\n[a]   at main\n", false},
		{"level and continuation", "query_logs", args{"service": "a", "level": "error"},
			"Matching lines: 2 (a 2). Shown: 2, oldest first.\n[a] " + lineA2 + "\n[a]   at main\n", false},
		{"text in any case, limit", "query_logs", args{"contains": "LEVEL", "limit": 1},
			"Matching lines: 3 (a 2, b 1). Shown: 1, oldest first.\n[a] " + lineA1 + "\n", false},
		{"time", "query_logs", args{"since": "2026-01-01T10:00:10Z", "until": "2026-01-01T10:00:59Z"},
			"Matching lines: 1 (b 1). Shown: 1, oldest first.\n[b] " + lineB + "\n", false},
		{"nothing", "query_logs", args{"contains": "nowhere"}, "Matching lines: 0. Shown: 0, oldest first.\n", false},
		{"unknown service", "query_logs", args{"service": "c"}, `unknown service "c"; available: a, b`, true},
		{"service outside", "query_logs", args{"service": "../secret"}, `unknown service "../secret"; available: a, b`, true},
		{"unknown level", "query_logs", args{"level": "loud"}, `unknown level "loud"; available: debug, info, warn, error, fatal`, true},
		{"not a time", "query_logs", args{"since": "yesterday"}, `since: "yesterday" is not a time like 2026-03-17T14:04:00Z`, true},
		{"ends before it begins", "query_logs", args{"since": "2026-01-02T00:00:00Z", "until": "2026-01-01T00:00:00Z"},
			"until is before since", true},
		{"negative limit", "query_logs", args{"limit": -1}, "limit is -1; it must not be negative", true},
		{"metrics", "list_metrics", nil, "1 metrics:\nm_ms: a, b; points: 2, 2026-01-01T10:00:00Z to 2026-01-01T10:01:00Z\n", false},
		{"metric", "query_metric", args{"name": "m_ms", "service": "b", "to": "2026-01-01T10:00:00Z"}, "time,b\n2026-01-01T10:00:00Z,2\n", false},
		{"unknown metric", "query_metric", args{"name": "n"}, `unknown metric "n"; available: m_ms`, true},
		{"metric of an unknown service", "query_metric", args{"name": "m_ms", "service": "c"},
			`metric m_ms has no data for service "c"; available: a, b`, true},
		{"manifest", "get_manifest", args{"kind": "Deployment", "name": "a"}, "apiVersion: apps/v1\n", false},
		{"unknown kind", "get_manifest", args{"kind": "secret", "name": "a"}, `unknown kind "secret"; available: deployment`, true},
		{"unknown object", "get_manifest", args{"kind": "deployment", "name": "../../events.json"},
			`unknown deployment "../../events.json"; available: a, leak`, true},
		{"events", "list_events", args{"kind": "pod", "name": "a"},
			"Matching events: 1. Shown: 1, oldest first.\n2026-01-01T10:00:00Z Normal Killing Pod/a-1: Stopping (count: 1)\n", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			text, isError := callTool(t, session, test.tool, test.args)
			if diff := cmp.Diff(test.want, text); diff != "" || isError != test.isError {
				t.Errorf("isError %v (-want +got):\n%s", isError, diff)
			}
		})
	}
	t.Run("link to the outside", func(t *testing.T) {
		t.Parallel()
		if text, isError := callTool(t, session, "get_manifest", args{"kind": "deployment", "name": "leak"}); !isError {
			t.Errorf("read a file outside: %s", text)
		}
	})
	t.Run("unknown argument", func(t *testing.T) {
		t.Parallel()
		if text, isError := callTool(t, session, "query_logs", args{"servise": "a"}); !isError || !strings.Contains(text, "servise") {
			t.Errorf("isError %v: %s", isError, text)
		}
	})
}

const (
	lineA1 = `{"ts":"2026-01-01T10:00:00Z","level":"info","msg":"one"}`
	lineA2 = `{"ts":"2026-01-01T10:01:00Z","level":"error","msg":"two"}`
	lineB  = `ts=2026-01-01T10:00:30Z level=warn msg="three four"`
)

// small writes an incident of a few lines, with a link that leads out of it.
func small(t *testing.T) string {
	t.Helper()
	base := t.TempDir()
	files := map[string]string{
		"secret.log":                     lineA1,
		"in/logs/a.log":                  lineA1 + "\n" + lineA2 + "\n  at main\n",
		"in/logs/b.log":                  lineB + "\n",
		"in/metrics/m_ms.csv":            "time,a,b\n2026-01-01T10:00:00Z,1,2\n2026-01-01T10:01:00Z,3,4\n",
		"in/manifests/deployment/a.yaml": "apiVersion: apps/v1\n",
		"in/events.json": `{"items":[{"type":"Normal","reason":"Killing","message":"Stopping","lastTimestamp":"2026-01-01T10:00:00Z",` +
			`"involvedObject":{"kind":"Pod","name":"a-1"}},` +
			`{"type":"Normal","reason":"x","message":"y","lastTimestamp":"2026-01-01T10:00:00Z","involvedObject":{"kind":"Node","name":"a"}}]}`,
	}
	for name, text := range files {
		path := filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(base, "secret.log"), filepath.Join(base, "in/manifests/deployment/leak.yaml")); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(base, "in")
}

// connect starts a server for dir in this process.
func connect(t *testing.T, dir string) *mcp.ClientSession {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	here, there := mcp.NewInMemoryTransports()
	server, err := NewServer(root).Connect(t.Context(), there, nil)
	if err != nil {
		t.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = session.Close()
		_ = server.Wait()
		_ = root.Close()
	})
	return session
}
