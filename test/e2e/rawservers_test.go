package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// envRawServer makes a process of this test binary an MCP server whose answers are exact bytes. Its value is a rawServer.
const envRawServer = "E2E_RAW_SERVER"

// rawServer answers over its standard streams.
type rawServer struct {
	Tools  string // the list of tools/list
	Result string // of every call
	Gate   string // tools/list is answered once this file exists
	Never  bool   // tools/list is never answered
}

func (s rawServer) serve() {
	var mu sync.Mutex
	answer := func(id json.RawMessage, result string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
	}
	for lines := bufio.NewReader(os.Stdin); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var r struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(line, &r) != nil || r.ID == nil {
			continue
		}
		switch r.Method {
		case "initialize":
			answer(r.ID, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`)
		case "tools/list":
			if s.Never {
				continue
			}
			go func() {
				for s.Gate != "" {
					if _, err := os.Stat(s.Gate); err == nil {
						break
					}
					time.Sleep(20 * time.Millisecond)
				}
				answer(r.ID, `{"tools":[`+s.Tools+`]}`)
			}()
		case "tools/call":
			answer(r.ID, s.Result)
		default:
			answer(r.ID, "{}")
		}
	}
}

// transport is the configuration that starts the server.
func (s rawServer) transport(t *testing.T) string {
	t.Helper()
	received, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := json.Marshal(map[string]any{"command": os.Args[0], "env": map[string]string{envRawServer: string(received)}})
	if err != nil {
		t.Fatal(err)
	}
	return string(transport)
}

const rawConfig = `
llm_providers:
  lab-model: {type: openai, model: lab-1, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
defaults: {llm_provider: lab-model}
mcp_servers:
%s
agents:
  A: {description: looks, mcp_servers: [%s], max_iterations: 200}
agent_chains:
  raw: {stages: [{name: s, agents: [{name: A}]}]}
`

// rawConfigOf is the configuration of an agent with the given servers.
func rawConfigOf(t *testing.T, servers map[string]rawServer) string {
	var entries, names []string
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		entries, names = append(entries, fmt.Sprintf("  %s: {transport: %s}", name, servers[name].transport(t))), append(names, name)
	}
	return fmt.Sprintf(rawConfig, strings.Join(entries, "\n"), strings.Join(names, ", "))
}

func listedTool(name string) string {
	return fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object","properties":{}},"annotations":{"readOnlyHint":true}}`, name)
}

// Integers above 2^53 keep their digits from the server to the report (go-sdk #1236), and content of an unknown
// type does not affect the rest of a result.
func TestResultsAreWhole(t *testing.T) {
	t.Parallel()
	const ids = `{"trace_id":1915883588174806058,"span":9007199254740993,"huge":1e400,"one":1.0}`
	server := rawServer{
		Tools: listedTool("find"),
		Result: `{"content":[{"type":"text","text":"1 row"},{"type":"audio","mimeType":"audio/wav","data":"AAE="},` +
			`{"type":"hologram","id":9007199254740995}],"structuredContent":` + ids + `}`,
	}
	var shown string
	w := newWorld(t, func(req llmtest.Request) llmtest.Reply {
		if turnOf(req) == 1 {
			return llmtest.Calls(llmtest.Call{Name: "s__find", Args: `{"id":9007199254740997}`})
		}
		shown = req.Last().Text()
		return llmtest.Text("It says: " + shown)
	}, rawConfigOf(t, map[string]rawServer{"s": server}))
	w.dev()
	w.beginWith("digits", agent.Request{Chain: "raw", Data: json.RawMessage(`"which trace?"`)})
	result := w.end("digits")
	results := w.results(result.ID)
	if result.Status != agent.StatusCompleted || len(results) != 1 {
		t.Fatalf("%+v; results %+v", result, results)
	}
	wanted := []string{
		"1 row", "[audio, audio/wav, 2 bytes: kept as an artifact]", `[content of unknown type "hologram"]`, "9007199254740995",
		"1915883588174806058", "9007199254740993", "1e400", "1.0",
	}
	for place, text := range map[string]string{"model": shown, "report": result.Report, "transcript": results[0].Text} {
		for _, want := range wanted {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %s in %s", place, want, text)
			}
		}
	}
	var kept []string
	for _, hash := range results[0].Artifacts {
		blob, err := w.open().Blob(context.Background(), hash)
		var artifact tool.Artifact
		if err != nil || json.Unmarshal(blob, &artifact) != nil {
			t.Fatalf("artifact %s: %s, %v", hash, blob, err)
		}
		kept = append(kept, string(artifact.Content()))
	}
	const structured = `{"huge":1e400,"one":1.0,"span":9007199254740993,"trace_id":1915883588174806058}`
	if all := strings.Join(kept, "\n"); !strings.Contains(all, structured) || !strings.Contains(all, "9007199254740995") {
		t.Errorf("artifacts: %s", all)
	}
	asked := func(e transcript.Entry) bool {
		return e.Call != nil && strings.Contains(e.Call.Arguments, "9007199254740997")
	}
	if !asked(results[0]) {
		t.Errorf("the call: %+v", results[0].Call)
	}
}

// An agent works without the servers that have not listed their tools within its startup time. The tools of a slow server are
// added when it answers.
func TestServersThatListLate(t *testing.T) {
	t.Parallel()
	gate := t.TempDir() + "/gate"
	done := `{"content":[{"type":"text","text":"done"}]}`
	servers := map[string]rawServer{
		"good":  {Tools: listedTool("find"), Result: done},
		"slow":  {Tools: listedTool("find"), Result: done, Gate: gate},
		"never": {Never: true},
	}
	config := strings.Replace(rawConfigOf(t, servers), "max_iterations: 200", "max_iterations: 200, timeouts: {startup: 5s}", 1)
	w := newWorld(t, func(req llmtest.Request) llmtest.Reply {
		switch last := req.Last().Text(); {
		case req.Offers("slow__find") && strings.Contains(last, "Server slow is now available"):
			return llmtest.Calls(llmtest.Call{Name: "slow__find", Args: "{}"})
		case req.Offers("slow__find"):
			return llmtest.Text("It says: " + last)
		case turnOf(req) == 3: // the first two calls did not wait
			_ = os.WriteFile(gate, nil, 0o600)
		}
		return llmtest.Calls(llmtest.Call{Name: "good__find", Args: "{}"}).Slow(time.Second) // it is asked again after a minute
	}, config)
	w.dev()
	w.beginWith("late", agent.Request{Chain: "raw", Data: json.RawMessage(`"what happened?"`)})
	result := w.end("late")
	if result.Status != agent.StatusCompleted || !strings.HasSuffix(result.Report, "It says: done") {
		t.Errorf("got %+v", result)
	}
	var missing []string
	for _, server := range result.NotChecked {
		missing = append(missing, server.Server)
	}
	if result.EndReason != agent.EndPartial || !slices.Equal(missing, []string{"never"}) {
		t.Errorf("%s: not checked: %+v", result.EndReason, result.NotChecked)
	}
	system := w.requestOf(t, "A").System()
	for _, name := range []string{"slow", "never"} {
		if !strings.Contains(system, "Server "+name+" is not available (it did not list its tools in time)") {
			t.Errorf("the model is not told of %s: %s", name, system)
		}
	}
	var received bytes.Buffer
	for _, e := range w.entries(result.ID) {
		if e.Kind == transcript.KindNotice {
			fmt.Fprintln(&received, e.Text)
		}
	}
	if !strings.Contains(received.String(), "Server never is not available") {
		t.Errorf("people are told: %s", received.String())
	}
}

// Tools that would have the same name for models are reported to people in every view: the list of tools, the
// check of the configuration, the status and the transcript.
func TestToolsThatModelsCallTheSame(t *testing.T) {
	t.Parallel()
	done := `{"content":[{"type":"text","text":"done"}]}`
	w := newWorld(t, func(req llmtest.Request) llmtest.Reply {
		asked := req.Prompt()
		if strings.Count(asked, "it has not listed its tools yet") > strings.Count(asked, "is now available") {
			return llmtest.Calls(llmtest.Call{Name: "a___b", Args: "{}"}).Slow(50 * time.Millisecond) // until both have listed
		}
		return llmtest.Text(fmt.Sprint("It is offered: ", req.Offers("a___b")))
	}, rawConfigOf(t, map[string]rawServer{
		"a": {Tools: listedTool("_b"), Result: done}, "a_": {Tools: listedTool("b"), Result: done},
	}))
	warned, _, _ := w.starter("", "validate", w.config)
	if !strings.Contains(warned, "a tool of \"a\" and one of \"a_\"") {
		t.Errorf("validate, before anybody has asked: %s", warned)
	}
	w.dev()
	w.beginWith("names", agent.Request{Chain: "raw", Data: json.RawMessage(`"what happened?"`)})
	result := w.end("names")
	if result.Report != "It is offered: true" {
		t.Errorf("got %+v", result)
	}
	if !slices.ContainsFunc(w.entries(result.ID), func(e transcript.Entry) bool {
		return e.Kind == transcript.KindNotice && strings.Contains(e.Text, "Tool a_.b is not offered together with a._b")
	}) {
		t.Error("the transcript does not say it")
	}
	for _, args := range [][]string{{"status", "names"}, {"tools", "--config", w.config}, {"validate", w.config}} {
		out, warned, code := w.starter("", args...)
		said := strings.Join(strings.Fields(out+warned), " ")
		if code != 0 || !strings.Contains(said, " is not offered together with a") || !strings.Contains(said, "models would call both a___b") {
			t.Errorf("starter %v, exit code %d: %s", args, code, said)
		}
	}
}
