package e2e

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/record"
)

// deliveryConfig has the webhook of case 14, the chain of case 20's alert, and the driver of case 18.
const deliveryConfig = `
llm_providers:
  main: {type: openai, model: lab-1, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
  legacy: {type: google, driver: generative-ai-go, model: gemini-2.0-flash, base_url: "{{.E2E_GEMINI}}", api_key_env: E2E_KEY}
defaults: {llm_provider: main}
mcp_servers: {s: {transport: {type: http, url: "{{.E2E_OUTSIDE}}/mcp"}}}
system:
  http:
    webhooks:
      alertmanager: {}
      sns: {chain: c, mapping: {fingerprint: [Message.AlarmName], status: [Message.NewStateValue], firing: [ALARM], resolved: [OK],
        title: [Subject], starts_at: [Timestamp]}}
agents: {Reader: {}, Legacy: {mcp_servers: [s]}}
agent_chains:
  c: {stages: [{name: s, agents: [{name: Reader}]}]}
  marked: {alert_types: [A], stages: [{name: s, agents: [{name: Reader}]}]}
  gemini: {llm_provider: legacy, llm_backend: native, stages: [{name: s, agents: [{name: Legacy}]}]}
`

// legacyScript is a Gemini server that rejects what Google rejects. Its model calls both tools of case 18 with arguments of the
// declared types.
var legacyScript = llmtest.Strict(llmtest.StrictGemini, func(req llmtest.Request) llmtest.Reply {
	if turnOf(req) > 1 {
		return llmtest.Text("Both tools were called.")
	}
	var calls []llmtest.Call
	for _, tool := range req.Tools {
		var schema struct {
			Properties map[string]struct {
				Type       int
				Properties map[string]any
			}
		}
		_ = json.Unmarshal(tool.Function.Parameters, &schema) // without properties, the arguments are wrong and the call fails
		const asString, asObject = 1, 6                       // generative-ai-go sends the numbers of the types
		args := map[string]any{}
		for name, property := range schema.Properties {
			switch {
			case property.Type == asObject && property.Properties["ns"] != nil:
				args[name] = map[string]string{"ns": "prod"}
			case property.Type == asString:
				args[name] = `{"app":"web"}` // a model answers so to "A JSON object, encoded as a string."
			}
		}
		text, _ := json.Marshal(args) // strings are always JSON
		calls = append(calls, llmtest.Call{Name: tool.Function.Name, Args: string(text)})
	}
	return llmtest.Calls(calls...)
})

// TestOutsideDeliveries plays the cases that come in through a webhook or go out to Gemini's older API, from the bytes of the sender to
// the report.
func TestOutsideDeliveries(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(req llmtest.Request) llmtest.Reply {
		if req.Wire == llmtest.GeminiArray {
			return legacyScript(req)
		}
		return llmtest.Text("One host is busy.")
	}, deliveryConfig)
	var catalogue toolCatalogue
	readJSON(t, filepath.Join("testdata", "outside", "18-gemini-legacy-schema", "tools.json"), &catalogue)
	var mu sync.Mutex
	var called strings.Builder // the bodies of all calls
	tools := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte(`"tools/call"`)) {
			mu.Lock()
			called.Write(append(body, '\n'))
			mu.Unlock()
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		catalogue.serve(w, r)
	}))
	t.Cleanup(tools.Close)
	w.env = append(w.env, "E2E_OUTSIDE="+tools.URL)
	address := freeAddress(t)
	w.dev("--http", address)

	t.Run("14-cloudwatch-by-sns", func(t *testing.T) {
		w := w.in(t)
		body, err := os.ReadFile(filepath.Join("testdata", "outside", "14-cloudwatch-by-sns", "body.json"))
		if err != nil {
			t.Fatal(err)
		}
		if got := deliver(t, address, "sns", "text/plain; charset=UTF-8", body); !strings.HasPrefix(got, `202 {"new":1,`) {
			t.Fatalf("the alarm: %s", got)
		}
		if report := w.must("report", w.startedBy("sns").WorkflowID); !strings.Contains(report, "One host is busy.") {
			t.Errorf("report %q", report)
		}
		bare := bytes.Replace(body, []byte(`NewStateValue`), []byte(`NewState`), 1)
		if got := deliver(t, address, "sns", "text/plain", bare); !strings.HasPrefix(got, "422 ") ||
			!strings.Contains(got, "Message.NewStateValue") {
			t.Errorf("an alarm without the state: %s", got)
		}
		// Only Amazon can sign a subscription, so the test of the API has the confirmed one.
		subscription := bytes.Replace(body, []byte(`"Notification"`), []byte(`"SubscriptionConfirmation"`), 1)
		now := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
		subscription = bytes.Replace(subscription, []byte("2026-11-25T06:59:01.000Z"), []byte(now), 1)
		if got := deliver(t, address, "sns", "text/plain", subscription); !strings.HasPrefix(got, "401 ") ||
			!strings.Contains(got, "cannot be verified as one from Amazon SNS") {
			t.Errorf("a subscription without a signature: %s", got)
		}
	})
	t.Run("18-gemini-legacy-schema", func(t *testing.T) {
		w := w.in(t)
		w.beginWith("gemini", agent.Request{Chain: "gemini", Data: json.RawMessage(`"what happened?"`)})
		if result := w.ended("gemini"); result.Status != agent.StatusCompleted {
			t.Errorf("the investigation is %s: %s", result.Status, result.Error)
		}
		if report := w.must("report", "gemini"); !strings.Contains(report, "Both tools were called.") {
			t.Errorf("report %q", report)
		}
		mu.Lock()
		sent := called.String()
		mu.Unlock()
		for _, want := range []string{`"arguments":{"f":{"ns":"prod"}}`, `"arguments":{"labels":{"app":"web"}}`} {
			if !strings.Contains(sent, want) {
				t.Errorf("no call of the server has %s:\n%s", want, sent)
			}
		}
	})
	t.Run("20-byte-order-mark", func(t *testing.T) {
		w := w.in(t)
		const body = "\xef\xbb\xbf" + `{"alerts":[{"status":"firing","labels":{"alertname":"A"},"startsAt":"2026-11-25T07:00:00Z",` +
			`"fingerprint":"b1"}],"groupKey":"g"}`
		if got := deliver(t, address, "alertmanager", "application/json", []byte(body)); !strings.HasPrefix(got, `202 {"new":1,`) {
			t.Fatalf("the alert: %s", got)
		}
		if report := w.must("report", w.startedBy("alertmanager").WorkflowID); !strings.Contains(report, "One host is busy.") {
			t.Errorf("report %q", report)
		}
	})
}

