package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/workflows"
)

// TestCLI runs one investigation through the CLI, as a person would.
func TestCLI(t *testing.T) {
	t.Parallel()
	w, l := newLab(t, func(l *lab) { l.heldAt = "Alpha 1" })
	w.dev()
	if out := w.must("run", "--alert-type", "lab", "--data", "what happened?", "--workflow-id", "lab", "--detach"); out != "lab\n" {
		t.Errorf("run --detach prints %q", out)
	}
	l.hold.Wait(t)
	if out := w.must("status", "lab"); !strings.Contains(out, "running") || !strings.Contains(out, "Alpha") {
		t.Errorf("status:\n%s", out)
	}
	w.must("guide", "lab", "look at the disks", "--agent", "Alpha")
	w.must("pause", "lab")
	l.hold.Release()
	eventually(t, "the pause", func() bool { return strings.Contains(w.must("status", "lab"), "paused") })
	w.must("resume", "lab")

	watched := w.must("watch", "lab")
	for _, want := range []string{"── dig", "dig/Alpha", "lab.echo", "look at the disks", "alpha knows", "the report of gamma", "completed"} {
		if !strings.Contains(watched, want) {
			t.Errorf("watch does not show %q:\n%s", want, watched)
		}
	}
	if strings.Contains(watched, "\x1b") {
		t.Error("escape sequences where there is no terminal")
	}
	if out := w.must("show", "lab"); !strings.Contains(out, "You are Alpha,") || !strings.Contains(out, "first a look") {
		t.Errorf("show is not the whole transcript:\n%s", out)
	}
	var shown struct {
		Record     record.Investigation `json:"investigation"`
		Executions []record.Execution   `json:"executions"`
	}
	if err := json.Unmarshal([]byte(w.must("show", "lab", "--json")), &shown); err != nil {
		t.Fatal(err)
	}
	if shown.Record.Status != agent.StatusCompleted || len(shown.Executions) != 4 {
		t.Errorf("show --json: %+v", shown)
	}
	for _, e := range shown.Executions {
		if e.Type == "" || e.LLMBackend != "langchain" || e.Provider != "lab-model" || e.Model != "lab-1" || e.EndedAt == nil {
			t.Errorf("record of an execution: %+v", e)
		}
	}
	if out := w.must("list"); !strings.Contains(out, "lab") || !strings.Contains(out, "completed") {
		t.Errorf("list:\n%s", out)
	}
	w.mustFail(1, "ended", "pause", "lab")
	w.mustFail(1, "no-such", "show", "no-such")
}

// mustFail runs the CLI and expects an exit code and a message.
func (w *world) mustFail(code int, message string, args ...string) {
	w.t.Helper()
	out, errs, got := w.starter("", args...)
	if got != code || !strings.Contains(errs, message) {
		w.t.Errorf("starter %v: exit code %d, want %d with %q\n%s%s", args, got, code, message, out, errs)
	}
}

func TestCLIResultAndExitCodes(t *testing.T) {
	t.Parallel()
	l := newScript()
	l.replace["Gamma 1"] = llmtest.BadKey()
	w := newWorld(t, func(req llmtest.Request) llmtest.Reply {
		if strings.Contains(req.Task(), "all is well") || who(req) != "Gamma" {
			healthy := newScript()
			return healthy.script()(req)
		}
		return l.script()(req)
	}, labConfig)
	w.dev()

	var result workflows.InvestigationResult
	out, _, code := w.starter("all is well", "run", "--chain", "lab", "--data", "-", "--json")
	if err := lastEvent(out, &result); err != nil || code != 0 || result.Report != "the report of gamma" {
		t.Errorf("run --json: exit code %d, %v:\n%s", code, err, out)
	}
	out, errs, code := w.starter("", "run", "--chain", "lab", "--data", "it burns", "--json")
	if err := lastEvent(out, &result); err != nil || code != 1 || result.EndReason != agent.EndLLMFailed || result.Report != "both know" {
		t.Errorf("a failed run: exit code %d, %v:\n%s%s", code, err, out, errs)
	}
	w.mustFail(2, `unknown chain "nothing"`, "run", "--chain", "nothing", "--data", "x")
	w.mustFail(2, "chain", "run", "--data", "x")
	w.mustFail(2, "missing.json", "run", "--chain", "lab", "--data", "@missing.json")
	w.mustFail(2, "no-such-flag", "run", "--no-such-flag")
}

// lastEvent reads the result from the last line of events.
func lastEvent(out string, result *workflows.InvestigationResult) error {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return json.Unmarshal([]byte(lines[len(lines)-1]), &struct {
		Result *workflows.InvestigationResult `json:"result"`
	}{result})
}

// Three megabytes are passed by reference, and the agent receives as much as fits.
func TestCLILargeData(t *testing.T) {
	t.Parallel()
	w, _ := newLab(t, nil)
	w.dev()
	path := filepath.Join(w.data, "alert.txt")
	if err := os.WriteFile(path, []byte(strings.Repeat("line of a log\n", 3<<20/14)), 0o600); err != nil {
		t.Fatal(err)
	}
	w.must("run", "--chain", "lab", "--data", "@"+path, "--attach", "--workflow-id", "large", "--json")
	for _, e := range w.history("large") {
		if e.Size() > 16<<10 {
			t.Errorf("event %d has %d bytes", e.GetEventId(), e.Size())
		}
	}
}

