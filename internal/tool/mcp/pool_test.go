package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
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

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/mcp"
	"github.com/inquest-dev/inquest/internal/tool/tooltest"
)

func TestMain(m *testing.M) { tooltest.Main(m) }

// newPool has one server, "s". change may alter how it is started, and the options.
func newPool(t *testing.T, mode tooltest.Mode, change func(*mcp.Options, *mcp.Transport)) *mcp.Pool {
	t.Helper()
	command, env := tooltest.Program(t, mode)
	transport := mcp.Transport{Command: command, Env: env}
	opts := mcp.Options{}
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

func call(t *testing.T, pool *mcp.Pool, name, args string) tool.Result {
	t.Helper()
	result, err := pool.Call(t.Context(), tool.Call{Name: name, Arguments: json.RawMessage(args), Key: "e/1/2"})
	if err != nil {
		t.Fatalf("call %s: %v", name, err)
	}
	return result
}

func TestCall(t *testing.T) {
	t.Parallel()
	pool := newPool(t, tooltest.Tools, nil)
	jsonArtifact := func(name, text string) tool.Artifact {
		return tool.Artifact{MIMEType: "application/json", Name: name, JSON: json.RawMessage(text)}
	}
	const link = `{"type":"resource_link","uri":"file:///c","name":"c","description":"see c"}`
	for name, tc := range map[string]struct {
		tool, args string
		want       tool.Result
	}{
		"text":         {"s.echo", `{"text":"hé"}`, tool.Success("hé")},
		"arguments":    {"s.add", `{"a":2,"b":3}`, tool.Success("5")},
		"empty":        {"s.empty", ``, tool.Success("The tool returned nothing.")},
		"invalid utf8": {"s.invalid_utf8", `{}`, tool.Success("a\uFFFD\uFFFDb")},
		"tool error":   {"s.fail", `{"text":"no luck"}`, tool.Failure(tool.ErrorTool, "no luck")},
		"silent error": {"s.fail", `{"text":""}`, tool.Failure(tool.ErrorTool, "The tool failed without saying why.")},
		"unknown tool": {"s.nothing", `{}`, tool.Failure(tool.ErrorUnknownTool, `unknown tool "nothing"`)},
		"no server":    {"echo", `{}`, tool.Failure(tool.ErrorUnknownTool, `Unknown tool "echo": it names no server.`)},
		"other server": {"x.echo", `{}`, tool.Failure(tool.ErrorUnavailable, "find MCP server x: no server x")},
		"image": {"s.image", `{}`, tool.Result{
			Status:    tool.StatusSuccess,
			Content:   fmt.Sprintf("before\n[image, image/png, %d bytes: kept as an artifact]\nafter", len(tooltest.PNG)),
			Artifacts: []tool.Artifact{{MIMEType: "image/png", Data: tooltest.PNG}},
		}},
		"resources": {"s.resources", `{}`, tool.Result{
			Status:  tool.StatusSuccess,
			Content: "[resource file:///a.txt]\ncontents\n[resource file:///b.bin, application/x-b, 3 bytes: kept as an artifact]\n" + link,
			Artifacts: []tool.Artifact{
				{MIMEType: "application/x-b", Name: "file:///b.bin", Data: []byte{1, 2, 3}},
				jsonArtifact("", link),
			},
		}},
		"structured": {"s.structured", `{}`, tool.Result{
			Status: tool.StatusSuccess, Content: `{"count":3}`,
			Artifacts: []tool.Artifact{jsonArtifact("structuredContent", `{"count":3}`)},
		}},
		"structured and the same as text": {"s.structured_twice", `{}`, tool.Result{
			Status: tool.StatusSuccess, Content: `{ "count": 3 }`,
			Artifacts: []tool.Artifact{jsonArtifact("structuredContent", `{ "count": 3 }`)},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, call(t, pool, tc.tool, tc.args)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestServerRefusesArguments(t *testing.T) {
	t.Parallel()
	got := call(t, newPool(t, tooltest.Tools, nil), "s.add", `{"a":"two","b":3}`)
	if got.Status != tool.StatusError || !strings.Contains(got.Content, "integer") {
		t.Errorf("got %+v", got)
	}
}

func TestServerIsToldTheKeyAndNoRoots(t *testing.T) {
	t.Parallel()
	got := call(t, newPool(t, tooltest.Tools, nil), "s.client", `{}`)
	if !strings.HasSuffix(got.Content, " roots=false key=e/1/2") {
		t.Errorf("got %q", got.Content)
	}
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

func TestConcurrentCallsShareOneProcess(t *testing.T) {
	t.Parallel()
	pool := newPool(t, tooltest.Tools, nil)
	gate := tooltest.NewGate(t)
	const n = 20
	results := make(chan string, n)
	for range n {
		go func() {
			result, err := pool.Call(t.Context(), tool.Call{Name: "s.counter", Arguments: fmt.Appendf(nil, `{"gate":%q}`, gate.Path)})
			results <- fmt.Sprint(result.Content, err)
		}()
	}
	var release []func()
	for range n { // all of them are under way at once
		release = append(release, gate.Wait(t))
	}
	first := call(t, pool, "s.client", `{}`)
	for _, free := range release {
		free()
	}
	for range n {
		if got := <-results; got != "0<nil>" {
			t.Errorf("got %s", got)
		}
	}
	if diff := cmp.Diff(first, call(t, pool, "s.client", `{}`)); diff != "" {
		t.Error(diff)
	}
}

func TestCallAgainAfterACrash(t *testing.T) {
	t.Parallel()
	pool := newPool(t, tooltest.Tools, nil)
	file := filepath.Join(t.TempDir(), "effects")
	before := call(t, pool, "s.client", `{}`)
	got := call(t, pool, "s.crash", fmt.Sprintf(`{"file":%q}`, file))
	want := tool.Failure(tool.ErrorUnavailable, "MCP server s ended during the call (exit status 3); its last words: out of memory")
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

func TestListAndCallAfterTheServerWasKilled(t *testing.T) {
	t.Parallel()
	pool := newPool(t, tooltest.Tools, nil)
	for name, again := range map[string]func() error{
		"list": func() error { _, err := pool.List(t.Context(), agent.Server{Name: "s"}); return err },
		"call": func() error {
			if got := call(t, pool, "s.echo", `{"text":"x"}`); got.Content != "x" {
				return errors.New(got.Content)
			}
			return nil
		},
	} {
		var pid int
		if _, err := fmt.Sscanf(call(t, pool, "s.client", `{}`).Content, "pid=%d", &pid); err != nil {
			t.Fatal(err)
		}
		syscall.Kill(pid, syscall.SIGKILL)
		waitDead(t, pid)
		if err := again(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// waitDead waits until a process is gone, and so has been collected.
func waitDead(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); syscall.Kill(pid, 0) == nil; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("process %d lives on", pid)
		}
	}
}

func TestTimeoutAndCancellation(t *testing.T) {
	t.Parallel()
	gate := tooltest.NewGate(t)
	hang := tool.Call{Name: "s.hang", Arguments: fmt.Appendf(nil, `{"gate":%q}`, gate.Path)}
	pool := newPool(t, tooltest.Tools, nil)

	ctx, cancel := context.WithCancel(t.Context())
	go func() { gate.Wait(t)(); cancel() }()
	if result, err := pool.Call(ctx, hang); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %+v, %v", result, err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if result, err := pool.Call(ctx, hang); err != nil || result.ErrorType != tool.ErrorTimeout {
		t.Errorf("deadline: %+v, %v", result, err)
	}
	if got := call(t, pool, "s.echo", `{"text":"x"}`); got.Content != "x" {
		t.Errorf("the session did not survive: %+v", got)
	}

	pool = newPool(t, tooltest.Tools, func(_ *mcp.Options, tr *mcp.Transport) { tr.Timeout = 2 * time.Second })
	if got := call(t, pool, "s.hang", `{}`); got.ErrorType != tool.ErrorTimeout {
		t.Errorf("the server's own timeout: %+v", got)
	}
}

// A server that reads nothing holds up a long request in the middle of writing it.
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
			"(exit status 7); its last words: cannot log in with [redacted]"},
		"never answers": {tooltest.Mute, func(_ *mcp.Options, tr *mcp.Transport) { tr.Timeout = 200 * time.Millisecond },
			"no answer to initialize within 200ms"},
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
			if _, err := pool.List(t.Context(), agent.Server{Name: "s"}); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("list: %v", err)
			}
		})
	}
}

