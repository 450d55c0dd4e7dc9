package activities_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/mcp"
	"github.com/inquest-dev/inquest/internal/tool/tooltest"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// dying is the store of a worker that dies between a call and its result.
type dying struct{ activities.Transcripts }

func (d dying) Append(ctx context.Context, step transcript.Step) ([]transcript.Entry, error) {
	if step.Rows[0].Kind == transcript.KindResult {
		return nil, errors.New("the worker has died")
	}
	return d.Transcripts.Append(ctx, step)
}

// A worker dies during a call to each tool of a server that counts calls. Only the tools that a trusted server declares
// read-only or idempotent are called again.
func TestCallsByHintsAfterACrash(t *testing.T) {
	t.Parallel()
	for _, trusted := range []bool{true, false} {
		t.Run(fmt.Sprint("trusted=", trusted), func(t *testing.T) {
			t.Parallel()
			web := tooltest.ServeWeb(t, tooltest.WebOptions{Mode: tooltest.Hints})
			pool := mcp.New(mcp.Options{Transport: func(string) (mcp.Transport, error) { return mcp.Transport{Type: mcp.HTTP, URL: web.URL}, nil }})
			t.Cleanup(pool.Close)
			server := plan.Server{Name: "s", TrustAnnotations: trusted}
			specs, err := pool.List(t.Context(), server, "")
			if err != nil {
				t.Fatal(err)
			}
			b := newBench(t)
			b.plan(func(a *plan.Agent) { a.Servers, a.Timeouts.Tool = []plan.Server{server}, plan.Duration(time.Minute) })
			if err := b.store.SaveCatalogue(t.Context(), b.scope(), tool.Catalogue{Server: "s", Tools: specs}); err != nil {
				t.Fatal(err)
			}
			names, dir := slices.Sorted(maps.Keys(tooltest.AllHints())), t.TempDir()
			var calls []agent.ToolCall
			for _, name := range names {
				calls = append(calls, agent.ToolCall{Name: "s__" + name, Arguments: fmt.Sprintf(`{"file":%q}`, filepath.Join(dir, name))})
			}
			b.asks(calls...)
			b.act.Servers = pool
			for n, name := range names {
				b.act.Transcripts = dying{b.store}
				if _, err := b.callTool(1, n); err == nil {
					t.Errorf("%s: the worker has not died", name)
				}
				b.act.Transcripts = b.store
				out, err := b.callTool(1, n)
				made, _ := os.ReadFile(filepath.Join(dir, name))
				want, unknown := 1, tool.ErrorOutcomeUnknown
				if trusted && strings.ContainsAny(strings.TrimPrefix(name, "t_"), "ri") {
					want, unknown = 2, ""
				}
				if got := bytes.Count(made, []byte("\n")); got != want || err != nil || out.ErrorType != unknown {
					t.Errorf("%s was called %d times, want %d; %+v, %v", name, got, want, out, err)
				}
			}
		})
	}
}
