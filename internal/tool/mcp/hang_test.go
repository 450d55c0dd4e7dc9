package mcp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/mcp"
	"github.com/inquest-dev/inquest/internal/tool/tooltest"
)

// impatient gives a server little time to answer pings.
func impatient(o *mcp.Options, _ *mcp.Transport) { o.PingTimeout = 500 * time.Millisecond }

// pidOf returns the process id of a server.
func pidOf(t *testing.T, pool tool.Caller) (pid int) {
	t.Helper()
	if _, err := fmt.Sscanf(call(t, pool, "s.client", `{}`).Content, "pid=%d", &pid); err != nil {
		t.Fatal(err)
	}
	return pid
}

// stop stops a process, and waits until it is stopped.
func stop(t *testing.T, pid int) {
	t.Helper()
	syscall.Kill(pid, syscall.SIGSTOP)
	for deadline := time.Now().Add(2 * time.Minute); ; runtime.Gosched() {
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err != nil || strings.Contains(string(stat), ") T ") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d runs on", pid)
		}
	}
}

// within makes a call that is given up after a time.
func within(t *testing.T, pool tool.Caller, call tool.Call, limit time.Duration) tool.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	got, err := pool.Call(ctx, call)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// givenUp makes a call that is given up a second after it was sent.
func givenUp(t *testing.T, pool tool.Caller, call tool.Call) tool.Result {
	t.Helper()
	passed := make(chan struct{})
	pass := sync.OnceFunc(func() { close(passed) })
	call.Fence = func(context.Context) error { // called directly before the call is sent
		time.AfterFunc(time.Second, pass)
		return nil
	}
	got, err := pool.Call(expired{t.Context(), passed}, call)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestHungProcessIsReplaced checks that a hung process is killed with all its calls, and that the next call goes to a
// new one.
func TestHungProcessIsReplaced(t *testing.T) {
	t.Parallel()
	pool, made := newPool(t, tooltest.Tools, impatient), newEffects(t)
	pid := pidOf(t, pool)
	stop(t, pid)
	lost := made.call()
	if got := givenUp(t, pool, lost); got.ErrorType != tool.ErrorTimeout || !got.Sent {
		t.Errorf("got %+v", got)
	}
	made.said[lost.Key] = tool.Result{}
	if got := made.make(t.Context(), t, pool); got.Status != tool.StatusSuccess {
		t.Errorf("got %+v", got)
	}
	syscall.Kill(pid, syscall.SIGCONT)
	waitDead(t, pid)
	if n := made.of(t, lost.Key); n != 0 {
		t.Errorf("the call that was given up was made %d times later", n)
	}
	if now := pidOf(t, pool); now == pid {
		t.Error("it is the same process")
	}
}

// TestCallsOfAHungProcessEnd checks that calls waiting for the same process end together when it is replaced, and count
// as sent.
func TestCallsOfAHungProcessEnd(t *testing.T) {
	t.Parallel()
	pool, made := newPool(t, tooltest.Tools, impatient), newEffects(t)
	gate := tooltest.NewGate(t)
	younger := made.call()
	pid := pidOf(t, pool)
	hang := tool.Call{Name: "s.hang", Arguments: fmt.Appendf(nil, `{"gate":%q}`, gate.Path)}
	given := make(chan tool.Result)
	passed := make(chan struct{})
	go func() {
		got, err := pool.Call(expired{t.Context(), passed}, hang)
		if err != nil {
			t.Error(err)
		}
		given <- got
	}()
	gate.Wait(t)
	stop(t, pid)
	pass := sync.OnceFunc(func() { close(passed) })
	younger.Fence = func(context.Context) error { // called directly before the younger call is sent
		pass()
		return nil
	}
	got, err := pool.Call(t.Context(), younger) // has no limit of its own
	if err != nil || got.ErrorType != tool.ErrorUnavailable || !got.Sent ||
		!strings.Contains(got.Content, "responded neither to the call nor to a ping") {
		t.Errorf("got %+v, %v", got, err)
	}
	if got := <-given; got.ErrorType != tool.ErrorTimeout || !got.Sent {
		t.Errorf("got %+v", got)
	}
}

// A server that is slow and answers pings is kept.
func TestSlowProcessIsKept(t *testing.T) {
	t.Parallel()
	pool := newPool(t, tooltest.Tools, nil)
	pid := pidOf(t, pool)
	if got := within(t, pool, tool.Call{Name: "s.hang"}, 100*time.Millisecond); got.ErrorType != tool.ErrorTimeout {
		t.Errorf("got %+v", got)
	}
	if now := pidOf(t, pool); now != pid {
		t.Errorf("process %d was replaced by %d", pid, now)
	}
}

// TestProcessThatDoesOneThingAtATime checks a server that cannot answer pings during a call. It is not killed while
// that call has time left, and other calls do not wait for it but are not sent. Its late answers are reported.
func TestProcessThatDoesOneThingAtATime(t *testing.T) {
	t.Parallel()
	pool, made := newPool(t, tooltest.Serial, impatient), newEffects(t)
	gate := tooltest.NewGate(t)
	long, short, late := made.call(), made.call(), make(chan tool.Result, 1)
	long.Key, short.Key = "long", "short"
	long.Arguments = fmt.Appendf(nil, `{"file":%q,"gate":%q}`, made.file, gate.Path)
	short.Late = func(got tool.Result) { late <- got }
	done := make(chan tool.Result)
	go func() {
		got, err := pool.Call(t.Context(), long)
		if err != nil {
			t.Error(err)
		}
		done <- got
	}()
	release := gate.Wait(t)
	if got := givenUp(t, pool, short); got.ErrorType != tool.ErrorTimeout || !got.Sent {
		t.Errorf("got %+v", got)
	}
	for range 2 {
		got := made.make(t.Context(), t, pool)
		if got.ErrorType != tool.ErrorUnavailable || got.Sent || !strings.Contains(got.Content, "while an earlier call is in progress") {
			t.Errorf("got %+v", got)
		}
	}
	release()
	if got := <-done; got.Status != tool.StatusSuccess || !strings.HasPrefix(got.Content, "1 by ") {
		t.Errorf("got %+v", got)
	}
	if got := <-late; !strings.HasPrefix(got.Content, "2 by ") {
		t.Errorf("late: %+v", got)
	}
	if got := made.make(t.Context(), t, pool); !strings.HasPrefix(got.Content, "3 by ") {
		t.Errorf("got %+v", got)
	}
}

// deaf is the fault of a server that accepts a cancellation and ignores it.
func deaf(w http.ResponseWriter, _ *http.Request, _ http.Handler) { w.WriteHeader(http.StatusAccepted) }

// TestHungServerOverHTTP checks that a hung server costs later calls two pings, and not their whole time, and that late
// answers to abandoned calls are reported.
func TestHungServerOverHTTP(t *testing.T) {
	t.Parallel()
	for protocol, opts := range onceProtocols {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			server := tooltest.ServeWeb(t, opts)
			pool, made := webPool(t, server, opts, impatient), newEffects(t)
			call(t, pool, "s.echo", `{"text":"x"}`)
			server.Misbehave("notifications/cancelled", deaf)
			server.Freeze()
			lost, late := made.call(), make(chan tool.Result, 1)
			lost.Late = func(got tool.Result) { late <- got }
			got := givenUp(t, pool, lost)
			made.said[lost.Key] = got
			if got.ErrorType != tool.ErrorTimeout || !got.Sent {
				t.Errorf("got %+v", got)
			}
			for range 2 {
				if got := made.make(t.Context(), t, pool); got.ErrorType != tool.ErrorUnavailable || got.Sent {
					t.Errorf("got %+v", got)
				}
			}
			server.Wait("notifications/cancelled", 1)
			if opts.SSE {
				return // its stream is gone, and so is the answer
			}
			server.Thaw()
			if got := <-late; got.Status != tool.StatusSuccess || made.of(t, lost.Key) != 1 {
				t.Errorf("said: %+v, made %d times", got, made.of(t, lost.Key))
			}
			awaitOpen(pool)
			if got := made.make(t.Context(), t, pool); got.Status != tool.StatusSuccess {
				t.Errorf("got %+v", got)
			}
			made.checkAll(t)
		})
	}
}

