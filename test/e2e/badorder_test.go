package e2e

import (
	"database/sql"
	"strings"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/inquest-dev/inquest/internal/agent"
)

// TestBadOrder starts programs in an order that upgrades must avoid: they refuse to start, report the reason, and take no work.
func TestBadOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, upgrades{}.script, upgradeConfig)
	previous := w.ofPreviousRelease()
	dev := w.dev() // makes the store
	if code := dev.terminate(); code != 0 {
		t.Fatalf("dev ends with exit code %d:\n%s", code, dev.log)
	}
	server := w.dev("--no-worker")
	w.beginWith("waits", agent.Request{Chain: "finished", Data: []byte(`"x"`)})
	refuses := func(w *world, program string, says string, args ...string) {
		t.Helper()
		out, errs, code := w.program(w.path(program), "", args...)
		if code == 0 || !strings.Contains(out+errs, says) || strings.Contains(errs, "worker started") {
			t.Errorf("%s %v: exit code %d, and it does not say %q:\n%s%s", program, args, code, says, out, errs)
		}
	}

	newer := strings.Replace(upgradeConfig, "defaults: {", "defaults: {timeouts: {startup: 1m}, ", 1)
	w.configure(newer)
	refuses(previous, "worker", `unknown key "startup"`, "--config", w.config)
	w.configure(upgradeConfig)

	db, err := sql.Open("sqlite", "file:"+w.storePath())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)`); err != nil {
		t.Fatal(err)
	}
	const requires = "it requires schema 999, but this program supports only"
	refuses(w, "worker", requires, "--config", w.config)
	refuses(previous, "worker", "it requires schema 999, and this program knows 27", "--config", w.config)
	refuses(w, "starter", "programs must support 999, but this program supports only", "version", "--check")
	refuses(w, "starter", requires, "approvals")
	started := w.history("waits")
	for _, e := range started {
		if e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED {
			t.Error("a worker that refuses to start has taken work")
		}
	}
	if code := server.terminate(); code != 0 {
		t.Errorf("dev ends with exit code %d:\n%s", code, server.log)
	}
	refuses(w, "dev", requires, "--listen", w.address, "--ui", w.ui, "--data", w.data, "--config", w.config)

	if _, err := db.ExecContext(t.Context(), `DELETE FROM goose_db_version WHERE version_id = 999`); err != nil {
		t.Fatal(err)
	}
	w.dev()
	if result := w.end("waits"); result.Status != agent.StatusCompleted {
		t.Errorf("after the refusals: %+v", result)
	}
}
