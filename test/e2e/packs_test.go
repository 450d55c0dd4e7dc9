package e2e

import (
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/knowledge/pack"
)

// TestPackDemo runs the demo of a pack: offline, without a key, a configuration or the pack's variables.
func TestPackDemo(t *testing.T) {
	t.Parallel()
	packDemo(t, newWorld(t, nil, labConfig), "gitlab")
}

// TestLongPackDemos runs the demo of every pack.
func TestLongPackDemos(t *testing.T) {
	takesLong(t)
	t.Parallel()
	for _, name := range pack.Names() {
		t.Run(name, func(t *testing.T) {
			packDemo(t, newWorld(t, nil, labConfig), name)
		})
	}
}

func packDemo(t *testing.T, w *world, name string) {
	t.Helper()
	p, _ := pack.Named(name)
	demo, _ := p.Demo()
	w = w.without("TEMPORAL_ADDRESS", "INQUEST_STORE")
	out, errs, code := w.program(w.path("dev"), "", "demo", "--pack", name, "--data", t.TempDir())
	if code != 0 || !strings.Contains(out, demo.Origin()) || !strings.Contains(out, "init --pack "+name) {
		t.Errorf("exit code %d:\n%s%s", code, out, errs)
	}
	if strings.Contains(out, "✗") {
		t.Errorf("a call failed:\n%s", out)
	}
}
