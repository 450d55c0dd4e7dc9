package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/processtest"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/mcp"
)

func script(server string) string { return filepath.Join(modules, server, "dist", "index.js") }

// newPool has a single server, "s".
func newPool(t *testing.T, transport mcp.Transport) *mcp.Pool {
	t.Helper()
	pool := mcp.New(mcp.Options{
		Transport:  func(string) (mcp.Transport, error) { return transport, nil },
		CheckAfter: time.Nanosecond, // a server may be back before its session counts as unused
	})
	t.Cleanup(pool.Close)
	return pool
}

func stdio(server string, args ...string) mcp.Transport {
	return mcp.Transport{Type: mcp.Stdio, Command: "node", Args: append([]string{script(server)}, args...)}
}

func call(t *testing.T, pool *mcp.Pool, name string, args any) tool.Result {
	t.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	result, err := pool.Call(t.Context(), tool.Call{Name: "s." + name, Arguments: text, Key: "e/1/1"})
	if err != nil {
		t.Fatalf("call %s: %v", name, err)
	}
	return result
}

type args map[string]any

// startEverything runs server-everything over HTTP. It is killed by stop or at the end of the test.
func startEverything(t *testing.T, mode, port string) (stop func()) {
	t.Helper()
	return startServer(t, []string{"PORT=" + port}, port, script("server-everything"), mode)
}

// startServer runs a server of node over HTTP, and returns when the server prints its port.
func startServer(t *testing.T, env []string, port string, args ...string) (stop func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "node", args...)
	cmd.Env = append(os.Environ(), env...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = func() {
		cmd.Process.Kill()
		cmd.Wait()
	}
	t.Cleanup(stop)
	said := ""
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		said += lines.Text() + "\n"
		if strings.Contains(lines.Text(), port) { // "listening on port …"
			go func() {
				for lines.Scan() { // else it would be held up
				}
			}()
			return stop
		}
	}
	t.Fatalf("%s does not start: %s", strings.Join(args, " "), said)
	return nil
}

func freePort(t *testing.T) string {
	t.Helper()
	address, err := processtest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(address)
	return port
}

var paths = map[string]string{"streamableHttp": "/mcp", "sse": "/sse"}

func overHTTP(mode, port string) mcp.Transport {
	transport := mcp.Transport{Type: mcp.HTTP, URL: "http://localhost:" + port + paths[mode]}
	if mode == "sse" {
		transport.Type = mcp.SSE
	}
	return transport
}

// overEach runs a test with server-everything over each of its transports.
func overEach(t *testing.T, test func(*testing.T, mcp.Transport)) {
	t.Helper()
	for _, mode := range []string{"stdio", "streamableHttp", "sse"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			transport := stdio("server-everything")
			if mode != "stdio" {
				port := freePort(t)
				startEverything(t, mode, port)
				transport = overHTTP(mode, port)
			}
			test(t, transport)
		})
	}
}

func TestEverything(t *testing.T) {
	t.Parallel()
	overEach(t, func(t *testing.T, transport mcp.Transport) { everything(t, newPool(t, transport)) })
}

func everything(t *testing.T, pool *mcp.Pool) {
	specs, err := pool.List(t.Context(), plan.Server{Name: "s", TrustAnnotations: true}, "")
	if err != nil {
		t.Fatal(err)
	}
	risks := map[string]agent.Risk{}
	for _, spec := range specs {
		risks[spec.Name] = spec.Risk
	}
	if len(specs) < 10 || risks["s.get-tiny-image"] != agent.RiskReadOnly {
		t.Errorf("tools: %v", risks)
	}
	const weather = `{"temperature":36,"conditions":"Light rain / drizzle","humidity":82}`
	for name, tc := range map[string]struct {
		args      args
		want      string // in the result
		errorType string
		artifacts string // their types
	}{
		"echo":                   {args: args{"message": "hé"}, want: "Echo: hé"},
		"get-sum":                {args: args{"a": 2, "b": 3}, want: "The sum of 2 and 3 is 5."},
		"get-tiny-image":         {want: "kept as an artifact]\nThe image above is the MCP logo.", artifacts: "image/png"},
		"get-structured-content": {args: args{"location": "Chicago"}, want: weather, artifacts: "application/json"},
		"get-resource-links": {args: args{"count": 2}, want: `"type":"resource_link"`,
			artifacts: "application/json application/json"},
		"get-resource-reference": {args: args{"resourceType": "Blob", "resourceId": 1},
			want: "[resource demo://resource/dynamic/blob/1, ", artifacts: "text/plain"},
		"get-annotated-message": {args: args{"messageType": "success", "includeImage": true},
			want: "Operation completed successfully\n[image, image/png, ", artifacts: "image/png"},
		"trigger-long-running-operation": {args: args{"duration": 0.2, "steps": 2}, want: "Long running operation completed."},
		"get-no-such-thing":              {errorType: tool.ErrorUnknownTool, want: "get-no-such-thing"},
	} {
		got := call(t, pool, name, tc.args)
		var types []string
		for _, artifact := range got.Artifacts {
			types = append(types, artifact.MIMEType)
		}
		if got.ErrorType != tc.errorType || !strings.Contains(got.Content, tc.want) || strings.Join(types, " ") != tc.artifacts {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := call(t, pool, "get-sum", args{"a": "two", "b": 3}); got.Status != tool.StatusError ||
		!strings.Contains(got.Content, "expected number") {
		t.Errorf("wrong arguments: %+v", got)
	}
}

// The server forgets its sessions and answers 400 for them instead of 404.
func TestEverythingStartsAgain(t *testing.T) {
	t.Parallel()
	for mode := range paths {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			port := freePort(t)
			stop := startEverything(t, mode, port)
			pool := newPool(t, overHTTP(mode, port))
			for range 2 {
				if got := call(t, pool, "echo", args{"message": "x"}); got.Status != tool.StatusSuccess || got.Content != "Echo: x" {
					t.Errorf("got %+v", got)
				}
				stop()
				stop = startEverything(t, mode, port)
			}
			stop()
			if got := call(t, pool, "echo", args{"message": "x"}); got.ErrorType != tool.ErrorUnavailable {
				t.Errorf("without a server: %+v", got)
			}
		})
	}
}

