package e2e

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

// reloadConfig is the lab's configuration with one agent, on the given model.
func reloadConfig(model string) string {
	return fmt.Sprintf(`
llm_providers:
  lab-model: {type: openai, model: %s, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
mcp_servers:
  lab: {transport: {type: stdio, command: "{{.E2E_TOOLS}}"}}
defaults: {llm_provider: lab-model}
agents:
  Alpha: {description: digs, mcp_servers: [lab]}
agent_chains:
  lab:
    alert_types: [lab]
    stages: [{name: dig, agents: [{name: Alpha}]}]
`, model)
}

// A worker follows its configuration: new investigations use the new one, running ones keep their plan, and a
// configuration with errors is ignored.
func TestReload(t *testing.T) {
	t.Parallel()
	hold := llmtest.NewHold()
	w := newWorld(t, func(req llmtest.Request) llmtest.Reply {
		switch turn := turnOf(req); {
		case turn == 1 && req.Model == "lab-1":
			return llmtest.Calls(llmtest.Call{Name: "lab__echo", Args: `{"text":"old"}`}).Hold(hold, 1)
		case turn == 1:
			return llmtest.Calls(llmtest.Call{Name: "lab__echo", Args: `{"text":"new"}`})
		}
		return llmtest.Text("done")
	}, reloadConfig("lab-1"))
	w.dev("--no-worker")
	worker := w.worker()
	w.begin("old")
	hold.Wait(t)

	w.configure(reloadConfig("lab-2"))
	worker.says(1, reloaded)
	w.begin("new")
	w.end("new")
	hold.Release()
	w.end("old")

	broken := strings.Replace(reloadConfig("lab-3"), "mcp_servers: [lab]", "mcp_servers: [gone]", 1)
	w.configure(broken)
	worker.says(1, "the new configuration has errors and was not loaded")
	line := 1 + strings.Count(broken[:strings.Index(broken, "gone")], "\n")
	worker.says(1, fmt.Sprintf("config.yaml:%d: agents.Alpha.mcp_servers", line))
	w.begin("meanwhile")
	w.end("meanwhile")

	w.mendUnseen(strings.Replace(broken, "gone", "lab ", 1))
	if err := worker.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	worker.says(2, reloaded)
	w.begin("mended")
	w.end("mended")

	var models []string
	for _, req := range w.model.Requests() {
		models = append(models, req.Model)
	}
	want := map[string]int{"lab-1": 2, "lab-2": 4, "lab-3": 2}
	if diff := cmp.Diff(want, count(models)); diff != "" {
		t.Errorf("model calls (-want +got):\n%s", diff)
	}
}

// reloaded is the worker's log message after a reload.
const reloaded = "the configuration was reloaded"

// mendUnseen replaces the configuration by another one of the same size and modification time, so that only a
// worker that is told to reload notices.
func (w *world) mendUnseen(config string) {
	w.t.Helper()
	before, err := os.Stat(w.config)
	if err != nil || before.Size() != int64(len(config)) {
		w.t.Fatalf("%d bytes cannot replace %d unseen: %v", len(config), before.Size(), err)
	}
	w.configure(config)
	if err := os.Chtimes(w.config, before.ModTime(), before.ModTime()); err != nil {
		w.t.Fatal(err)
	}
}
