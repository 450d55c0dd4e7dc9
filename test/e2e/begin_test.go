package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

// The commands that dev prints work unchanged, with any flags of dev and without any setup, and doctor finds no
// problem.
func TestDevSaysWhatWorks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, llmtest.Always(llmtest.Text("ok")), labConfig)
	w.data = filepath.Join(w.data, "a folder")
	if err := os.Mkdir(w.data, 0o700); err != nil {
		t.Fatal(err)
	}
	w.store = w.storePath()
	newcomer := w.without("TEMPORAL_ADDRESS", "INQUEST_STORE")
	dev := newcomer.dev()
	out, errs, code := newcomer.program("sh", "", "-ec", hints(t, dev)+"\nstarter list\nstarter ui")
	if code != 0 || !strings.Contains(out, "sample-incident") && !strings.Contains(out, "completed") ||
		!strings.Contains(out, "http://"+w.ui) {
		t.Errorf("exit code %d:\n%s%s", code, out, errs)
	}

	there := newcomer.with("TEMPORAL_ADDRESS="+w.address, "INQUEST_STORE="+w.store)
	out, errs, code = there.starter("", "doctor", "--config", w.config, "--online")
	for _, want := range []string{
		"ok    Temporal: 1.", "ok    search attributes: registered\n", "ok    workers of inquest: 1: ",
		"ok    fleet's store: same as this store\n", "ok    model lab-model: E2E_KEY is set; lab-1 answered (", "ok    server lab: ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("doctor does not say %q", want)
		}
	}
	if code != 0 || strings.Contains(out, key) {
		t.Errorf("exit code %d:\n%s%s", code, out, errs)
	}
	other := filepath.Join(t.TempDir(), "other.db")
	starterTools := there.with("INQUEST_STORE=" + other)
	starterTools.store = other
	starterTools.open().Close()
	out, _, code = starterTools.starter("", "doctor")
	if want := "fail  fleet's store: the workers use a different store: " + w.store; code != 1 || !strings.Contains(out, want) {
		t.Errorf("with another store: exit code %d, want 1 and %q:\n%s", code, want, out)
	}
	if _, errs, code := there.starter("", "doctor", "--namespace", "absent"); code != 1 {
		t.Errorf("in a namespace that there is not: exit code %d:\n%s", code, errs)
	}
}

// hints returns the commands that dev prints, with our programs on the PATH.
func hints(t *testing.T, dev *process) string {
	t.Helper()
	_, rest, found := strings.Cut(dev.log.String(), "In another terminal:\n")
	commands, _, ended := strings.Cut(rest, "\nTo stop, ")
	if !found || !ended {
		t.Fatalf("dev says nothing to type:\n%s", dev.log)
	}
	return `PATH="` + bin + `:$PATH"` + "\n" + commands
}

// Without a worker, dev first prints how to start one.
func TestDevWithoutWorkerSaysHowToStartOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t, llmtest.Always(llmtest.Text("ok")), labConfig).without("TEMPORAL_ADDRESS", "INQUEST_STORE")
	dev := w.dev("--no-worker")
	w.start("worker started", "sh", "-ec", hints(t, dev))
}

// A demo that is kept can be viewed with the commands that it prints.
func TestDemoIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, labConfig).without("TEMPORAL_ADDRESS", "INQUEST_STORE")
	demo := w.start("\nTo stop, press Ctrl-C.", "dev", "demo", "--keep", "--data", w.data)
	out, errs, code := w.program("sh", "", "-ec", hints(t, demo))
	if code != 0 || !strings.Contains(out, "DB_POOL_MAX") {
		t.Errorf("exit code %d:\n%s%s", code, out, errs)
	}
	if code := demo.terminate(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, demo.log)
	}
}

// A demo that has stopped can be read with the command that it prints, without the system.
func TestDemoIsReadAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, labConfig).without("TEMPORAL_ADDRESS", "INQUEST_STORE")
	said, errs, code := w.program(w.path("dev"), "", "demo", "--data", w.data)
	if code != 0 {
		t.Fatalf("exit code %d:\n%s%s", code, said, errs)
	}
	_, rest, _ := strings.Cut(said, "\nTo read this investigation again:\n")
	reread, rest, _ := strings.Cut(rest, "\n")
	if !strings.Contains(rest, " --data "+w.data+"\n") || !strings.Contains(rest, "All its data is in "+w.data) {
		t.Errorf("the demo does not say where its data is:\n%s", said)
	}
	out, errs, code := w.program("sh", "", "-ec", `PATH="`+filepath.Dir(w.path("starter"))+`:$PATH"`+"\n"+reread)
	if code != 0 || !strings.Contains(out, "DB_POOL_MAX") {
		t.Errorf("%s: exit code %d:\n%s%s", reread, code, out, errs)
	}
}