// SIGTERM drains a worker: the running call finishes, and nothing is repeated.
func TestWorkerDrains(t *testing.T) {
	t.Parallel()
	_, requests := baseline(t)
	w, l := newLab(t, func(l *lab) { l.heldAt = "Alpha 2" })
	w.dev("--no-worker")
	worker := w.worker("--drain", "2m")
	w.begin("lab")
	l.hold.Wait(t)
	if err := worker.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if !worker.log.wait("worker draining", worker.done) {
		t.Fatalf("it does not drain:\n%s", worker.log)
	}
	w.worker()
	l.hold.Release()
	if code := worker.wait(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, worker.log)
	}
	w.end("lab")
	if n := len(w.model.Requests()); n != requests {
		t.Errorf("%d model calls, want %d: the one that ran was to finish", n, requests)
	}
}

// A query just after a worker was killed is answered by another worker, as soon as Temporal has given up on the
// first.
func TestStatusAfterAWorkerDied(t *testing.T) {
	t.Parallel()
	w, l := newLab(t, func(l *lab) { l.heldAt = "Alpha 2" })
	w.dev("--no-worker")
	worker := w.worker()
	w.begin("lab")
	l.hold.Wait(t)
	w.worker()
	worker.kill()
	out, received, code := w.starter("", "status", "lab", "--json")
	var status workflows.Status
	if err := json.Unmarshal([]byte(out), &status); code != 0 || err != nil || status.Status != agent.StatusRunning {
		t.Errorf("exit code %d, %v, %s:\n%s%s", code, err, status.Status, out, received)
	}
	if !strings.Contains(received, "is not responding; its worker may have crashed. Waiting up to ") {
		t.Errorf("while it waits it says %q", received)
	}
	l.hold.Release()
	w.end("lab")
}

// Bad flags and configurations cause one clear message and exit code 2, immediately.
func TestProgramsRefuseBadInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t, llmtest.Always(llmtest.Text("x")), "agents:\n  A: {tpye: default, mcp_servers: [nowhere]}\n")
	taken := freeAddress(t)
	occupied := newWorld(t, llmtest.Always(llmtest.Text("x")), labConfig)
	occupied.address = taken
	occupied.dev()
	tests := []struct {
		name, program string
		args          []string
		code          int
		want          []string
	}{
		{"dev: configuration", "dev", []string{"--config", w.config, "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--ui", "127.0.0.1:0"}, 2,
			[]string{"config.yaml:2", "tpye", "nowhere"}},
		{"worker: configuration", "worker", []string{"--config", w.config}, 2, []string{"config.yaml:2", "tpye", "nowhere"}},
		{"dev: port in use", "dev", []string{"--listen", taken, "--data", t.TempDir()}, 2, []string{"--listen", taken}},
		{"dev: UI port in use", "dev", []string{"--ui", occupied.ui, "--listen", "127.0.0.1:0", "--data", t.TempDir()}, 2,
			[]string{"--ui", occupied.ui}},
		{"dev: data in use", "dev", []string{"--data", occupied.data, "--listen", "127.0.0.1:0", "--ui", "127.0.0.1:0"}, 1,
			[]string{occupied.data, "in use"}},
		{"dev: flag", "dev", []string{"--nonsense"}, 2, []string{"--nonsense"}},
		{"dev: argument", "dev", []string{"nonsense"}, 2, []string{"nonsense"}},
		{"dev: level", "dev", []string{"--log-level", "loud"}, 2, []string{"--log-level", "loud"}},
		{"demo: provider", "dev", []string{"demo", "--provider", "nobody:x", "--data", t.TempDir()}, 1, []string{"nobody"}},
		{"worker: no Temporal", "worker", []string{"--config", occupied.config}, 1, []string{"Temporal", w.address}},
		{"starter: validate", "starter", []string{"validate", w.config}, 2, []string{"config.yaml:2", "tpye", "nowhere"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, errs, code := w.program(filepath.Join(bin, tt.program), "", tt.args...)
			if code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			for _, want := range tt.want {
				if !strings.Contains(out+errs, want) {
					t.Errorf("no word of %q in:\n%s%s", want, out, errs)
				}
			}
			if strings.Contains(errs, "panic") || strings.Contains(errs, "goroutine") {
				t.Errorf("it panics:\n%s", errs)
			}
		})
	}
}

// A fleet worker is small: it does not link the server. It is built as in the Dockerfile, but without -trimpath
// and CGO_ENABLED=0, which would recompile everything.
func TestWorkerIsSlim(t *testing.T) {
	t.Parallel()
	info, err := os.Stat(filepath.Join(bin, "worker"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the stripped worker has %.1f MB", float64(info.Size())/1e6)
	if info.Size() > 76<<20 {
		t.Errorf("the stripped worker has %d bytes, at most 76 MiB are wanted", info.Size())
	}
	deps, err := exec.Command("go", "list", "-deps", "../../worker", "../../starter").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, dep := range strings.Fields(string(deps)) {
		if strings.HasPrefix(dep, "go.temporal.io/server") || strings.HasPrefix(dep, "github.com/temporalio/ui-server") {
			t.Errorf("worker or starter links %s", dep)
		}
	}
}
