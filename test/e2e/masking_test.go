package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/workflows"
)

// plantedSecret is in every sample of the masking patterns (internal/trust/mask/testdata).
const plantedSecret = "S3cr3t"

const maskConfig = `
llm_providers:
  lab-model: {type: openai, model: lab-1, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
defaults: {llm_provider: lab-model, alert_masking: {pattern_group: all}}
agents:
  Reader: {type: react_agent, shell: {enabled: true, allow: [cat]}}
agent_chains:
  lab: {alert_types: [lab], stages: [{name: dig, agents: [{name: Reader}]}]}
`

// maskSamples writes samples for every pattern into a file.
func maskSamples(t *testing.T) (path string) {
	t.Helper()
	files, err := filepath.Glob("../../internal/trust/mask/testdata/*.txtar")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d samples: %v", len(files), err)
	}
	var all bytes.Buffer
	for _, name := range files {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, f := range archive.Files {
			if f.Name == "in" {
				all.Write(append(f.Data, '\n'))
				found = found || bytes.Contains(f.Data, []byte(plantedSecret))
			}
		}
		if !found {
			t.Errorf("%s plants nothing: the test proves nothing of it", name)
		}
	}
	path = filepath.Join(t.TempDir(), "samples.txt")
	if err := os.WriteFile(path, all.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Text that a pattern matches, in an alert or a tool's result, is in no store, history, log or model request.
func TestMaskedSecretsAreNowhere(t *testing.T) {
	t.Parallel()
	samples := maskSamples(t)
	command, err := json.Marshal(map[string]string{"command": "cat " + samples})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(req llmtest.Request) llmtest.Reply {
		if turnOf(req) == 1 {
			return llmtest.Calls(llmtest.Call{Name: "shell", Args: string(command)})
		}
		return llmtest.Text("done")
	}, maskConfig)
	w.env = append(w.env, "INQUEST_CONFIG="+w.config)
	dev := w.dev("--log-level", "debug")
	shown := w.must("run", "--alert-type", "lab", "--data", "@"+samples, "--workflow-id", "masked")
	transcript := w.must("show", "masked", "--json")
	places := w.files()
	places["store"] = append(places[w.storePath()], places[w.storePath()+"-wal"]...)
	places["history"] = w.eventsOf("masked")
	places["log"], places["run"], places["show"] = []byte(dev.log.String()), []byte(shown), []byte(transcript)
	for _, req := range w.model.Requests() {
		places["requests"] = append(places["requests"], req.Body...)
	}
	for place, content := range places {
		if at := bytes.Index(content, []byte(plantedSecret)); at >= 0 {
			t.Errorf("%s: …%q…", place, content[max(0, at-80):min(len(content), at+80)])
		}
	}
	for _, place := range []string{"requests", "show", "store"} {
		if n := bytes.Count(places[place], []byte("[MASKED_GITHUB_TOKEN]")); n == 0 {
			t.Errorf("%s has no marker: the test proves nothing", place)
		}
	}
}

// eventsOf returns every event of an investigation with one agent, as stored.
func (w *world) eventsOf(id string) (out []byte) {
	w.t.Helper()
	started := w.history(id)[0].GetWorkflowExecutionStartedEventAttributes()
	root := workflows.InvestigationID(id, started.GetFirstExecutionRunId())
	for _, name := range []string{id, root + "/dig", root + "/dig/Reader"} {
		for _, event := range w.history(name) {
			out = append(out, event.String()...)
		}
	}
	return out
}
