package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/inquest-dev/inquest/internal/tool"
)

// asks begins a call with a timeout of a minute, during which people may be asked. end ends it.
func (p *pulse) asks(t *testing.T, key string, ask func(context.Context, tool.Question) (json.RawMessage, bool)) (call asker, end func()) {
	ctx, cancel := tool.WithPausable(t.Context(), time.Minute)
	_, r := withReceipt(ctx, nil)
	r.asker = asker{tool.Call{Key: key, Session: "e", Ask: ask}, ctx}
	p.begin(r)
	return r.asker, func() {
		p.end(r)
		cancel()
	}
}

// A question that may belong to either of two calls pauses the timeouts of both, and stays open until both have ended.
func TestQuestionOfEitherCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p pulse
		asked, withdrawn := make(chan string, 1), make(chan error, 1)
		people := func(key string) func(context.Context, tool.Question) (json.RawMessage, bool) {
			return func(ctx context.Context, _ tool.Question) (json.RawMessage, bool) {
				asked <- key
				<-ctx.Done()
				withdrawn <- ctx.Err()
				return nil, false
			}
		}
		first, endFirst := p.asks(t, "first", people("first"))
		second, endSecond := p.asks(t, "second", people("second"))
		go ask(p.askers(""), tool.Question{})
		if key := <-asked; key != "first" {
			t.Errorf("asked on behalf of the %s call", key)
		}
		time.Sleep(time.Hour)
		if err := errors.Join(first.ctx.Err(), second.ctx.Err()); err != nil {
			t.Errorf("a call timed out: %v", err)
		}
		endFirst()
		synctest.Wait()
		if len(withdrawn) > 0 {
			t.Error("withdrawn while the second call is in progress")
		}
		endSecond()
		if err := <-withdrawn; !errors.Is(err, context.Canceled) {
			t.Errorf("withdrawn: %v", err)
		}
	})
}

// The choice among the calls of a session does not vary.
func TestAskers(t *testing.T) {
	t.Parallel()
	var p pulse
	people := func(context.Context, tool.Question) (json.RawMessage, bool) { return nil, false }
	for _, key := range []string{"a", "b", "c"} {
		_, end := p.asks(t, key, people)
		defer end()
	}
	for range 100 {
		if all := p.askers(""); len(all) != 3 || all[0].Key != "a" {
			t.Fatalf("of an unknown call: %d", len(all))
		}
		if one := p.askers("b"); len(one) != 1 || one[0].Key != "b" {
			t.Fatalf("of the call b: %d", len(one))
		}
	}
	if none := p.askers("x"); none != nil {
		t.Error("the call x has ended")
	}
	_, end := p.asks(t, "d", nil)
	if none := p.askers(""); none != nil {
		t.Error("nobody can be asked for the call d")
	}
	end()
}

// TestMark checks that a question gets the key of its call however its JSON is written, and that nothing else is changed.
func TestMark(t *testing.T) {
	t.Parallel()
	r := &receipt{asker: asker{Call: tool.Call{Key: "k"}}}
	const marked = `{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"_meta":{"` + metaKey + `":"k"},"message":"Where?"}}`
	for message, want := range map[string]string{
		`{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":"Where?"}}`:  marked,
		`{"jsonrpc":"2.0","id":7,"method":"elicitation\/create","params":{"message":"Where?"}}`: marked,
		`{"jsonrpc":"2.0","id":7,"method":"ping","params":{"message":"elicitation/create"}}`:    "",
		`{"jsonrpc":"2.0","id":7,"result":{"content":[{"text":"elicitation/create"}]}}`:         "",
	} {
		if got := string(r.mark([]byte(message))); got != cmp.Or(want, message) {
			t.Errorf("got %s", got)
		}
	}
}

// TestStartLimitIsBounded: a server that never answers is tried again for days.
func TestStartLimitIsBounded(t *testing.T) {
	t.Parallel()
	s := &session{ready: make(chan struct{}), err: errLate, startLimit: time.Second}
	close(s.ready)
	for range 100 {
		if s.startLimit = s.nextStartLimit(); s.startLimit <= 0 || s.startLimit > time.Hour {
			t.Fatalf("the limit is %s", s.startLimit)
		}
	}
}
