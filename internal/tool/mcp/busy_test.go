package mcp_test

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/mcp"
	"github.com/inquest-dev/inquest/internal/tool/tooltest"
)

// hastened gives a server little time to answer pings, and makes every call that must not be sent twice check its
// session.
func hastened(o *mcp.Options, tr *mcp.Transport) {
	impatient(o, tr)
	o.PingTimeout, o.CheckAfter = 200*time.Millisecond, time.Nanosecond
}

// always applies a fault to every request with a method.
func always(server *tooltest.Web, method string, fault tooltest.Fault) {
	var each tooltest.Fault
	each = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		server.Misbehave(method, each)
		fault(w, r, next)
	}
	server.Misbehave(method, each)
}

// serveOneAtATime starts a server that answers one request at a time. Hold the lock to keep it busy.
func serveOneAtATime(t *testing.T) (server *tooltest.Web, busy *sync.Mutex) {
	t.Helper()
	server, busy = tooltest.ServeWeb(t, tooltest.WebOptions{}), &sync.Mutex{}
	serial := func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		busy.Lock()
		defer busy.Unlock()
		next.ServeHTTP(w, r)
	}
	always(server, "tools/call", serial)
	always(server, "ping", serial)
	return server, busy
}

// A write waits for a server that another client keeps busy.
func TestWriteWaitsForServerThatIsBusyWithAnotherClient(t *testing.T) {
	t.Parallel()
	server, busy := serveOneAtATime(t)
	pool, made := webPool(t, server, tooltest.WebOptions{}, hastened), newEffects(t)
	call(t, pool, "s.echo", `{"text":"x"}`)
	busy.Lock()
	done := make(chan tool.Result)
	go func() { done <- within(t, pool, made.call(), 30*time.Second) }()
	server.Wait("ping", 3)
	busy.Unlock()
	if got := <-done; got.Status != tool.StatusSuccess {
		t.Errorf("got %+v", got)
	}
}

// A write waits for another call of its session, however many pings that costs.
func TestWriteWaitsForCallOfItsSession(t *testing.T) {
	t.Parallel()
	server, _ := serveOneAtATime(t)
	pool, made, gate := webPool(t, server, tooltest.WebOptions{}, hastened), newEffects(t), tooltest.NewGate(t)
	long := made.call()
	long.Key, long.Arguments = "long", []byte(`{"file":"`+made.file+`","gate":"`+gate.Path+`"}`)
	done := make(chan tool.Result, 2)
	go func() { done <- within(t, pool, long, 30*time.Second) }()
	release := gate.Wait(t)
	go func() { done <- within(t, pool, made.call(), 30*time.Second) }()
	server.Wait("ping", 9)
	release()
	for range 2 {
		if got := <-done; got.Status != tool.StatusSuccess {
			t.Errorf("got %+v", got)
		}
	}
}

// TestWriteIsNotSentToServerThatAnswersNoPings checks that a write is not sent to a server that answers no pings and is
// not busy with our calls, and that the error says so.
func TestWriteIsNotSentToServerThatAnswersNoPings(t *testing.T) {
	t.Parallel()
	server := tooltest.ServeWeb(t, tooltest.WebOptions{})
	pool, made := webPool(t, server, tooltest.WebOptions{}, hastened), newEffects(t)
	call(t, pool, "s.echo", `{"text":"x"}`)
	server.Freeze()
	write := made.call()
	got := within(t, pool, write, 30*time.Second)
	if got.ErrorType != tool.ErrorUnavailable || got.Sent || got.Sends != 0 ||
		!strings.HasPrefix(got.Content, "Tool "+write.Name+" was not called: MCP server s: the server does not respond to pings") {
		t.Errorf("got %+v", got)
	}
}

// TestSlowServerIsUsedAgainAfterItHung checks a server that needs longer to start than to answer a ping.
func TestSlowServerIsUsedAgainAfterItHung(t *testing.T) {
	t.Parallel()
	server := tooltest.ServeWeb(t, tooltest.WebOptions{})
	slow := func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		select {
		case <-time.After(time.Second): // five times PingTimeout
			next.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}
	always(server, "initialize", slow)
	pool := webPool(t, server, tooltest.WebOptions{}, hastened)
	echo := tool.Call{Name: "s.echo", Arguments: []byte(`{"text":"x"}`), Class: tool.Safe} // is sent without a session check
	if got := within(t, pool, echo, 30*time.Second); got.Status != tool.StatusSuccess {
		t.Fatalf("got %+v", got)
	}
	server.Freeze()
	if got := givenUp(t, pool, echo); got.ErrorType != tool.ErrorTimeout || !got.Sent {
		t.Fatalf("got %+v", got)
	}
	if got := within(t, pool, echo, 30*time.Second); got.ErrorType != tool.ErrorUnavailable || got.Away == "" {
		t.Fatalf("got %+v", got)
	}
	server.Thaw()
	always(server, "initialize", slow) // the request that was frozen has used up the fault
	awaitOpen(pool)
	if got := within(t, pool, echo, 30*time.Second); got.Status != tool.StatusSuccess {
		t.Fatalf("got %+v", got)
	}
}

// awaitOpen returns when the pool has a session with the server, which no call opens.
func awaitOpen(pool *mcp.Pool) {
	for !pool.Open("s", "") {
		runtime.Gosched()
	}
}

// TestCallsOfASilentServerDoNotWait checks that calls fail at once while a server does not answer, that one session at a time is
// opened to find out when it does, and that the next call then goes to that session. The calls are of several agents.
func TestCallsOfASilentServerDoNotWait(t *testing.T) {
	t.Parallel()
	server := tooltest.ServeWeb(t, tooltest.WebOptions{})
	pool, made := webPool(t, server, tooltest.WebOptions{}, hastened), newEffects(t)
	call(t, pool, "s.echo", `{"text":"x"}`)
	server.Freeze()
	first := len(server.Seen("initialize"))
	const calls = 30
	for n := range calls {
		write := made.call()
		write.Session = fmt.Sprint("agent ", n%3)
		got := within(t, pool, write, time.Hour)
		if got.ErrorType != tool.ErrorUnavailable || got.Sent || got.Away != "it does not respond to pings" {
			t.Fatalf("got %+v", got)
		}
	}
	if probes := len(server.Seen("initialize")) - first; probes > calls/2 { // each waits twice as long as the one before
		t.Errorf("%d calls opened %d sessions", calls, probes)
	}
	server.Thaw()
	awaitOpen(pool)
	if got := made.make(t.Context(), t, pool); got.Status != tool.StatusSuccess {
		t.Errorf("got %+v", got)
	}
}

// TestCheckGoesOnAfterItsCall checks a session check that takes longer than its call. It ends the session all the same.
func TestCheckGoesOnAfterItsCall(t *testing.T) {
	t.Parallel()
	server := tooltest.ServeWeb(t, tooltest.WebOptions{})
	pool, made := webPool(t, server, tooltest.WebOptions{}, hastened), newEffects(t)
	call(t, pool, "s.echo", `{"text":"x"}`)
	server.Freeze()
	if got := within(t, pool, made.call(), 300*time.Millisecond); got.ErrorType != tool.ErrorTimeout || got.Sent {
		t.Errorf("got %+v", got)
	}
	server.Wait("initialize", 2) // no call asks for it
}
