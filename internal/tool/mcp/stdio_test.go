package mcp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/mcp"
	"github.com/inquest-dev/inquest/internal/tool/tooltest"
)

func TestMain(m *testing.M) { tooltest.Main(m) }

// newPool returns a pool with one server, "s". change may modify its transport and the options.
func newPool(t *testing.T, mode tooltest.Mode, change func(*mcp.Options, *mcp.Transport)) *mcp.Pool {
	t.Helper()
	command, env := tooltest.Program(t, mode)
	return poolOf(t, mcp.Options{}, mcp.Transport{Command: command, Env: env}, change)
}

func poolOf(t *testing.T, opts mcp.Options, transport mcp.Transport, change func(*mcp.Options, *mcp.Transport)) *mcp.Pool {
	t.Helper()
	if change != nil {
		change(&opts, &transport)
	}
	opts.Transport = func(server string) (mcp.Transport, error) {
		if server != "s" {
			return mcp.Transport{}, fmt.Errorf("no server %s", server)
		}
		return transport, nil
	}
	pool := mcp.New(opts)
	t.Cleanup(pool.Close)
	return pool
}

func TestServerSeesNoSecretOfTheWorker(t *testing.T) {
	t.Setenv("INQUEST_TEST_KEY", "sesame")
	pool := newPool(t, tooltest.Tools, func(_ *mcp.Options, tr *mcp.Transport) { tr.Env["TOKEN"], tr.Env["HOME"] = "its own", "/its/home" })
	env := "\n" + call(t, pool, "s.env", `{}`).Content + "\n"
	for _, want := range []string{"\nTOKEN=its own\n", "\nHOME=/its/home\n", "\nPATH=" + os.Getenv("PATH") + "\n"} {
		if !strings.Contains(env, want) {
			t.Errorf("no %q in %s", want, env)
		}
	}
	if strings.Contains(env, "sesame") {
		t.Errorf("the server sees the worker's key: %s", env)
	}
}

func TestCallAgainAfterACrash(t *testing.T) {
	t.Parallel()
	pool := newPool(t, tooltest.Tools, nil)
	file := filepath.Join(t.TempDir(), "effects")
	before := call(t, pool, "s.client", `{}`)
	got := call(t, pool, "s.crash", fmt.Sprintf(`{"file":%q}`, file))
	want := tool.Failure(tool.ErrorUnavailable,
		"The session with MCP server s ended during the call (exit status 3); last output: out of memory")
	want.Away = "its session has ended"
	want.Sent = true
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if lines, err := os.ReadFile(file); err != nil || string(lines) != "e/1/2\n" {
		t.Errorf("the call that was interrupted was made again: %q, %v", lines, err)
	}
	after := call(t, pool, "s.client", `{}`)
	if after.Status != tool.StatusSuccess || after.Content == before.Content {
		t.Errorf("no new process: %q after %q", after.Content, before.Content)
	}
}

// waitDead waits until a process is gone and has been collected.
func waitDead(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); syscall.Kill(pid, 0) == nil; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("process %d lives on", pid)
		}
	}
}

// TestFrozenServer checks a server that stops reading in the middle of a long request.
func TestFrozenServer(t *testing.T) {
	t.Parallel()
	pool := newPool(t, tooltest.Tools, nil)
	call(t, pool, "s.echo", `{"text":"started"}`)
	long := fmt.Appendf(nil, `{"text":%q}`, strings.Repeat("x", 1<<20))
	for _, name := range []string{"s.freeze", "s.echo", "s.echo"} {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if result, err := pool.Call(ctx, tool.Call{Name: name, Arguments: long}); err != nil || result.ErrorType != tool.ErrorTimeout {
			t.Errorf("%s: %.200v, %v", name, result, err)
		}
	}
	closesSoon(t, pool)
}

func TestServersThatDoNotStart(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		mode   tooltest.Mode
		change func(*mcp.Options, *mcp.Transport)
		want   string
	}{
		"exits": {tooltest.Dead, func(_ *mcp.Options, tr *mcp.Transport) { tr.Env[tooltest.EnvSecret] = "sesame" },
			"(exit status 7); last output: cannot log in with [redacted]"},
		"no program": {tooltest.Tools, func(_ *mcp.Options, tr *mcp.Transport) { tr.Command = "/nowhere/server" },
			"start MCP server s: fork/exec /nowhere/server: no such file or directory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := newPool(t, tc.mode, tc.change)
			got := call(t, pool, "s.echo", `{}`)
			if got.ErrorType != tool.ErrorUnavailable || !strings.Contains(got.Content, tc.want) || strings.Contains(got.Content, "sesame") {
				t.Errorf("got %+v", got)
			}
			if _, err := pool.List(t.Context(), plan.Server{Name: "s"}, ""); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("list: %v", err)
			}
		})
	}
}

func TestCloseEndsTheProcessGroup(t *testing.T) {
	t.Parallel()
	for _, mode := range []tooltest.Mode{tooltest.Tools, tooltest.Stubborn} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			pool := newPool(t, mode, nil)
			var server, child int
			fmt.Sscanf(call(t, pool, "s.client", `{}`).Content, "pid=%d", &server)
			fmt.Sscan(call(t, pool, "s.spawn", `{}`).Content, &child)
			if syscall.Kill(server, 0) != nil || syscall.Kill(child, 0) != nil {
				t.Fatalf("server %d or child %d does not run", server, child)
			}
			closesSoon(t, pool)
			waitDead(t, server)
			waitEnded(t, child)
		})
	}
}

