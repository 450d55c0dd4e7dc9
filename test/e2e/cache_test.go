package e2e

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/workflows"
)

// A worker that has room for one workflow reads nearly all of them from their histories with every task. What
// comes of it is the same.
func TestOneCachedWorkflow(t *testing.T) {
	t.Parallel()
	want, requests := baseline(t)
	for name, quick := range map[string][]string{"regular calls": nil, "quick calls": {labModel, "lab.echo", "lab.counter"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _ := newLab(t, nil)
			w.quick(quick...)
			w.dev("--no-worker")
			w.worker("--cached-workflows", "1")
			id := workflows.InvestigationID("lab", w.begin("lab").GetRunID())
			w.end("lab")
			if diff := cmp.Diff(want, w.log(id)); diff != "" {
				t.Errorf("transcript (-undisturbed +with one cached workflow):\n%s", diff)
			}
			if n := len(w.model.Requests()); n != requests || w.effects() != 1 {
				t.Errorf("%d model calls, want %d; %d effects", n, requests, w.effects())
			}
		})
	}
}
