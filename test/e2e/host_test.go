package e2e

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/store"
)

// elsewhere runs one of our programs on a host with another name, using a separate UTS namespace. ok is false
// if the system does not allow it.
func elsewhere(program string, args ...string) (argv []string, ok bool) {
	const rename = `hostname elsewhere && exec "$@"`
	for _, unshare := range [][]string{{"unshare", "--uts"}, {"unshare", "--map-root-user", "--uts"}} {
		if exec.Command(unshare[0], append(unshare[1:], "hostname", "elsewhere")...).Run() == nil {
			return append(append(unshare, "sh", "-c", rename, "sh", filepath.Join(bin, program)), args...), true
		}
	}
	return nil, false
}

// workerElsewhere starts a worker on another host, or on this one if that is not possible.
func (w *world) workerElsewhere(flags ...string) *process {
	w.t.Helper()
	args := append([]string{"--config", w.config, "--drain", "3s"}, flags...)
	if argv, ok := elsewhere("worker", args...); ok {
		return w.start("worker started", argv[0], argv[1:]...)
	}
	return w.worker(flags...)
}

// A SQLite store belongs to its host: a worker on another host is rejected before it connects to anything,
// unless it is told that the file has moved there.
func TestWorkerOnAnotherHost(t *testing.T) {
	t.Parallel()
	w, _ := newLab(t, nil)
	w.open() // on this host
	refused, ok := elsewhere("worker", "--config", w.config)
	if !ok {
		t.Skip("this system lets nobody have another host name: package store tests the refusal by the file's mark")
	}
	_, errs, code := w.program(refused[0], "", refused[1:]...)
	for _, part := range []string{store.ErrOtherHost.Error(), `this is "elsewhere"`, "use PostgreSQL", "--adopt-store", w.store} {
		if !strings.Contains(errs, part) {
			t.Errorf("the refusal does not say %q", part)
		}
	}
	if code != 1 || strings.Contains(errs, "connect to Temporal") {
		t.Errorf("exit code %d, want 1:\n%s", code, errs)
	}

	// There is no Temporal, which stops a worker that gets further.
	_, errs, _ = w.program(refused[0], "", append(refused[1:], "--adopt-store")...)
	if !strings.Contains(errs, "connect to Temporal") {
		t.Errorf("the file is not adopted:\n%s", errs)
	}
	if s, err := store.Open(context.Background(), store.At(w.store)); err == nil {
		s.Close()
		t.Error("the file is still this host's")
	}
}
