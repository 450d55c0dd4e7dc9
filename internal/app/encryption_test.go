package app

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/devserver"
	"github.com/inquest-dev/inquest/internal/hook"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/payload"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/builtin"
	"github.com/inquest-dev/inquest/workflows"
)

const (
	oldKey = "old:b2xkIG9sZCBvbGQgb2xkIG9sZCBvbGQgb2xkIG9sZCE="
	newKey = "new:bmV3IG5ldyBuZXcgbmV3IG5ldyBuZXcgbmV3IG5ldyE="
)

// word occurs in every text of the investigation, and must not occur in Temporal's data.
const word = "PERSIMMON"

// having returns an environment with encryption keys.
func having(keys string) func(string) string {
	return func(name string) string { return map[string]string{payload.VariableKeys: keys}[name] }
}

// encryptedHost runs an investigation that uses the word everywhere.
func encryptedHost(t *testing.T, keys, temporal, data, model string) *Host {
	t.Helper()
	weigh := builtin.Tool{
		Spec: tool.Spec{Name: "weigh", Schema: json.RawMessage(`{"type":"object"}`), Risk: agent.RiskReadOnly},
		Run:  func(context.Context, tool.Call) tool.Result { return tool.Failure("Odd", word+"-tool") },
	}
	stage := func(name string, flow config.Flow) *config.Stage {
		return &config.Stage{Name: name, Agents: []*config.StageAgent{{Name: "Digger"}}, Flow: flow}
	}
	host, err := StartHost(t.Context(), HostOptions{
		Temporal: client.Options{HostPort: temporal, Namespace: client.DefaultNamespace}, Data: data,
		DefaultStore: filepath.Join(data, "store.db"), Getenv: having(keys),
		Settings: Settings{Drain: time.Second, Logger: slog.New(slog.DiscardHandler),
			Embedding: &Embedding{
				Tools: []builtin.Tool{weigh},
				Hooks: map[string]hook.Func{"refuse": func(context.Context, hook.Input) (hook.Output, error) {
					return hook.Output{}, errors.New(word + "-hook")
				}},
				Entries: config.Entries{
					LLMProviders: map[string]*config.Provider{"m": {Type: "openai", Model: "m", BaseURL: model}},
					Agents:       map[string]*config.Agent{"Digger": {ToolIDs: []string{"weigh"}, CustomInstructions: word + "-instructions"}},
					AgentChains: map[string]*config.Chain{"c": {LLMProvider: "m", Stages: []*config.Stage{
						stage("open", config.Flow{PreProcess: "refuse", ErrorNext: "dig"}), stage("dig", config.Flow{}),
					}}},
				},
			}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return host
}

// Temporal's data of an encrypted investigation reveals nothing. Keys can be changed while it runs, and the stock SDK's remote
// codec can read it through the endpoint.
func TestEncryption(t *testing.T) {
	t.Parallel()
	temporal := t.TempDir()
	server, err := devserver.Start(t.Context(), devserver.Options{Dir: temporal, Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	hold := llmtest.NewHold()
	model := llmtest.Start(t, llmtest.Sequence(
		llmtest.Calls(llmtest.Call{Name: "weigh", Args: `{"what":"` + word + `-argument"}`}).Text(word+"-aside"),
		llmtest.Text(word+"-report").Hold(hold, 0),
		llmtest.Text(word+"-report").Hold(hold, 0),
		llmtest.Text(word+"-report"),
	))
	data := t.TempDir()
	host := encryptedHost(t, oldKey, server.Address(), data, model.URL)
	run, err := host.Client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: "secret", TaskQueue: workflows.TaskQueue, StaticSummary: word + "-summary",
	}, workflows.TypeInvestigation, agent.Request{Chain: "c", Data: json.RawMessage(`"` + word + `-data"`)})
	if err != nil {
		t.Fatal(err)
	}
	hold.Wait(t)
	if err := host.Client.SignalWorkflow(t.Context(), "secret", "", workflows.SignalGuide,
		workflows.Guide{Text: word + "-guidance"}); err != nil {
		t.Fatal(err)
	}
	if err := host.Stop(); err != nil {
		t.Fatal(err)
	}

	host = encryptedHost(t, newKey+" "+oldKey, server.Address(), data, model.URL) // the new key encrypts from here on
	hold.Release()
	var result workflows.InvestigationResult
	if err := host.Client.GetWorkflow(t.Context(), "secret", run.GetRunID()).Get(t.Context(), &result); err != nil {
		t.Fatal(err)
	}
	if result.Report != word+"-report" {
		t.Errorf("the report is %q", result.Report)
	}
	if err := host.Stop(); err != nil {
		t.Fatal(err)
	}

	locked := payload.Keys{}
	opts := client.Options{HostPort: server.Address(), Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))}
	locked.Protect(&opts)
	reader, err := client.DialContext(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	t.Run("a client without keys is told", func(t *testing.T) {
		err := reader.GetWorkflow(t.Context(), "secret", "").Get(t.Context(), &result)
		if err == nil ||
			!strings.Contains(err.Error(), `encrypted with the key "new", which this program does not have: set INQUEST_ENCRYPTION_KEYS`) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a worker without keys does not start", func(t *testing.T) {
		h, err := StartHost(t.Context(), HostOptions{
			Temporal: client.Options{HostPort: server.Address(), Namespace: client.DefaultNamespace}, Data: data,
			DefaultStore: filepath.Join(data, "store.db"), Getenv: having(""),
			Settings: Settings{Logger: slog.New(slog.DiscardHandler), Embedding: &Embedding{}},
		})
		if !errors.Is(err, payload.ErrLocked) {
			t.Errorf("got %v, %v", h, err)
		}
	})
	t.Run("the stock remote codec reads it", func(t *testing.T) {
		keys, err := payload.ParseKeys(newKey + "," + oldKey)
		if err != nil {
			t.Fatal(err)
		}
		handler, err := payload.Endpoint(payload.EndpointOptions{Keys: keys, Token: "sesame"})
		if err != nil {
			t.Fatal(err)
		}
		endpoint := httptest.NewServer(handler)
		defer endpoint.Close()
		remote := converter.NewRemoteDataConverter(converter.GetDefaultDataConverter(),
			converter.RemoteDataConverterOptions{Endpoint: endpoint.URL + "/sesame"})
		stock, err := client.DialContext(t.Context(), client.Options{HostPort: server.Address(), DataConverter: remote, Logger: opts.Logger})
		if err != nil {
			t.Fatal(err)
		}
		defer stock.Close()
		var result workflows.InvestigationResult
		if err := stock.GetWorkflow(t.Context(), "secret", "").Get(t.Context(), &result); err != nil || result.Report != word+"-report" {
			t.Errorf("%+v, %v", result, err)
		}
	})
	t.Run("histories", func(t *testing.T) { noWordInHistories(t, reader) })
	server.Stop()
	t.Run("the database", func(t *testing.T) { noWordInFiles(t, temporal) })
}

// noWordInHistories reads the histories of all workflows as the server stores them.
func noWordInHistories(t *testing.T, c client.Client) {
	t.Helper()
	all, err := c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	events, text := 0, all.String()
	for _, info := range all.GetExecutions() {
		history := c.GetWorkflowHistory(t.Context(), info.GetExecution().GetWorkflowId(), info.GetExecution().GetRunId(), false, 1)
		for history.HasNext() {
			event, err := history.Next()
			if err != nil {
				t.Fatal(err)
			}
			events++
			text += event.String()
		}
	}
	if i := strings.Index(text, word); i >= 0 {
		t.Errorf("a history says …%s…", text[max(0, i-200):i+40])
	}
	if len(all.GetExecutions()) < 5 || events < 50 || !strings.Contains(text, `"old"`) || !strings.Contains(text, `"new"`) {
		t.Errorf("only %d workflows and %d events, or not both keys", len(all.GetExecutions()), events)
	}
}

func noWordInFiles(t *testing.T, dir string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		body, err := os.ReadFile(filepath.Join(dir, file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if i := strings.Index(string(body), word); i >= 0 {
			t.Errorf("%s holds %q", file.Name(), body[max(0, i-100):i+40])
		}
	}
}
