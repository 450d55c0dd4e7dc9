package e2e

import (
	"io"
	"net/http"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	historypb "go.temporal.io/api/history/v1"

	"github.com/inquest-dev/inquest/test/history"
	"github.com/inquest-dev/inquest/workflows"
)

// rereadTokens is a worker's count of workflows that were no longer in its cache.
var rereadTokens = regexp.MustCompile(`(?m)^temporal_sticky_cache_miss(\{.*\})? [1-9]`)

// metrics returns a worker's metrics in Prometheus format.
func metrics(t *testing.T, address string) string {
	t.Helper()
	answer, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v: %s", answer.StatusCode, err, text)
	}
	return string(text)
}

// A worker with a cache for one workflow reads nearly all workflows from their histories with every task. The
// results are the same.
func TestOneCachedWorkflow(t *testing.T) {
	t.Parallel()
	want, requests := baseline(t)
	for name, quick := range map[string][]string{"regular calls": nil, "quick calls": {labModel, "lab.echo", "lab.counter"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _ := newLab(t, nil)
			w.quick(quick...)
			w.dev("--no-worker")
			address := freeAddress(t)
			w.worker("--cached-workflows", "1", "--http", address)
			id := workflows.InvestigationID("lab", w.begin("lab").GetRunID())
			w.end("lab")
			if diff := cmp.Diff(want, w.log(id)); diff != "" {
				t.Errorf("transcript (-undisturbed +with one cached workflow):\n%s", diff)
			}
			if n := len(w.model.Requests()); n != requests || w.effects() != 1 {
				t.Errorf("%d model calls, want %d; %d effects", n, requests, w.effects())
			}
			if text := metrics(t, address); !rereadTokens.MatchString(text) {
				t.Errorf("no workflow was read anew: %s", text)
			}
			inTask := func(e *historypb.HistoryEvent) bool { return history.IsMarker(e, "lab.counter") }
			if found := slices.ContainsFunc(w.history(id+"/dig/Alpha"), inTask); found != (quick != nil) {
				t.Errorf("a call within a workflow task: %t", found)
			}
		})
	}
}
