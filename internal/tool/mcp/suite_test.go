package mcp_test

import (
	stdcmp "cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/mcp"
	"github.com/inquest-dev/inquest/internal/tool/tooltest"
	"github.com/inquest-dev/inquest/value"
)

// site is a pool with one server, "s".
type site struct {
	*mcp.Pool
	// restart ends every session of the server, and everything in progress.
	restart func(*testing.T)
}

// kinds are the ways to reach a server.
var kinds = map[string]func(*testing.T, tooltest.Mode, func(*mcp.Options, *mcp.Transport)) *site{
	"stdio": func(t *testing.T, mode tooltest.Mode, change func(*mcp.Options, *mcp.Transport)) *site {
		s := &site{Pool: newPool(t, mode, change)}
		s.restart = func(t *testing.T) { kill(t, s.Pool) }
		return s
	},
	"http":           web(tooltest.WebOptions{}),
	"http with JSON": web(tooltest.WebOptions{JSON: true}),
	"sse":            web(tooltest.WebOptions{SSE: true}),
}

func web(opts tooltest.WebOptions) func(*testing.T, tooltest.Mode, func(*mcp.Options, *mcp.Transport)) *site {
	return func(t *testing.T, mode tooltest.Mode, change func(*mcp.Options, *mcp.Transport)) *site {
		opts := opts
		opts.Mode = mode
		server := tooltest.ServeWeb(t, opts)
		return &site{Pool: webPool(t, server, opts, change), restart: func(*testing.T) { server.Restart() }}
	}
}

// behaviour applies to all of them.
var behaviour = map[string]struct {
	mode   tooltest.Mode
	change func(*mcp.Options, *mcp.Transport)
	check  func(*testing.T, *site)
}{
	"results":                       {check: results},
	"server refuses arguments":      {check: refusesArguments},
	"key and no roots":              {check: keyAndNoRoots},
	"concurrent calls share":        {check: concurrentCallsShare},
	"after a restart":               {check: afterARestart},
	"interrupted call is made once": {check: interruptedCall},
	"timeout and cancellation":      {check: timeoutAndCancellation},
	"timeout of the server": {change: func(_ *mcp.Options, tr *mcp.Transport) { tr.Timeout = value.Duration(10 * time.Second) },
		check: serverTimeout},
	"never answers": {mode: tooltest.Mute,
		change: func(_ *mcp.Options, tr *mcp.Transport) { tr.Timeout = value.Duration(200 * time.Millisecond) }, check: neverAnswers},
	"start outlives first caller":  {mode: tooltest.Mute, check: startOutlivesItsFirstCaller},
	"close ends calls":             {check: closeEndsCalls},
	"large result":                 {check: largeResult},
	"result past the limit":        {change: func(o *mcp.Options, _ *mcp.Transport) { o.MessageLimit = 100_000 }, check: resultPastTheLimit},
	"list":                         {check: list},
	"list after the tools changed": {check: listAfterAChange},
	"list of many pages":           {mode: tooltest.Pages, check: listOfManyPages},
	"list that goes round":         {mode: tooltest.Loop, check: listOfPagesThatRepeat},
	"list without an end":          {mode: tooltest.Endless, check: listFails("more than 1000 tools or 100 pages")},
}

func TestBehaviour(t *testing.T) {
	t.Parallel()
	for kind, open := range kinds {
		for name, tc := range behaviour {
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel()
				tc.check(t, open(t, stdcmp.Or(tc.mode, tooltest.Tools), tc.change))
			})
		}
	}
}

// call calls a tool with the idempotency key e/1/2, which may be repeated.
func call(t *testing.T, pool tool.Caller, name, args string) tool.Result {
	t.Helper()
	return callOf(t, pool, tool.Safe, name, args)
}

// callOf calls a tool of a class.
func callOf(t *testing.T, pool tool.Caller, class tool.Idempotency, name, args string) tool.Result {
	t.Helper()
	result, err := pool.Call(t.Context(), tool.Call{Name: name, Arguments: json.RawMessage(args), Key: "e/1/2", Class: class})
	if err != nil {
		t.Fatalf("call %s: %v", name, err)
	}
	result.Sends = 0 // has tests of its own
	return result
}

