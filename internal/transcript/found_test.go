package transcript_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/transcript"
)

func TestFound(t *testing.T) {
	t.Parallel()
	calls := func(names ...string) (body transcript.Body) {
		for _, name := range names {
			body.Calls = append(body.Calls, transcript.Call{Name: name})
		}
		return body
	}
	found := func(names ...string) transcript.Body {
		return transcript.Body{Result: transcript.Result{Found: names}}
	}
	entries := []transcript.Entry{
		{Body: transcript.Body{ToolSearch: true}},
		{Body: calls("search_tools", "a.x")},
		{Body: found("b.y", "a.x", "b.z")},
		{Body: found("lost.tool"), Superseded: true},
		{Body: calls("b.z", "c.w")},
	}
	want := transcript.Findings{
		Names:    []string{"search_tools", "a.x", "b.y", "b.z", "c.w"},
		Latest:   map[string]int{"search_tools": 1, "b.y": 5, "a.x": 4, "b.z": 6, "c.w": 7},
		Searches: true,
	}
	if diff := cmp.Diff(want, transcript.Found(entries)); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
	if transcript.Found(entries[1:]).Searches {
		t.Error("an agent whose prompt does not say so searches")
	}
}