// A caller that gives up does not take the start away from the others.
func TestStartOutlivesItsFirstCaller(t *testing.T) {
	t.Parallel()
	pool := newPool(t, tooltest.Mute, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if result, err := pool.Call(ctx, tool.Call{Name: "s.echo"}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %+v, %v", result, err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if result, err := pool.Call(ctx, tool.Call{Name: "s.echo"}); err != nil || result.ErrorType != tool.ErrorTimeout {
		t.Errorf("deadline: %+v, %v", result, err)
	}
	closesSoon(t, pool) // also while a server starts
}

func closesSoon(t *testing.T, pool *mcp.Pool) {
	t.Helper()
	begin := time.Now()
	pool.Close()
	if took := time.Since(begin); took > 4*time.Second {
		t.Errorf("Close took %v", took)
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
			if got := call(t, pool, "s.echo", `{}`); got.ErrorType != tool.ErrorUnavailable {
				t.Errorf("after Close: %+v", got)
			}
		})
	}
}

// waitEnded waits for the end of a process that is not ours to collect.
func waitEnded(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; runtime.Gosched() {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d lives on", pid)
		}
	}
}

func TestCallsUnderWayEndWithThePool(t *testing.T) {
	t.Parallel()
	pool := newPool(t, tooltest.Tools, nil)
	gate := tooltest.NewGate(t)
	done := make(chan tool.Result)
	go func() {
		done <- call(t, pool, "s.counter", fmt.Sprintf(`{"gate":%q}`, gate.Path))
	}()
	gate.Wait(t)
	closesSoon(t, pool)
	if got := <-done; got.ErrorType != tool.ErrorUnavailable {
		t.Errorf("got %+v", got)
	}
}

