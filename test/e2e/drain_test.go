package e2e

import (
	"net/http"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/tool/tooltest"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

// A worker that is asked to stop during a non-repeatable call finishes the call, and the next worker continues
// from there.
func TestDrain(t *testing.T) {
	t.Parallel()
	want, requests := baseline(t)
	gate := tooltest.NewGate(t)
	w, _ := newLab(t, func(l *lab) { l.gates["counter"] = gate.Path })
	w.dev("--no-worker")
	health := freeAddress(t)
	leaving := w.worker("--health", health, "--drain", patience.String())
	expectProbes(t, health, http.StatusOK)
	run := w.begin("lab")
	id := workflows.InvestigationID("lab", run.GetRunID())
	pass := gate.Wait(t)
	w.worker()

	if err := leaving.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	leaving.says(1, "worker draining")
	expectProbes(t, health, http.StatusServiceUnavailable)
	for _, e := range w.entries(id) {
		if e.Kind == transcript.KindResult && e.Call.Name == "lab.counter" {
			t.Errorf("the call had ended before it was let through: %+v", e)
		}
	}
	pass()
	if code := leaving.wait(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, leaving.log)
	}
	w.end("lab")
	if diff := cmp.Diff(want, w.log(id)); diff != "" {
		t.Errorf("transcript (-undisturbed +after the drain):\n%s", diff)
	}
	if n := len(w.model.Requests()); n != requests {
		t.Errorf("%d model calls, want %d", n, requests)
	}
	if n := w.effects(); n != 1 {
		t.Errorf("the call that must happen once happened %d times", n)
	}
}

// expectProbes checks the probes of a worker that is alive: its readiness must have the given status.
func expectProbes(t *testing.T, address string, ready int) {
	t.Helper()
	for path, want := range map[string]int{"/livez": http.StatusOK, "/readyz": ready} {
		resp, err := http.Get("http://" + address + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s answers %d, want %d", path, resp.StatusCode, want)
		}
	}
}
