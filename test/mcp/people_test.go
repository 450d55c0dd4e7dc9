package mcp

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/mcp"
)

// askingPool has one server, "s", and sends its questions to people.
func askingPool(t *testing.T, transport mcp.Transport) *mcp.Pool {
	t.Helper()
	pool := mcp.New(mcp.Options{Transport: func(string) (mcp.Transport, error) { return transport, nil }, Elicit: true})
	t.Cleanup(pool.Close)
	return pool
}

// A question of the reference server reaches people over every transport, and their answer reaches the server.
// The server's timeout is suspended meanwhile.
func TestElicitation(t *testing.T) {
	t.Parallel()
	overEach(t, func(t *testing.T, transport mcp.Transport) {
		transport.Timeout = 0
		pool := askingPool(t, transport)
		ask := func(answer func(context.Context, tool.Question) (json.RawMessage, bool)) string {
			got, err := pool.Call(t.Context(), tool.Call{Name: "s.trigger-elicitation-request", Key: "k", Session: "inv/s/A", Ask: answer})
			if err != nil || got.Status != tool.StatusSuccess {
				t.Errorf("%+v, %v", got, err)
			}
			return got.Content
		}
		if _, err := pool.List(t.Context(), plan.Server{Name: "s"}, ""); err != nil {
			t.Fatal(err)
		}
		var asked tool.Question
		said := ask(func(_ context.Context, q tool.Question) (json.RawMessage, bool) {
			asked = q
			return json.RawMessage(`{"name":"Ada","check":true}`), true
		})
		if asked.Server != "s" || asked.Message == "" || !strings.Contains(string(asked.Schema), `"name"`) || !strings.Contains(said, "Ada") {
			t.Errorf("asked %+v, answered %s", asked, said)
		}
		declined := func(context.Context, tool.Question) (json.RawMessage, bool) { return nil, false }
		for _, answer := range []func(context.Context, tool.Question) (json.RawMessage, bool){declined, nil} {
			if said := ask(answer); !strings.Contains(said, "declined") {
				t.Errorf("got %s", said)
			}
		}
	})
}

// The reference server receives the roots in the configuration, and if there are none, the client does not declare the capability.
func TestRoots(t *testing.T) {
	t.Parallel()
	transport := stdio("server-everything")
	transport.Roots, transport.Timeout = []string{"/srv/one", "/srv/a b"}, 0
	pool := askingPool(t, transport)
	// The server offers the tool once it has asked for the capabilities.
	var names []string
	for deadline := time.Now().Add(20 * time.Second); !slices.Contains(names, "s.get-roots-list") && time.Now().Before(deadline); {
		specs, err := pool.List(t.Context(), plan.Server{Name: "s"}, "")
		if err != nil {
			t.Fatal(err)
		}
		names = nil
		for _, spec := range specs {
			names = append(names, spec.Name)
		}
	}
	got := call(t, pool, "get-roots-list", nil)
	if !strings.Contains(got.Content, "file:///srv/one") || !strings.Contains(got.Content, "file:///srv/a%20b") {
		t.Errorf("got %+v", got)
	}
	transport.Roots = nil
	got = call(t, askingPool(t, transport), "get-roots-list", nil)
	if got.ErrorType != tool.ErrorUnknownTool {
		t.Errorf("without roots: %+v", got)
	}
}