// waitEnded waits for the end of a process that is not a child of this one.
func waitEnded(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; runtime.Gosched() {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d lives on", pid)
		}
	}
}

func TestNoiseOnStandardOutput(t *testing.T) {
	t.Parallel()
	if got := call(t, newPool(t, tooltest.Noisy, nil), "s.echo", `{"text":"x"}`); got.Content != "x" {
		t.Errorf("got %+v", got)
	}
}

func TestByteOrderMarkOnStandardOutput(t *testing.T) {
	t.Parallel()
	if got := call(t, newPool(t, tooltest.Marked, nil), "s.echo", `{"text":"x"}`); got.Content != "x" {
		t.Errorf("got %+v", got)
	}
}

func TestFloodOnStandardError(t *testing.T) {
	t.Parallel()
	pool := newPool(t, tooltest.Tools, func(o *mcp.Options, _ *mcp.Transport) { o.StderrLimit = 100 })
	if got := call(t, pool, "s.flood_stderr", `{"bytes":20000000}`); got.Content != "flooded" {
		t.Errorf("got %+v", got)
	}
	if got := call(t, pool, "s.crash", `{}`); len(got.Content) > 250 || !strings.HasSuffix(got.Content, "noise noise \nout of memory") {
		t.Errorf("got %q", got.Content)
	}
}

func TestStandardErrorIsLoggedWithoutSecrets(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var log bytes.Buffer
	pool := newPool(t, tooltest.Dead, func(o *mcp.Options, tr *mcp.Transport) {
		tr.Env[tooltest.EnvSecret] = "sesame"
		o.Logger = slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			return log.Write(p)
		}), &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	call(t, pool, "s.echo", `{}`)
	pool.Close()
	if text := log.String(); !strings.Contains(text, "cannot log in with [redacted]") || strings.Contains(text, "sesame") {
		t.Errorf("log: %s", text)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

var _ io.Writer = writerFunc(nil)

// TestLargeResult checks that a large result needs only a limited number of copies in memory.
func TestLargeResult(t *testing.T) {
	pool := newPool(t, tooltest.Tools, nil)
	for _, size := range []int{10_000_000, 50_000_000} {
		if testing.Short() && size > 10_000_000 {
			break // half a minute with the race detector
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := call(t, pool, "s.big", fmt.Sprintf(`{"bytes":%d}`, size))
		runtime.ReadMemStats(&after)
		copies := float64(after.TotalAlloc-before.TotalAlloc) / float64(size)
		t.Logf("%d bytes: %.1f copies allocated, heap %d MB", size, copies, after.HeapSys>>20)
		if len(got.Content) != size || copies > 16 {
			t.Errorf("%d bytes of %d, %.1f copies", len(got.Content), size, copies)
		}
	}
}

// TestServerThatStarts checks what a caller learns who does not wait until a server has listed its tools: since when it has been
// starting, and the last line of its output, without its secrets.
func TestServerThatStarts(t *testing.T) {
	t.Parallel()
	gate := filepath.Join(t.TempDir(), "gate")
	before := time.Now()
	pool := newPool(t, tooltest.Tools, func(_ *mcp.Options, tr *mcp.Transport) {
		script := "echo fetch a >&2; echo fetch $TOKEN >&2; until [ -e " + gate + " ]; do sleep 0.05; done; exec " + tr.Command
		tr.Command, tr.Args, tr.Env["TOKEN"] = "sh", []string{"-c", script}, "sesame-sesame"
	})
	var failed *tool.ServerError
	for failed == nil || failed.Output == "" { // until the shell has written its lines
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		_, err := pool.List(ctx, plan.Server{Name: "s"}, "")
		cancel()
		if !errors.As(err, &failed) || failed.Pending <= 0 || failed.Pending > time.Since(before) || failed.Running || failed.NotStarted {
			t.Fatalf("got %v", err)
		}
	}
	if !strings.HasPrefix(failed.Output, "fetch ") || strings.Contains(failed.Output, "sesame") {
		t.Errorf("output %q", failed.Output)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if specs, err := pool.List(t.Context(), plan.Server{Name: "s"}, ""); err != nil || len(specs) == 0 {
		t.Errorf("got %d tools, %v", len(specs), err)
	}
}

// TestServerThatCannotStart checks that the operating system's reason comes at once.
func TestServerThatCannotStart(t *testing.T) {
	t.Parallel()
	pool := newPool(t, tooltest.Tools, func(_ *mcp.Options, tr *mcp.Transport) { tr.Command = "/nonexistent/mcp" })
	_, err := pool.List(t.Context(), plan.Server{Name: "s"}, "")
	failed, ok := errors.AsType[*tool.ServerError](err)
	const reason = "/nonexistent/mcp: no such file or directory"
	if !ok || !failed.NotStarted || failed.Pending > 0 || !strings.Contains(err.Error(), reason) {
		t.Errorf("got %+v", err)
	}
}