// deliver posts a body to a webhook and returns the status and body of the response.
func deliver(t *testing.T, address, webhook, contentType string, body []byte) string {
	t.Helper()
	response, err := http.Post("http://"+address+"/webhooks/"+webhook, contentType, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(response.StatusCode, " ", string(text))
}

// startedBy waits until the investigation that a webhook started has ended.
func (w *world) startedBy(webhook string) (found record.Investigation) {
	w.t.Helper()
	eventually(w.t, "the alert has an investigation", func() bool {
		var all []record.Investigation
		w.decode(&all, "list", "--json", "--limit", "0")
		n := slices.IndexFunc(all, func(r record.Investigation) bool { return r.Metadata["webhook"] == webhook })
		if n >= 0 {
			found = all[n]
		}
		return n >= 0
	})
	result := w.ended(found.WorkflowID)
	if result.Status != agent.StatusCompleted {
		w.t.Errorf("the investigation is %s: %s", result.Status, result.Error)
	}
	return result
}

// TestOutsideClientConfig imports the file of an MCP client and runs the configuration that init writes from it: its agents call
// a server over its standard streams and one over HTTP, with the token of the file.
func TestOutsideClientConfig(t *testing.T) {
	t.Parallel()
	t.Run("19-mcp-client-config", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, func(req llmtest.Request) llmtest.Reply {
			if turnOf(req) == 1 && req.Offers("web__plain") && req.Offers("files__echo") {
				return llmtest.Calls(llmtest.Call{Name: "web__plain", Args: `{"q":"x"}`}, llmtest.Call{Name: "files__echo", Args: `{"text":"hello"}`})
			}
			return llmtest.Text(cmp.Or(req.Last().Text(), "No tool is offered."))
		}, "")
		catalogue := toolCatalogue{Tools: json.RawMessage("[" + listedTool("plain") + "]")}
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer x" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			catalogue.serve(w, r)
		}))
		t.Cleanup(web.Close)
		file, err := os.ReadFile(filepath.Join("testdata", "outside", "19-mcp-client-config", "desktop.json"))
		if err != nil {
			t.Fatal(err)
		}
		// Only what this test starts itself differs from the file of the case.
		changed := strings.NewReplacer(`"npx"`, fmt.Sprintf("%q", filepath.Join(bin, "toolserver")), `"-y",`, `"tools"`,
			`"@modelcontextprotocol/server-filesystem",`, "", `"/data"`, "", "http://127.0.0.1:3001/mcp", web.URL+"/mcp").Replace(string(file))
		path, dir := filepath.Join(t.TempDir(), "claude_desktop_config.json"), filepath.Join(t.TempDir(), "desktop")
		if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		out, said, code := w.starter("", "init", dir, "--from", path, "--yes", "--provider", "openai:lab-1", "--base-url", w.model.URL)
		if code != 0 || !strings.Contains(said, "only if mcp_servers.web.risk lists them as read_only") {
			t.Fatalf("init ends with %d:\n%s%s", code, out, said)
		}
		w.config = dir
		written, err := os.ReadFile(filepath.Join(dir, "inquest.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		const server = "  web: # from the file of an MCP client\n"
		if !strings.Contains(string(written), server) || strings.Contains(string(written), "Bearer") {
			t.Fatalf("init wrote:\n%s", written)
		}
		risky := strings.Replace(string(written), server, server+"    risk: {plain: read_only}\n", 1) // as init has said
		if err := os.WriteFile(filepath.Join(dir, "inquest.yaml"), []byte(risky), 0o600); err != nil {
			t.Fatal(err)
		}
		w.dev()
		w.must("run", "--detach", "--chain", "alert", "--data", "@"+filepath.Join(dir, "alert.json"), "--workflow-id", "imported")
		if result := w.ended("imported"); result.Status != agent.StatusCompleted {
			t.Errorf("the investigation is %s: %s", result.Status, result.Error)
		}
		shown := w.must("show", "imported")
		if !strings.Contains(shown, "called plain") || !strings.Contains(shown, "hello") {
			t.Errorf("the agent did not read the results of both servers:\n%s", shown)
		}
	})
}
