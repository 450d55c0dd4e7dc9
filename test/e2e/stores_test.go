package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
)

// A worker whose store differs from the other workers' does not start, because it would lack their data.
func TestWorkerWithAnotherStore(t *testing.T) {
	t.Parallel()
	w, _ := newLab(t, nil)
	w.dev("--no-worker")
	first := w.worker()
	first.says(1, "store=\""+w.store+" on ")
	other := filepath.Join(t.TempDir(), "other.db")
	for name, tt := range map[string]struct {
		world *world
		flags []string
		want  []string
	}{
		"none": {w.without("INQUEST_STORE"), nil, []string{"no store configured: set --store, INQUEST_STORE or system.store"}},
		"another": {w, []string{"--store", other}, []string{
			"this worker's store is not the fleet's store", w.store, w.open().ID(), other, "--adopt-store",
		}},
	} {
		out, errs, code := tt.world.program(filepath.Join(bin, "worker"), "", append([]string{"--config", w.config}, tt.flags...)...)
		for _, want := range tt.want {
			if code != 2 || !strings.Contains(errs, want) {
				t.Errorf("%s: exit code %d, want 2 and %q:\n%s%s", name, code, want, out, errs)
			}
		}
	}
	w.worker().terminate() // a worker with the same store may start
	first.terminate()
	w.worker("--store", other, "--adopt-store")
	if _, errs, code := w.program(filepath.Join(bin, "worker"), "", "--config", w.config); code != 2 || !strings.Contains(errs, other) {
		t.Errorf("the old store after another one was adopted: exit code %d\n%s", code, errs)
	}
}

// If a worker with another store starts first and takes work, the work fails there and the next worker does it.
func TestWorkOfAnotherStore(t *testing.T) {
	t.Parallel()
	w, _ := newLab(t, nil)
	w.configure(nearConfig)
	w.dev("--no-worker")
	near := []string{"--config", w.config, "--task-queue", "tools.lab"}
	stray := w.start("only_tools_of=[lab]", "worker", append(near, "--store", filepath.Join(t.TempDir(), "other.db"))...)
	w.worker()
	w.begin("lab")
	stray.says(1, "not in this worker's store")
	stray.terminate()
	w.start("only_tools_of=[lab]", "worker", near...)
	if result := w.end("lab"); result.Status != agent.StatusCompleted || result.Report != "the report of gamma" {
		t.Errorf("got %+v", result)
	}
	_, errs, code := w.program(filepath.Join(bin, "worker"), "", append(near, "--store", filepath.Join(t.TempDir(), "other.db"))...)
	if code != 2 || !strings.Contains(errs, "task queue tools.lab") {
		t.Errorf("once the fleet is known: exit code %d\n%s", code, errs)
	}
}

// Two stores never use each other's plans, even with the same configuration.
func TestPlansAreOfOneStore(t *testing.T) {
	t.Parallel()
	w, _ := newLab(t, nil)
	w.dev()
	w.begin("lab")
	result := w.end("lab")
	found, err := w.open().Investigation(t.Context(), result.ID)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := w.open().Blob(t.Context(), found.PlanHash)
	if want := `"store":"` + w.open().ID() + `"`; err != nil || !strings.Contains(string(plan), want) {
		t.Errorf("no %s in the plan, %v:\n%s", want, err, plan)
	}
}