// TestLateAnswerAfterTheEndOfItsExecution checks that a late answer is reported even if the session's execution has
// ended meanwhile.
func TestLateAnswerAfterTheEndOfItsExecution(t *testing.T) {
	t.Parallel()
	var opts tooltest.WebOptions
	server := tooltest.ServeWeb(t, opts)
	pool, made := webPool(t, server, opts, func(_ *mcp.Options, tr *mcp.Transport) {
		tr.CustomHeaders = map[string]string{"X-Session": "{{.SESSION_ID}}"}
	}), newEffects(t)
	first := made.call()
	first.Session = "execution"
	if got := within(t, pool, first, time.Minute); got.Status != tool.StatusSuccess {
		t.Fatalf("got %+v", got)
	}
	server.Misbehave("notifications/cancelled", deaf)
	server.Freeze()
	lost, late := made.call(), make(chan tool.Result, 1)
	lost.Key, lost.Session, lost.Late = "lost", "execution", func(got tool.Result) { late <- got }
	if got := givenUp(t, pool, lost); got.ErrorType != tool.ErrorTimeout || !got.Sent {
		t.Errorf("got %+v", got)
	}
	pool.End("execution")
	server.Wait("notifications/cancelled", 1)
	server.Thaw()
	if got := <-late; got.Status != tool.StatusSuccess || made.of(t, lost.Key) != 1 {
		t.Errorf("said: %+v, made %d times", got, made.of(t, lost.Key))
	}
}

