package e2e

import (
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// The conclusion about the sample incident depends on some of the results that its report cites. Finding that out calls no tool. It needs
// processes, because the command starts investigations in a running system and waits for them.
func TestWhy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, "defaults: {llm_provider: scripted}\n")
	w.dev()
	w.must("run", "--alert-type", "sample-incident", "--data", "@../../examples/sample-incident/alert.json", "--workflow-id", "incident")
	type tried struct {
		Changed, Same int
		Forks         []struct{ ID, Error string }
	}
	var found struct {
		Of          string
		Control     tried
		Without     []tried
		Comparisons []string
	}
	w.decode(&found, "why", "incident", "--yes", "--limit", "6", "--json")
	if found.Control.Same != 1 || len(found.Without) != 6 || found.Without[0].Changed != 1 {
		t.Errorf("found: %+v", found)
	}
	for _, one := range append(found.Without, found.Control) {
		for _, f := range one.Forks {
			if f.Error != "" {
				t.Errorf("%s: %s", f.ID, f.Error)
			}
			for _, e := range w.entries(f.ID) {
				result := e.Kind == transcript.KindResult && !e.Call.Inward()
				if result && e.Shared == 0 && e.Recorded == "" && e.ErrorType != tool.ErrorNotRecorded {
					t.Errorf("%s called %s: %+v", f.ID, e.Call.Name, e)
				}
			}
		}
	}
	out := w.must("list", "--meta", "why="+found.Of)
	if n := strings.Count(out, "completed"); n != 7+len(found.Comparisons) {
		t.Errorf("%d of them are listed:\n%s", n, out)
	}
	if out := w.must("list", "--review", "needs_review"); strings.Count(out, "completed") != 1 {
		t.Errorf("only the incident needs a review:\n%s", out)
	}
}
