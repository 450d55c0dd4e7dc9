package activities_test

import (
	"encoding/json"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/artifact"
	"github.com/inquest-dev/inquest/internal/tool"
)

// The recorded metadata of a result's artifacts matches their content.
func TestArtifactsAsTheyAreKept(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.run = func(tool.Call) (tool.Result, error) {
		r := tool.Success("two things")
		r.Artifacts = []tool.Artifact{
			{MIMEType: "text/csv", Name: "a.csv", Data: []byte("a,b\n")},
			{MIMEType: "application/json", JSON: json.RawMessage("{ \"a\": \"<b>\" }\n")},
		}
		return r, nil
	}
	b.asks(agent.ToolCall{ID: "x", Name: "lab__read", Arguments: `{"n":1}`})
	if _, err := b.callTool(1, 0); err != nil {
		t.Fatal(err)
	}
	entries, err := b.store.WithArtifacts(t.Context(), "inv")
	if err != nil || len(entries) != 1 || len(entries[0].Kept) != 2 {
		t.Fatalf("%+v, %v", entries, err)
	}
	all, err := artifact.List(t.Context(), entries, b.store)
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	for _, a := range all {
		if data, err := artifact.Read(t.Context(), b.store, a.Ref); err != nil || len(data) != a.Size || a.Size == 0 {
			t.Errorf("%+v has %q, %v", a, data, err)
		}
	}
}