// TestGivenUpCallsAreCancelled checks that an abandoned call is cancelled at the server, whether or not its answer is
// needed.
func TestGivenUpCallsAreCancelled(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]func(tool.Result){"nobody waits": nil, "somebody waits": func(tool.Result) {}} {
		for kind, open := range kinds {
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel()
				s, gate, over := open(t, tooltest.Tools, nil), tooltest.NewGate(t), tooltest.NewGate(t)
				ctx, cancel := context.WithCancel(t.Context())
				go func() { gate.Wait(t)(); cancel() }()
				args := fmt.Appendf(nil, `{"gate":%q,"over":%q}`, gate.Path, over.Path)
				if _, err := s.Call(ctx, tool.Call{Name: "s.hang", Arguments: args, Late: late}); !errors.Is(err, context.Canceled) {
					t.Errorf("got %v", err)
				}
				over.Wait(t)()
			})
		}
	}
}

// A pool waits for a hundred late results at a time. It logs which call's late result it does not wait for.
func TestTooManyLateResults(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	server := tooltest.ServeWeb(t, tooltest.WebOptions{})
	pool := webPool(t, server, tooltest.WebOptions{}, func(opts *mcp.Options, _ *mcp.Transport) {
		opts.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	})
	call(t, pool, "s.echo", `{"text":"x"}`)
	server.Freeze()
	ctx, cancel := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	for range 101 {
		calls.Go(func() {
			lost := tool.Call{Name: "s.echo", Arguments: []byte(`{"text":"x"}`), Class: tool.Safe, Late: func(tool.Result) {}}
			if _, err := pool.Call(ctx, lost); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
	}
	server.Wait("tools/call", 102)
	cancel()
	calls.Wait()
	if said := log.String(); strings.Count(said, "late result of this tool call") != 1 ||
		!strings.Contains(said, "server=s tool=s.echo waiting=100") {
		t.Errorf("logged %q", said)
	}
}
