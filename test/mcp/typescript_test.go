package mcp

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/mcp"
)

// overTypeScript runs a test with a server on the official TypeScript SDK, over both transports of the current protocol.
// The server appends its effects to a file.
func overTypeScript(t *testing.T, env map[string]string, test func(t *testing.T, pool *mcp.Pool, effects string)) {
	t.Helper()
	server, err := filepath.Abs("testdata/typescript.mjs")
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"stdio", "streamableHttp"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			effects := filepath.Join(t.TempDir(), "effects")
			full := map[string]string{"SDK": filepath.Join(modules, "sdk", "dist", "esm"), "EFFECTS": effects}
			for name, value := range env {
				full[name] = value
			}
			if mode == "stdio" {
				test(t, newPool(t, mcp.Transport{Type: mcp.Stdio, Command: "node", Args: []string{server}, Env: full}), effects)
				return
			}
			port := freePort(t)
			list := []string{"PORT=" + port}
			for name, value := range full {
				list = append(list, name+"="+value)
			}
			startServer(t, list, port, server)
			test(t, newPool(t, overHTTP(mode, port)), effects)
		})
	}
}

func names(t *testing.T, pool *mcp.Pool) (names []string) {
	t.Helper()
	specs, err := pool.List(t.Context(), plan.Server{Name: "s"}, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range specs {
		names = append(names, spec.Name)
	}
	return names
}

// Every page of a list arrives, in order, with the server's cursors unchanged.
func TestTypeScriptPages(t *testing.T) {
	t.Parallel()
	overTypeScript(t, map[string]string{"PAGED": "1"}, func(t *testing.T, pool *mcp.Pool, _ string) {
		for range 2 {
			if got := names(t, pool); len(got) != 45 || got[0] != "s.tool_0" || got[10] != "s.tool_10" || got[44] != "s.tool_44" {
				t.Errorf("%d tools: %v", len(got), got)
			}
		}
	})
}

// A tool that the server adds during the session, with list_changed, is in the next list and can be called. One that it
// removes is gone from the next list. The session is the same: the server keeps its added tools in the session.
func TestTypeScriptListChanged(t *testing.T) {
	t.Parallel()
	overTypeScript(t, nil, func(t *testing.T, pool *mcp.Pool, _ string) {
		if got := names(t, pool); slices.Contains(got, "s.grown") || len(got) != 3 {
			t.Errorf("at first: %v", got)
		}
		call(t, pool, "grow", args{})
		if got := names(t, pool); !slices.Contains(got, "s.grown") {
			t.Errorf("after it grew: %v", got)
		}
		if got := call(t, pool, "grown", args{}); got.Content != "I am new" {
			t.Errorf("the new tool: %+v", got)
		}
		call(t, pool, "shrink", args{})
		if got := names(t, pool); slices.Contains(got, "s.grown") || len(got) != 3 {
			t.Errorf("after it shrank: %v", got)
		}
		if got := call(t, pool, "grown", args{}); got.ErrorType != tool.ErrorUnknownTool {
			t.Errorf("the removed tool: %+v", got)
		}
	})
}

// A cancelled call ends at once, and its handler in the server learns of the cancellation. The session stays usable.
func TestTypeScriptCancellation(t *testing.T) {
	t.Parallel()
	overTypeScript(t, nil, func(t *testing.T, pool *mcp.Pool, effects string) {
		ctx, cancel := context.WithCancel(t.Context())
		said, ended := make(chan string, 9), make(chan error, 1)
		go func() {
			_, err := pool.Call(ctx, tool.Call{Name: "s.wait", Arguments: []byte("{}"), Key: "k", Progress: func(text string) { said <- text }})
			ended <- err
		}()
		if got := <-said; got != "0.5 of 2: half of the first" {
			t.Errorf("progress: %s", got)
		}
		if text, err := os.ReadFile(effects); err == nil {
			t.Errorf("before the cancellation: %s", text)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the cancelled call: %v", err)
		}
		var text []byte
		for deadline := time.Now().Add(time.Minute); len(text) == 0 && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			text, _ = os.ReadFile(effects) // absent until then
		}
		if !strings.HasPrefix(string(text), "cancelled: ") || strings.Count(string(text), "\n") != 1 {
			t.Errorf("the server's handler: %q", text)
		}
		if got := call(t, pool, "grow", args{}); got.Content != "grown" {
			t.Errorf("the next call: %+v", got)
		}
	})
}
