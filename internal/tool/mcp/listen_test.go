package mcp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/mcp"
	"github.com/inquest-dev/inquest/internal/tool/tooltest"
)

func withPeople(opts *mcp.Options, _ *mcp.Transport) { opts.Elicit = true }

// deploy calls a tool that asks people where to deploy, and returns what the tool says. Over HTTP, a question that is
// apart from its call comes on the listening stream.
func deploy(t *testing.T, pool tool.Caller, args string) tool.Result {
	t.Helper()
	answer := func(context.Context, tool.Question) (json.RawMessage, bool) {
		return json.RawMessage(`{"environment":"staging"}`), true
	}
	got, err := pool.Call(t.Context(), tool.Call{Name: "s.deploy", Arguments: []byte(args), Key: "e/1/2", Session: "e", Ask: answer})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestQuestions(t *testing.T) {
	t.Parallel()
	for kind, open := range kinds {
		for name, args := range map[string]string{"within the call": `{}`, "apart from the call": `{"apart":true}`} {
			if kind == "http with JSON" && name == "within the call" {
				continue // the answer has no room for a question
			}
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel()
				if got := deploy(t, open(t, tooltest.Asks, withPeople), args); got.Content != "accept: staging" {
					t.Errorf("got %+v", got)
				}
			})
		}
	}
}

// Over HTTP, the answer to a call carries the call's questions, so people are asked on behalf of that call and not of
// another one in the session.
func TestQuestionsOfSeveralCalls(t *testing.T) {
	t.Parallel()
	pool := kinds["http"](t, tooltest.Asks, withPeople)
	asked, all := make(chan struct{}), make(chan struct{})
	var calls sync.WaitGroup
	for _, key := range []string{"a", "b", "c", "d", "e"} {
		answer := func(context.Context, tool.Question) (json.RawMessage, bool) {
			asked <- struct{}{}
			<-all
			return json.RawMessage(`{"environment":"` + key + `"}`), true
		}
		calls.Go(func() {
			got, err := pool.Call(t.Context(), tool.Call{Name: "s.deploy", Arguments: []byte(`{}`), Key: key, Session: "e", Ask: answer})
			if err != nil || got.Content != "accept: "+key {
				t.Errorf("%s: %+v, %v", key, got, err)
			}
		})
		<-asked
	}
	close(all)
	calls.Wait()
}

// flushed reports the first flush of a response.
type flushed struct {
	http.ResponseWriter
	report func()
}

func (f flushed) FlushError() error {
	defer f.report()
	return http.NewResponseController(f.ResponseWriter).Flush()
}

// After a listening stream ends or fails, another one is opened. The session and its calls go on meanwhile.
func TestListeningStreamEnds(t *testing.T) {
	t.Parallel()
	stream := func(events string) tooltest.Fault { return tooltest.Answer(http.StatusOK, "text/event-stream", events) }
	for name, fault := range map[string]tooltest.Fault{
		"unavailable":      tooltest.Answer(http.StatusServiceUnavailable, "text/plain", ""),
		"dropped":          func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) },
		"an empty stream":  stream(""),
		"not a message":    stream("retry: 1\n\ndata: {\n\nwhat is this\n\ndata: 7\n\n"),
		"half a message":   stream(`data: {"jsonrpc":"2.0","method":"ping","id":1`),
		"past the limit":   stream("data: " + strings.Repeat("x", 3000) + "\n\n"),
		"an unknown event": stream("event: x\nid: 7\ndata: {}\n\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := tooltest.WebOptions{Mode: tooltest.Asks, Resumable: true}
			server := tooltest.ServeWeb(t, opts)
			failed, opened := make(chan struct{}), make(chan struct{})
			open := sync.OnceFunc(func() { close(opened) })
			var watch tooltest.Fault
			watch = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				server.Misbehave("GET", watch)
				next.ServeHTTP(flushed{w, open}, r)
			}
			server.Misbehave("GET", func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				server.Misbehave("GET", watch)
				close(failed)
				fault(w, r, next)
			})
			pool := webPool(t, server, opts, func(opts *mcp.Options, tr *mcp.Transport) {
				withPeople(opts, tr)
				opts.MessageLimit = 2000
			})
			if got := deploy(t, pool, `{}`); got.Content != "accept: staging" {
				t.Errorf("before: %+v", got)
			}
			<-failed
			<-opened
			if got := deploy(t, pool, `{"apart":true}`); got.Content != "accept: staging" {
				t.Errorf("after: %+v", got)
			}
			if sessions := len(server.Seen("initialize")); sessions != 1 {
				t.Errorf("%d sessions", sessions)
			}
		})
	}
}

// A server that offers no listening stream, or does not answer, is used without one.
func TestNoListeningStream(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]tooltest.Fault{
		"not allowed": tooltest.Answer(http.StatusMethodNotAllowed, "text/plain", ""),
		"not found":   tooltest.Answer(http.StatusNotFound, "text/plain", ""),
		"a page":      tooltest.Answer(http.StatusOK, "text/html", "<p>"),
		"no answer":   tooltest.Hang,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := tooltest.WebOptions{Mode: tooltest.Asks}
			server := tooltest.ServeWeb(t, opts)
			server.Misbehave("GET", fault)
			pool := webPool(t, server, opts, withPeople)
			if got := deploy(t, pool, `{}`); got.Content != "accept: staging" {
				t.Errorf("got %+v", got)
			}
			pool.Close()
			if gets := len(server.Seen("GET")); gets != 1 {
				t.Errorf("%d GET requests", gets)
			}
		})
	}
}
