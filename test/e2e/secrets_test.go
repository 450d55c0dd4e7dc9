package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/workflows"
)

// toolSecret reaches a tool server in its environment; that server prints it and dies.
const toolSecret = "tool-secret-never-to-be-seen"

const secretConfig = `
llm_providers:
  lab-model: {type: openai, model: lab-1, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
mcp_servers:
  lab: {transport: {type: stdio, command: "{{.E2E_TOOLS}}"}}
  dead: {transport: {type: stdio, command: "{{.E2E_TOOLS}}", args: [dead], env: {TOOLTEST_SECRET: "{{.E2E_TOOL_SECRET}}"}}}
defaults: {llm_provider: lab-model}
agents:
  Alpha: {description: digs, mcp_servers: [lab, dead]}
  Beta: {description: is refused, mcp_servers: [lab]}
agent_chains:
  lab:
    alert_types: [lab]
    stages: [{name: dig, agents: [{name: Alpha}, {name: Beta}], synthesis: {agent: SynthesisAgent}}]
`

// Keys and tool secrets are in no error, log, history or store, even when the
// provider echoes them and a tool server prints them.
func TestSecretsAreNowhere(t *testing.T) {
	t.Parallel()
	script := func(req llmtest.Request) llmtest.Reply {
		switch {
		case who(req) == "Beta":
			return llmtest.BadKey() // the refusal quotes the key
		case who(req) == "Alpha" && turnOf(req) == 1:
			return llmtest.Calls(llmtest.Call{Name: "lab__env", Args: `{}`}, llmtest.Call{Name: "dead__x", Args: `{}`})
		}
		return llmtest.Text("done by " + who(req))
	}
	w := newWorld(t, script, secretConfig)
	w.env = append(w.env, "E2E_TOOL_SECRET="+toolSecret)
	dev := w.dev("--log-level", "debug")
	run := w.beginWith("lab", agent.Request{AlertType: "lab"})
	result := w.end("lab")
	if result.Stages[0].Agents[1].Status != agent.StatusFailed || !strings.Contains(result.Stages[0].Agents[1].Error, "credentials refused") {
		t.Errorf("Beta: %+v", result.Stages[0].Agents[1])
	}
	told, _ := json.Marshal(result)
	histories := w.histories(workflows.InvestigationID("lab", run.GetRunID()))
	if dev.terminate() != 0 {
		t.Errorf("dev ended badly:\n%s", dev.log)
	}

	places := map[string][]byte{"result": told, "log of dev": []byte(dev.log.String()), "histories": histories}
	err := filepath.WalkDir(w.data, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && path != w.config {
			places[path], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(places[w.storePath()], []byte("done by Alpha")) {
		t.Error("the search does not find what is in the store: it proves nothing")
	}
	for place, content := range places {
		for _, secret := range []string{key, toolSecret} {
			if at := bytes.Index(content, []byte(secret)); at >= 0 {
				t.Errorf("%s has %q: …%q…", place, secret, content[max(0, at-80):min(len(content), at+80)])
			}
		}
	}
}

// histories is every event of an investigation and its children, as stored.
func (w *world) histories(investigation string) []byte {
	w.t.Helper()
	var out []byte
	listed, err := w.client().ListWorkflow(context.Background(), &workflowservice.ListWorkflowExecutionsRequest{Namespace: "default"})
	if err != nil || len(listed.GetExecutions()) < 4 {
		w.t.Fatalf("%d workflows are listed: %v", len(listed.GetExecutions()), err)
	}
	for _, execution := range listed.GetExecutions() {
		for _, event := range w.history(execution.GetExecution().GetWorkflowId()) {
			body, err := proto.Marshal(event)
			if err != nil {
				w.t.Fatal(err)
			}
			out = append(out, body...)
		}
	}
	return out
}

// A cancelled investigation stops its running model call within seconds, and
// keeps what was done.
func TestCancelIsQuickAndKeepsWhatWasDone(t *testing.T) {
	t.Parallel()
	w, l := newLab(t, func(l *lab) { l.heldAt = "Gamma 1" })
	w.dev()
	run := w.begin("lab")
	l.hold.Wait(t)
	cancelled := time.Now()
	if err := w.client().CancelWorkflow(context.Background(), "lab", ""); err != nil {
		t.Fatal(err)
	}
	if err := w.client().GetWorkflow(context.Background(), "lab", "").Get(context.Background(), nil); err == nil || !strings.Contains(err.Error(), "cancel") {
		t.Errorf("ended with %v", err)
	}
	took := time.Since(cancelled)
	t.Logf("cancelled within %s", took.Round(time.Millisecond))
	if took > 5*time.Second {
		t.Errorf("the cancellation took %s", took)
	}
	inv, err := w.open().Investigation(context.Background(), workflows.InvestigationID("lab", run.GetRunID()))
	if err != nil || inv.Status != agent.StatusCancelled || inv.EndReason != agent.EndCancelled || inv.Report != "both know" {
		t.Errorf("record %+v, %v", inv, err)
	}
}