func results(t *testing.T, s *site) {
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
		"silent error": {"s.fail", `{"text":""}`, tool.Failure(tool.ErrorTool, "The tool failed without giving a reason.")},
		"unknown tool": {"s.nothing", `{}`, tool.Result{
			Status: tool.StatusError, Content: `unknown tool "nothing"`, ErrorType: tool.ErrorUnknownTool, Sent: true,
		}},
		"no server":    {"echo", `{}`, tool.Failure(tool.ErrorUnknownTool, `Unknown tool "echo": the name does not include a server.`)},
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
				{MIMEType: "text/plain", Name: "file:///a.txt", Data: []byte("contents")},
				{MIMEType: "application/x-b", Name: "file:///b.bin", Data: []byte{1, 2, 3}},
				jsonArtifact("file:///c", link),
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
		if diff := cmp.Diff(tc.want, call(t, s, tc.tool, tc.args)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func refusesArguments(t *testing.T, s *site) {
	got := call(t, s, "s.add", `{"a":"two","b":3}`)
	if got.Status != tool.StatusError || !strings.Contains(got.Content, "integer") {
		t.Errorf("got %+v", got)
	}
}

func keyAndNoRoots(t *testing.T, s *site) {
	if got := call(t, s, "s.client", `{}`); !strings.HasSuffix(got.Content, " roots=false key=e/1/2") {
		t.Errorf("got %q", got.Content)
	}
}

func concurrentCallsShare(t *testing.T, s *site) {
	gate := tooltest.NewGate(t)
	const n = 20
	results := make(chan string, n)
	for range n {
		go func() {
			result, err := s.Call(t.Context(), tool.Call{Name: "s.counter", Arguments: fmt.Appendf(nil, `{"gate":%q}`, gate.Path)})
			results <- fmt.Sprint(result.Content, err)
		}()
	}
	var release []func()
	for range n { // all of them run at once
		release = append(release, gate.Wait(t))
	}
	first := call(t, s, "s.client", `{}`)
	for _, free := range release {
		free()
	}
	for range n {
		if got := <-results; got != "0<nil>" {
			t.Errorf("got %s", got)
		}
	}
	if diff := cmp.Diff(first, call(t, s, "s.client", `{}`)); diff != "" {
		t.Error(diff)
	}
}

func afterARestart(t *testing.T, s *site) {
	for range 2 { // first a session that was never used since
		for name, request := range map[string]func() error{
			"list": func() error { _, err := s.List(t.Context(), plan.Server{Name: "s"}, ""); return err },
			"call": func() error {
				if got := call(t, s, "s.echo", `{"text":"x"}`); got.Content != "x" {
					return errors.New(got.Content)
				}
				return nil
			},
		} {
			call(t, s, "s.echo", `{"text":"there is a session"}`)
			s.restart(t)
			if err := request(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func interruptedCall(t *testing.T, s *site) {
	gate, file := tooltest.NewGate(t), filepath.Join(t.TempDir(), "effects")
	done := make(chan tool.Result)
	go func() { done <- call(t, s, "s.counter", fmt.Sprintf(`{"file":%q,"gate":%q}`, file, gate.Path)) }()
	gate.Wait(t)
	s.restart(t)
	if got := <-done; got.ErrorType != tool.ErrorUnavailable {
		t.Errorf("got %+v", got)
	}
	if lines, err := os.ReadFile(file); err != nil || string(lines) != "e/1/2\n" {
		t.Errorf("the call that was interrupted was made again: %q, %v", lines, err)
	}
	if got := call(t, s, "s.echo", `{"text":"x"}`); got.Content != "x" {
		t.Errorf("after it: %+v", got)
	}
}

func timeoutAndCancellation(t *testing.T, s *site) {
	gate := tooltest.NewGate(t)
	hang := tool.Call{Name: "s.hang", Arguments: fmt.Appendf(nil, `{"gate":%q}`, gate.Path)}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { gate.Wait(t)(); cancel() }()
	if result, err := s.Call(ctx, hang); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %+v, %v", result, err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if result, err := s.Call(ctx, hang); err != nil || result.ErrorType != tool.ErrorTimeout {
		t.Errorf("deadline: %+v, %v", result, err)
	}
	if got := call(t, s, "s.echo", `{"text":"x"}`); got.Content != "x" {
		t.Errorf("the session did not survive: %+v", got)
	}
}

func serverTimeout(t *testing.T, s *site) {
	if got := call(t, s, "s.hang", `{}`); got.ErrorType != tool.ErrorTimeout {
		t.Errorf("got %+v", got)
	}
}

func neverAnswers(t *testing.T, s *site) {
	const want = "start MCP server s: no response to initialize within 200ms"
	if got := call(t, s, "s.echo", `{}`); got.ErrorType != tool.ErrorUnavailable || !strings.HasPrefix(got.Content, want) {
		t.Errorf("got %+v", got)
	}
	if _, err := s.List(t.Context(), plan.Server{Name: "s"}, ""); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("list: %v", err)
	}
}

// startOutlivesItsFirstCaller checks that a caller that gives up does not cancel the start for the others.
func startOutlivesItsFirstCaller(t *testing.T, s *site) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if result, err := s.Call(ctx, tool.Call{Name: "s.echo"}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %+v, %v", result, err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if result, err := s.Call(ctx, tool.Call{Name: "s.echo"}); err != nil || result.ErrorType != tool.ErrorTimeout {
		t.Errorf("deadline: %+v, %v", result, err)
	}
	closesSoon(t, s.Pool) // also while a server starts
}

func closesSoon(t *testing.T, pool *mcp.Pool) {
	t.Helper()
	begin := time.Now()
	pool.Close()
	if took := time.Since(begin); took > 9*time.Second {
		t.Errorf("Close took %v", took)
	}
}

func closeEndsCalls(t *testing.T, s *site) {
	gate := tooltest.NewGate(t)
	done := make(chan tool.Result)
	go func() { done <- call(t, s, "s.counter", fmt.Sprintf(`{"gate":%q}`, gate.Path)) }()
	gate.Wait(t)
	closesSoon(t, s.Pool)
	if got := <-done; got.ErrorType != tool.ErrorUnavailable {
		t.Errorf("got %+v", got)
	}
	if got := call(t, s, "s.echo", `{}`); got.ErrorType != tool.ErrorUnavailable {
		t.Errorf("after Close: %+v", got)
	}
}

func largeResult(t *testing.T, s *site) {
	if got := call(t, s, "s.big", `{"bytes":10000000}`); len(got.Content) != 10_000_000 {
		t.Errorf("got %.200v", got)
	}
}

func resultPastTheLimit(t *testing.T, s *site) {
	if got := call(t, s, "s.big", `{"bytes":100000}`); got.ErrorType != tool.ErrorTool || !strings.Contains(got.Content, "too large") {
		t.Errorf("got %.200v", got)
	}
	for range 20 { // the limit applies to a message, not to a session
		if got := call(t, s, "s.big", `{"bytes":10000}`); len(got.Content) != 10000 {
			t.Fatalf("after it: %.200v", got)
		}
	}
}

func list(t *testing.T, s *site) {
	specs, err := s.List(t.Context(), plan.Server{Name: "s", TrustAnnotations: true, Risk: map[string]agent.Risk{"fail": "critical"}}, "")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]tool.Spec{}
	for _, spec := range specs {
		got[spec.Name] = spec
	}
	class := map[string]tool.Idempotency{"s.echo": tool.Safe, "s.counter": tool.NonIdempotent, "s.set": tool.Idempotent,
		"s.delete": tool.NonIdempotent, "s.fail": tool.NonIdempotent}
	for name, want := range class {
		if got[name].Class() != want {
			t.Errorf("%s is %s (%s), want %s", name, got[name].Class(), got[name].Risk, want)
		}
	}
	want := tool.Spec{Name: "s.add", Description: "The tool add", Risk: agent.RiskReadOnly, RiskFrom: tool.SourceAnnotation,
		Schema: json.RawMessage(
			`{"additionalProperties":false,"properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"],"type":"object"}`)}
	if diff := cmp.Diff(want, got["s.add"]); diff != "" {
		t.Error(diff)
	}
}

func listAfterAChange(t *testing.T, s *site) {
	for _, want := range []bool{false, true} {
		specs, err := s.List(t.Context(), plan.Server{Name: "s"}, "")
		found := false
		for _, spec := range specs {
			found = found || spec.Name == "s.new"
		}
		if err != nil || found != want {
			t.Errorf("the new tool is listed: %t, want %t (%v)", found, want, err)
		}
		call(t, s, "s.grow", `{"text":"new"}`)
	}
}

func listOfManyPages(t *testing.T, s *site) {
	specs, err := s.List(t.Context(), plan.Server{Name: "s"}, "")
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

func listOfPagesThatRepeat(t *testing.T, s *site) {
	specs, err := s.List(t.Context(), plan.Server{Name: "s"}, "")
	failed, ok := errors.AsType[*tool.ServerError](err)
	if !ok || !failed.Partial || failed.Why != "the pages of its list of tools repeat" || len(specs) != 40 {
		t.Errorf("%d tools, %v", len(specs), err)
	}
}

func listFails(want string) func(*testing.T, *site) {
	return func(t *testing.T, s *site) {
		if specs, err := s.List(t.Context(), plan.Server{Name: "s"}, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d tools, %v", len(specs), err)
		}
	}
}

// kill kills the server's process.
func kill(t *testing.T, pool *mcp.Pool) {
	t.Helper()
	var pid int
	if _, err := fmt.Sscanf(call(t, pool, "s.client", `{}`).Content, "pid=%d", &pid); err != nil {
		t.Fatal(err)
	}
	syscall.Kill(pid, syscall.SIGKILL)
	waitDead(t, pid)
}