func TestNoiseOnStandardOutput(t *testing.T) {
	t.Parallel()
	if got := call(t, newPool(t, tooltest.Noisy, nil), "s.echo", `{"text":"x"}`); got.Content != "x" {
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

// The memory of a large result is a bounded number of copies of it.
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

func TestResultPastTheLimit(t *testing.T) {
	t.Parallel()
	pool := newPool(t, tooltest.Tools, func(o *mcp.Options, _ *mcp.Transport) { o.MessageLimit = 100_000 })
	if got := call(t, pool, "s.big", `{"bytes":100000}`); got.ErrorType != tool.ErrorTool || !strings.Contains(got.Content, "too large") {
		t.Errorf("got %.200v", got)
	}
	if got := call(t, pool, "s.big", `{"bytes":10000}`); len(got.Content) != 10000 {
		t.Errorf("after it: %.200v", got)
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	server := agent.Server{Name: "s", Risk: map[string]agent.Risk{"fail": "critical"}}
	specs, err := newPool(t, tooltest.Tools, nil).List(t.Context(), server)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]tool.Spec{}
	for _, spec := range specs {
		got[spec.Name] = spec
	}
	class := map[string]tool.Idempotency{"s.echo": tool.Safe, "s.counter": tool.NonIdempotent, "s.set": tool.Idempotent, "s.delete": tool.Idempotent, "s.fail": tool.NonIdempotent}
	for name, want := range class {
		if got[name].Class() != want {
			t.Errorf("%s is %s (%s), want %s", name, got[name].Class(), got[name].Risk, want)
		}
	}
	want := tool.Spec{Name: "s.add", Description: "The tool add", Risk: agent.RiskReadOnly, Schema: json.RawMessage(
		`{"additionalProperties":false,"properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"],"type":"object"}`)}
	if diff := cmp.Diff(want, got["s.add"]); diff != "" {
		t.Error(diff)
	}
}

func TestListOfManyPages(t *testing.T) {
	t.Parallel()
	specs, err := newPool(t, tooltest.Pages, nil).List(t.Context(), agent.Server{Name: "s"})
	names := map[string]bool{}
	for _, spec := range specs {
		names[spec.Name] = true
	}
	for i := range tooltest.PageCount {
		if name := fmt.Sprintf("s.tool%02d", i); !names[name] {
			t.Errorf("no %s", name)
		}
	}
	if err != nil || len(names) != len(specs) {
		t.Errorf("%d names of %d tools, %v", len(names), len(specs), err)
	}
}

func TestListIsBounded(t *testing.T) {
	t.Parallel()
	for mode, want := range map[tooltest.Mode]string{
		tooltest.Loop:    "its pages go round in a circle",
		tooltest.Endless: "more than 1000 tools or 100 pages",
	} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			specs, err := newPool(t, mode, nil).List(t.Context(), agent.Server{Name: "s"})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%d tools, %v", len(specs), err)
			}
		})
	}
}
