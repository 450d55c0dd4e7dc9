package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/store/postgrestest"
	"github.com/inquest-dev/inquest/internal/tool/tooltest"
	"github.com/inquest-dev/inquest/workflows"
)

// The secrets of tool servers: in the environment of a server that prints it and dies; as a token and in a
// header, for a server that quotes them.
const (
	toolSecret   = "tool-secret-never-to-be-seen"
	bearerSecret = "bearer-token-never-to-be-seen"
	headerSecret = "header-secret-never-to-be-seen"
)

const secretConfig = `
llm_providers:
  lab-model: {type: openai, model: lab-1, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
  responses: {type: openai, api: responses, model: gpt-5, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
  azure: {type: azure, model: lab-2, api_version: "2024-10-21", base_url: "{{.E2E_GEMINI}}", api_key_env: E2E_KEY}
  claude: {type: anthropic, model: claude-sonnet-4-5, base_url: "{{.E2E_GEMINI}}", api_key_env: E2E_KEY}
  bedrock: {type: anthropic, model: anthropic.claude-opus-4-8, base_url: "{{.E2E_GEMINI}}/anthropic", api_key_env: E2E_KEY}
  gemini: {type: google, model: gemini-3-flash, base_url: "{{.E2E_GEMINI}}", api_key_env: E2E_KEY}
  legacy: {type: google, driver: generative-ai-go, model: gemini-2.0-flash, base_url: "{{.E2E_GEMINI}}", api_key_env: E2E_KEY}
mcp_servers:
  lab: {transport: {type: stdio, command: "{{.E2E_TOOLS}}"}}
  dead: {transport: {type: stdio, command: "{{.E2E_TOOLS}}", args: [dead], env: {TOOLTEST_SECRET: "{{.E2E_TOOL_SECRET}}"}}}
  web:
    trust_annotations: true # so that a call is made again
    transport: &guarded
      type: http
      url: "{{.E2E_WEB}}/mcp"
      bearer_token: "{{.E2E_BEARER}}"
      custom_headers: {X-Key: "Basic {{.E2E_HEADER}}", X-Session: "for {{.SESSION_ID}}"}
      session_cleanup_url: "{{.E2E_WEB}}/cleanup/{{.SESSION_ID}}"
  events:
    trust_annotations: true
    transport: {<<: *guarded, type: sse, url: "{{.E2E_EVENTS}}/mcp", session_cleanup_url: "{{.E2E_EVENTS}}/cleanup/{{.SESSION_ID}}"}
defaults: {llm_provider: lab-model}
agents:
  Alpha: {description: digs, mcp_servers: [lab, dead, web, events]}
  Beta: {description: is refused, mcp_servers: [lab]}
agent_chains:
  lab:
    alert_types: [lab]
    stages:
      - name: dig
        agents:
          - {name: Alpha}
          - {name: Beta}
          - {name: Beta, llm_provider: responses}
          - {name: Beta, llm_provider: azure}
          - {name: Beta, llm_provider: claude, llm_backend: native}
          - {name: Beta, llm_provider: bedrock, llm_backend: native}
          - {name: Beta, llm_provider: gemini, llm_backend: native}
          - {name: Beta, llm_provider: legacy, llm_backend: native}
        synthesis: {agent: SynthesisAgent}
`

// script makes Alpha use every server, and makes Beta's model call fail with each model driver. Alpha's answer waits for
// listed: the server that dies is started three times before its error is stored, beside Alpha's work.
func (s *secretWorld) script(req llmtest.Request) llmtest.Reply {
	switch {
	case strings.HasPrefix(who(req), "Beta"):
		return llmtest.BadKey() // the error message quotes the key
	case who(req) == "Alpha" && turnOf(req) == 1:
		return llmtest.Calls(llmtest.Call{Name: "lab__env", Args: `{}`}, llmtest.Call{Name: "dead__x", Args: `{}`},
			llmtest.Call{Name: "web__echo", Args: `{"text":"by http"}`}, llmtest.Call{Name: "events__echo", Args: `{"text":"by sse"}`})
	case who(req) == "Alpha":
		return llmtest.Text("done by Alpha").Hold(s.listed, 0)
	}
	return llmtest.Text("done by " + who(req))
}

// No error, log, history or store contains a key, a password or a secret of a tool server, even if the provider
// and a tool server echo them and another server prints them. The intended recipients do get them.
func TestSecretsAreNowhere(t *testing.T) {
	t.Parallel()
	t.Run("dev on SQLite", func(t *testing.T) {
		t.Parallel()
		s := newSecretWorld(t)
		s.run(s.dev("--log-level", "debug"), func() []byte {
			files := s.files()
			return append(files[s.storePath()], files[s.storePath()+"-wal"]...)
		})
		s.search(s.places)
	})
	t.Run("worker on PostgreSQL", func(t *testing.T) {
		t.Parallel()
		s := newSecretWorld(t)
		database := postgrestest.Start(t)
		s.store = database.Database(t, "secrets")
		s.env = append(s.env, "INQUEST_STORE="+s.store)
		dev := s.dev("--no-worker", "--log-level", "info")
		s.run(s.worker("--log-level", "debug"), func() []byte { return database.Dump(t, "secrets") })
		shown := s.must("show", s.id)
		dev.terminate()
		s.search(map[string][]byte{"log of dev": []byte(dev.log.String()), "shown": []byte(shown), s.storePath(): database.Dump(t, "secrets")},
			database.Password)
	})
}

// secretWorld is a world with secrets.
type secretWorld struct {
	*world
	id          string // of the investigation
	web, events *tooltest.Web
	listed      *llmtest.Hold     // Alpha's answer waits for it
	places      map[string][]byte // places that might contain a secret
}

