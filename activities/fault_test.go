package activities_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/tool"
)

// The machine-readable part of a failed call is in the transcript and, unless it is long, in the workflow's output.
func TestFaultsOfCallsAreTold(t *testing.T) {
	t.Parallel()
	for name, details := range map[string]string{"short": `{"left":0}`, "long": fmt.Sprintf(`{"why":%q}`, strings.Repeat("x", 2000))} {
		b := newBench(t)
		want := agent.Fault{Recoverable: true, RetryAfter: 30, Details: json.RawMessage(details)}
		b.run = func(tool.Call) (tool.Result, error) {
			r := tool.Failure(tool.ErrorTool, "no quota")
			r.Fault = want
			return r, nil
		}
		b.asks(agent.ToolCall{ID: "x", Name: "lab__read", Arguments: `{"n":1}`})
		out, err := b.callTool(1, 0)
		entries, failed := b.store.After(t.Context(), "inv", 0, 0)
		if err != nil || failed != nil {
			t.Fatal(err, failed)
		}
		if diff := cmp.Diff(want, entries[len(entries)-1].Fault); diff != "" {
			t.Errorf("%s, in the transcript: %s", name, diff)
		}
		if name == "long" {
			want.Details = nil
		}
		if diff := cmp.Diff(want, out.Fault); diff != "" {
			t.Errorf("%s, to the workflow: %s", name, diff)
		}
	}
}
