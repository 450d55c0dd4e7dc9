package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

// aRow is a type that does not exist: an append-only memory, two iterations, and the prompt of another type.
const aRow = `{Name: "watcher_agent", Aliases: []string{"watcher"}, Pattern: Iterating, Prompt: "letta", MaxIterations: 2, Tools: ` +
	`[]string{ToolCoreMemoryAppend}},`

const watcherConfig = `
llm_providers:
  lab-model: {type: openai, model: lab-1, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
defaults: {llm_provider: lab-model}
agents:
  Vera: {type: watcher, memory_blocks: [{label: facts, value: known}]}
agent_chains:
  lab: {alert_types: [lab], stages: [{name: watch, agents: [{name: Vera}]}]}
`

// Adding a type only takes a row: a worker that is built with one more row, and no other change, runs an agent
// of that type.
func TestLongAddedType(t *testing.T) {
	takesLong(t)
	t.Parallel()
	buildWithRow(t, "worker-with-a-row")
	note := func(text string) llmtest.Call {
		return llmtest.Call{Name: "core_memory_append", Args: fmt.Sprintf(`{"label":"facts","content":%q}`, text)}
	}
	w := newWorld(t, llmtest.Sequence(
		llmtest.Calls(note("one"), llmtest.Call{Name: "archival_memory_insert", Args: `{"content":"forbidden"}`}),
		llmtest.Calls(note("two")),
		llmtest.Text("what Vera knows"),
	), labConfig)
	w.dev("--no-worker")
	w.configure(watcherConfig)
	w.start("worker started", "worker-with-a-row", "--config", w.config)
	w.begin("added")
	result := w.end("added")
	if result.Status != agent.StatusCompleted || result.Report != "what Vera knows" {
		t.Fatalf("result: %+v", result)
	}
	requests := w.model.Requests()
	if len(requests) != 3 {
		t.Fatalf("%d model calls; two iterations and the conclusion are three", len(requests))
	}
	const core = "<value>%s</value></facts>"
	for i, want := range []struct{ tools, facts string }{{"core_memory_append", ""}, {"core_memory_append", "known\none"},
		{"core_memory_append", "known\none\ntwo"}} { // the conclusion may not call it, but the history has its calls
		var tools []string
		for _, tool := range requests[i].Tools {
			tools = append(tools, tool.Function.Name)
		}
		if diff := cmp.Diff(want.tools, strings.Join(tools, " ")); diff != "" {
			t.Errorf("request %d: tools (-want +got):\n%s", i+1, diff)
		}
		for _, part := range []string{"You are Vera, an agent that keeps what it learns.", fmt.Sprintf(core, "known")} {
			if !strings.Contains(requests[i].System(), part) {
				t.Errorf("request %d: the system prompt has not %q:\n%s", i+1, part, requests[i].System())
			}
		}
		changed := func(m llmtest.Message) bool { return strings.Contains(m.Text(), fmt.Sprintf(core, want.facts)) }
		if i > 0 && !slices.ContainsFunc(requests[i].Messages[1:], changed) {
			t.Errorf("request %d: no message says that the block is now %q", i+1, want.facts)
		}
	}
	for _, e := range w.entries(result.ID) {
		if e.Call != nil && e.Call.Name == "archival_memory_insert" && e.ErrorType != "PermissionDenied" {
			t.Errorf("the forbidden call: %+v", e.Body)
		}
	}
}

// buildWithRow builds the worker with one more row in the table of types.
func buildWithRow(t *testing.T, name string) {
	t.Helper()
	const head = "var types = []Type{\n"
	path, err := filepath.Abs("../../internal/agent/types.go")
	if err != nil {
		t.Fatal(err)
	}
	table, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, after, ok := strings.Cut(string(table), head)
	if !ok {
		t.Fatalf("%s: the table does not begin with %q", path, head)
	}
	dir := t.TempDir()
	replaced, overlay := filepath.Join(dir, "types.go"), filepath.Join(dir, "overlay.json")
	body, err := json.Marshal(map[string]any{"Replace": map[string]string{path: replaced}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{replaced: before + head + aRow + "\n" + after, overlay: string(body)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "build", "-overlay", overlay, "-o", filepath.Join(bin, name), "./worker")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build a worker with one more row: %v\n%s", err, out)
	}
}