func newSecretWorld(t *testing.T) *secretWorld {
	t.Helper()
	s := &secretWorld{
		places: map[string][]byte{}, listed: llmtest.NewHold(),
		web: tooltest.ServeWeb(t, tooltest.WebOptions{}), events: tooltest.ServeWeb(t, tooltest.WebOptions{SSE: true}),
	}
	s.world = newWorld(t, s.script, secretConfig)
	for _, server := range []*tooltest.Web{s.web, s.events} {
		server.Misbehave("tools/call", tooltest.Answer(403, "text/plain", "not with "+bearerSecret+" and "+headerSecret))
	}
	s.env = append(s.env, "E2E_TOOL_SECRET="+toolSecret, "E2E_BEARER="+bearerSecret, "E2E_HEADER="+headerSecret,
		"E2E_WEB="+strings.TrimSuffix(s.web.URL, "/mcp"), "E2E_EVENTS="+strings.TrimSuffix(s.events.URL, "/mcp"))
	return s
}

// loginError is what the server that dies prints before its secret.
const loginError = "cannot log in with"

// run runs an investigation on a worker and then stops the worker. stored returns the content of the store.
func (s *secretWorld) run(worker *process, stored func() []byte) {
	s.t.Helper()
	run := s.beginWith("lab", agent.Request{AlertType: "lab", AllowEmpty: true})
	eventually(s.t, "the error of the server that dies, in the store", func() bool { return bytes.Contains(stored(), []byte(loginError)) })
	s.listed.Release()
	result := s.end("lab")
	s.id = workflows.InvestigationID("lab", run.GetRunID())
	refused := result.Stages[0].Agents[1:8] // the last one is the synthesis
	for _, got := range refused {
		if got.Status != agent.StatusFailed || !strings.Contains(got.Error, "credentials refused") {
			s.t.Errorf("%s: %+v", got.Name, got)
		}
	}
	for _, req := range s.model.Requests() {
		if req.Key != key {
			s.t.Errorf("%s was not asked by the key", req.Model)
		}
	}
	s.places["result"], _ = json.Marshal(result)
	s.places["histories"] = s.histories()
	if !bytes.Contains(s.places["histories"], []byte("it answered 403 Forbidden: not with")) {
		s.t.Error("no error of a tool server is in the histories: there was nothing to keep out of them")
	}
	if worker.terminate() != 0 {
		s.t.Errorf("the worker ended badly:\n%s", worker.log)
	}
	s.places["log of the worker"] = []byte(worker.log.String())
	s.checkServed(s.web)
	s.checkServed(s.events)
}

// checkServed checks that an HTTP server received its secrets and the caller's identity, and that the
// execution's session is closed after the worker has ended.
func (s *secretWorld) checkServed(server *tooltest.Web) {
	s.t.Helper()
	session := s.id + "/dig/Alpha"
	calls := server.Seen("tools/call")
	if len(calls) != 2 {
		s.t.Errorf("%d calls, want one that is refused and one more", len(calls))
	}
	for _, call := range calls {
		want := []string{"Bearer " + bearerSecret, "Basic " + headerSecret, "for " + session}
		got := []string{call.Header.Get("Authorization"), call.Header.Get("X-Key"), call.Header.Get("X-Session")}
		if diff := cmp.Diff(want, got); diff != "" {
			s.t.Errorf("headers of a call (-want +got):\n%s", diff)
		}
	}
	over := 0
	for _, r := range server.Seen("DELETE") {
		if r.Path == "/cleanup/"+session && r.Header.Get("Authorization") == "Bearer "+bearerSecret {
			over++
		}
	}
	if over != 1 {
		s.t.Errorf("the end of the session was told %d times: %v", over, server.Seen("DELETE"))
	}
}

// search looks for secrets in all places: the output of the run, the files of the world, and more.
func (s *secretWorld) search(more map[string][]byte, secrets ...string) {
	s.t.Helper()
	maps.Copy(s.places, s.files())
	maps.Copy(s.places, more)
	for _, known := range []string{"done by Alpha", "The tool echo", loginError} { // a row, a blob, and the text around a secret
		if !bytes.Contains(s.places[s.storePath()], []byte(known)) {
			s.t.Errorf("the search does not find %q in the store: it proves nothing", known)
		}
	}
	for place, content := range s.places {
		for _, secret := range append(secrets, key, toolSecret, bearerSecret, headerSecret) {
			if at := bytes.Index(content, []byte(secret)); at >= 0 {
				s.t.Errorf("%s has %q: …%q…", place, secret, content[max(0, at-80):min(len(content), at+80)])
			}
		}
	}
}

// files returns the world's files, including Temporal's and the store's, but without the configuration.
func (w *world) files() map[string][]byte {
	w.t.Helper()
	all := map[string][]byte{}
	err := filepath.WalkDir(w.data, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && path != w.config {
			all[path], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// histories returns every event of every workflow, as stored.
func (w *world) histories() []byte {
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

// A cancelled investigation stops its running model call within seconds and keeps finished work.
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
	if err := w.client().GetWorkflow(context.Background(), "lab", "").Get(context.Background(), nil); err == nil ||
		!strings.Contains(err.Error(), "cancel") {
		t.Errorf("ended with %v", err)
	}
	took := time.Since(cancelled)
	t.Logf("cancelled within %s", took.Round(time.Millisecond))
	if took > 30*time.Second { // a reply that is not cut off takes minutes
		t.Errorf("the cancellation took %s", took)
	}
	inv, err := w.open().Investigation(context.Background(), workflows.InvestigationID("lab", run.GetRunID()))
	if err != nil || inv.Status != agent.StatusCancelled || inv.EndReason != agent.EndCancelled || inv.Report != "both know" {
		t.Errorf("record %+v, %v", inv, err)
	}
}