// Over every transport, a slow tool reports its progress, and a call that is cancelled ends at once, while the
// session continues.
func TestProgressAndCancellation(t *testing.T) {
	t.Parallel()
	overEach(t, func(t *testing.T, transport mcp.Transport) {
		pool := newPool(t, transport)
		said := make(chan string, 99)
		long := func(ctx context.Context, args string) (tool.Result, error) {
			return pool.Call(ctx, tool.Call{
				Name: "s.trigger-long-running-operation", Arguments: []byte(args), Key: "k", Progress: func(text string) { said <- text },
			})
		}
		if got, err := long(t.Context(), `{"duration":0.3,"steps":3}`); err != nil || got.Status != tool.StatusSuccess ||
			len(said) < 2 || <-said != "1 of 3" {
			t.Errorf("%+v, %v; progress: %d", got, err, len(said))
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := long(ctx, `{"duration":600,"steps":6000}`)
			ended <- err
		}()
		for text := ""; text != "1 of 6000"; text = <-said {
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the cancelled call: %v", err)
		}
		if got := call(t, pool, "echo", args{"message": "x"}); got.Status != tool.StatusSuccess || got.Content != "Echo: x" {
			t.Errorf("the next call: %+v", got)
		}
	})
}

func TestFilesystem(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	pool := newPool(t, stdio("server-filesystem", dir))
	path := filepath.Join(dir, "notes.txt")
	if got := call(t, pool, "write_file", args{"path": path, "content": "disk full at 03:12"}); got.Status != tool.StatusSuccess {
		t.Fatalf("write: %+v", got)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "disk full at 03:12" {
		t.Errorf("the file has %q, %v", text, err)
	}
	for name, want := range map[string]string{
		"read_text_file": "disk full at 03:12",
		"get_file_info":  "size: 18",
	} {
		if got := call(t, pool, name, args{"path": path}); got.Status != tool.StatusSuccess || !strings.Contains(got.Content, want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	// The text appears once, although the server repeats its text and its image as structured content.
	if got := call(t, pool, "read_text_file", args{"path": path}); got.Content != "disk full at 03:12" {
		t.Errorf("read: %+v", got)
	}
	picture := filepath.Join(dir, "p.png")
	if err := os.WriteFile(picture, []byte("\x89PNG\r\n\x1a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := call(t, pool, "read_media_file", args{"path": picture}); len(got.Artifacts) != 1 || strings.Contains(got.Content, "iVBOR") {
		t.Errorf("picture: %+v", got)
	}
	if got := call(t, pool, "list_directory", args{"path": dir}); strings.Count(got.Content, "notes.txt") != 1 ||
		!strings.Contains(got.Content, "[FILE] notes.txt") {
		t.Errorf("list: %+v", got)
	}
	// A client with roots would have replaced this with its own roots.
	if got := call(t, pool, "read_text_file", args{"path": "/etc/hostname"}); got.ErrorType != tool.ErrorTool ||
		!strings.Contains(got.Content, "Access denied") {
		t.Errorf("outside: %+v", got)
	}
}

func TestMemory(t *testing.T) {
	t.Parallel()
	transport := stdio("server-memory")
	transport.Env = map[string]string{"MEMORY_FILE_PATH": filepath.Join(t.TempDir(), "memory.jsonl")}
	entity := args{"name": "db-1", "entityType": "host", "observations": []string{"out of disk"}}
	first := newPool(t, transport)
	if got := call(t, first, "create_entities", args{"entities": []args{entity}}); strings.Count(got.Content, "db-1") != 1 {
		t.Fatalf("create: %+v", got)
	}
	first.Close()
	got := call(t, newPool(t, transport), "search_nodes", args{"query": "disk"})
	var found struct{ Entities []struct{ Name string } }
	if len(got.Artifacts) != 1 || json.Unmarshal(got.Artifacts[0].JSON, &found) != nil || fmt.Sprint(found.Entities) != "[{db-1}]" {
		t.Errorf("after a restart: %+v", got)
	}
}
