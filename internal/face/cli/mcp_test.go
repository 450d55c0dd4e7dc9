package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/cli/local"
)

// screen collects a command's output and is safe for concurrent use.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

// serve runs `starter mcp` and returns its input, its output and its exit code.
func serve(ctx context.Context, t *testing.T, said io.Writer, args ...string) (in *io.PipeWriter, out io.Reader, code <-chan int) {
	stdin, in := io.Pipe()
	out, stdout := io.Pipe()
	ended := make(chan int, 1)
	c := base.CLI{In: stdin, Out: stdout, Err: said, Getenv: func(string) string { return "" }, Full: local.Full()}
	args = append([]string{"mcp", "--store", filepath.Join(t.TempDir(), "none.db"), "--address", "127.0.0.1:1"}, args...)
	go func() {
		ended <- run(ctx, args, c)
		_ = stdout.Close()
	}()
	return in, out, ended
}

// An editor that starts `starter mcp` reads only the protocol from it, learns of problems from its calls, and ends it by closing its
// input.
func TestMCP(t *testing.T) {
	t.Parallel()
	var said screen
	in, out, code := serve(t.Context(), t, &said, "--config", "../../../examples/plan-execute-critique/inquest.yaml")
	var lines screen
	editor := mcp.NewClient(&mcp.Implementation{Name: "editor", Version: "1"}, nil)
	session, err := editor.Connect(t.Context(), &mcp.IOTransport{Reader: io.NopCloser(io.TeeReader(out, &lines)), Writer: in}, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, &said.text)
	}
	tools, err := session.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 12 {
		t.Errorf("%+v, %v", tools, err)
	}
	for name, want := range map[string]string{"list_chains": "chains", "list_investigations": "Temporal is not responding",
		"decide_call": "unknown tool"} {
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: map[string]any{}})
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = result.Content[0].(*mcp.TextContent).Text
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s", name, got)
		}
	}
	_ = in.Close()
	if got := <-code; got != 0 {
		t.Errorf("exit code %d\n%s", got, &said.text)
	}
	for s := bufio.NewScanner(&lines.text); s.Scan(); {
		if !json.Valid(s.Bytes()) {
			t.Errorf("it prints %s", s.Text())
		}
	}
}

func TestMCPEnds(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	_, _, code := serve(ctx, t, io.Discard)
	interrupt()
	if got := <-code; got != command.ExitInterrupted {
		t.Errorf("after Ctrl-C: exit code %d", got)
	}
	_, _, code = serve(t.Context(), t, io.Discard, "--decide", "maybe")
	if got := <-code; got != command.ExitUsage {
		t.Errorf("with a wrong flag: exit code %d", got)
	}
}

// An invalid line is answered with a JSON-RPC error, and the session goes on.
func TestMCPGoesOnAfterABadLine(t *testing.T) {
	t.Parallel()
	in, out, code := serve(t.Context(), t, io.Discard)
	answers := bufio.NewScanner(out)
	ask := func(line string) (said string) {
		t.Helper()
		if _, err := io.WriteString(in, line+"\n"); err != nil || !answers.Scan() {
			t.Fatalf("%.100s: no answer: %v, %v", line, err, answers.Err())
		}
		var answer struct {
			ID    any
			Error struct{ Code int }
		}
		if err := json.Unmarshal(answers.Bytes(), &answer); err != nil {
			t.Fatalf("%s: %v", answers.Text(), err)
		}
		return fmt.Sprint(answer.ID, " ", answer.Error.Code)
	}
	const ping = `{"jsonrpc":"2.0","id":9,"method":"ping"}`
	for _, tt := range []struct{ line, want string }{
		{"\uFEFF" + `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
			`"clientInfo":{"name":"e","version":"1"}}}`, "1 0"},
		{"not json", "<nil> -32700"},
		{`{"jsonrpc":"2.0","id":3,"method":`, "<nil> -32700"},
		{ping + ping, "<nil> -32700"},
		{"\xff\x00", "<nil> -32700"},
		{`"` + strings.Repeat("x", mcp.DefaultMaxLineLength) + `"`, "<nil> -32700"},
		{"17", "<nil> -32600"},
		{"[]", "<nil> -32600"},
		{`{"id":4}`, "4 -32600"},
		{`{"jsonrpc":"1.0","id":"five","method":"ping"}`, "five -32600"},
		{" \r\n\n\t" + ping + "\r", "9 0"},
		{"[" + ping + "]", "9 0"},
		{ping, "9 0"},
	} {
		if got := ask(tt.line); got != tt.want {
			t.Errorf("%.100s: answered %s, want %s", tt.line, got, tt.want)
		}
	}
	_ = in.Close()
	if got := <-code; got != 0 {
		t.Errorf("exit code %d", got)
	}
}
