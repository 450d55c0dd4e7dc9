package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// TestOutsideCases plays inputs from public bug reports through the whole system: a model server that rejects
// what strict servers reject, an MCP server that sends raw results, an agent, and the report. All cases share
// one process; each has a separate chain, provider and MCP server.
func TestOutsideCases(t *testing.T) {
	t.Parallel()
	reads := func(want string) func(*testing.T, *outsideCase, record.Investigation) {
		return func(t *testing.T, c *outsideCase, result record.Investigation) {
			if !slices.ContainsFunc(c.received(), func(text string) bool { return strings.Contains(text, want) }) {
				t.Errorf("no tool result that the model read contains %q: %q", want, c.received())
			}
		}
	}
	const done = "Done: root cause found."
	badArguments := []string{
		`{"q":`, "```json\n{\"q\": \"x\"}\n```", `{"q":"x"}{"q":"y"}`, `["x"]`, `"x"`, `17`,
	}
	cases := []*outsideCase{
		{name: "1-no-properties", report: done, check: reads("called plain")},
		{name: "2-array-without-items", report: done, check: reads("called plain")},
		{name: "4-broken-arguments-in-history", report: done, check: refusesArguments(`{"q": "x"}</tool_call>`)},
		{name: "6-nameless-call", report: done, check: reads("nknown tool")},
		{name: "8-answer-before-an-empty-end", report: "The disk of db-1 is full since 02:10", check: calls(`{"q":"note"}`)},
		{name: "9-conclusion-without-tools", report: "Concluded.", requests: 9,
			check: calls(slices.Repeat([]string{`{"q":"same"}`}, 8)...)},
		{name: "11-int64-in-structured-content", report: done, check: func(t *testing.T, c *outsideCase, result record.Investigation) {
			reads("1915883588174806058")(t, c, result)
			reads("9007199254740993")(t, c, result)
		}},
		{name: "12-call-written-as-text", report: done, check: reads("called plain")},
		{name: "12-call-quoted-from-a-result", report: "The log of the pod has this line:", requests: 2, check: runsNoQuotedCall},
		{name: "16-error-with-status-200", status: agent.StatusFailed, requests: 3, check: wrongBaseURL},
		{name: "16-html-page", status: agent.StatusFailed, requests: 3, check: wrongBaseURL,
			script: answers(`{"status":200,"body":"<!doctype html><title>Sign in</title>","type":"text/html"}`)},
		{name: "16-not-found-page", status: agent.StatusFailed, requests: 3, check: wrongBaseURL,
			script: answers(`{"status":404,"body":"<html><h1>404 Not Found</h1>nginx</html>","type":"text/html"}`)},
		{name: "24-arguments-as-an-object", report: "Done.", check: calls(`{"q":"x"}`)},
		{name: "null-arguments", report: done, check: calls("{}"), script: callThen("noargs", `null`, done)},
		{name: "twice-encoded-arguments", report: done, check: calls(`{"q":"x"}`), script: callThen("plain", `"{\"q\":\"x\"}"`, done)},
	}
	for n, args := range badArguments {
		cases = append(cases, &outsideCase{
			name: fmt.Sprintf("4-broken-arguments-%d", n), report: done, script: callThen("plain", args, done), check: refusesArguments(args),
		})
	}
	cases = append(cases, modelCases(done)...)
	cases = append(cases, &outsideCase{
		name: "22-server-that-never-lists", report: done, script: callThen("plain", `{"q":"x"}`, done), hangs: true,
		check: func(t *testing.T, c *outsideCase, result record.Investigation) {
			asksAtOnce(t, c, result)
			calls(`{"q":"x"}`)(t, c, result)
			reads("called plain")(t, c, result)
			notices("hang is not available")(t, c, result)
		},
	})

	var config strings.Builder
	config.WriteString("llm_providers:\n")
	for n, c := range cases {
		c.start(t)
		fmt.Fprintf(&config, "  p%d: {type: openai, model: fake-1, base_url: %q, api_key_env: E2E_KEY, api: chat_completions}\n",
			n, c.model.URL+"/v1")
	}
	config.WriteString("mcp_servers:\n")
	for n, c := range cases {
		fmt.Fprintf(&config, "  s%d: {transport: {type: http, url: %q}}\n", n, c.tools.URL+"/mcp")
		if c.hangs {
			fmt.Fprintf(&config, "  hang: {transport: {type: http, url: %q}}\n", c.tools.URL+"/hang")
		}
	}
	config.WriteString("agents:\n")
	for n, c := range cases {
		servers := fmt.Sprintf("s%d", n)
		if c.hangs {
			servers += ", hang"
		}
		fmt.Fprintf(&config, "  A%d: {description: looks, mcp_servers: [%s], max_iterations: 8, tool_config: {repeats: allow}}\n", n, servers)
	}
	config.WriteString("agent_chains:\n")
	for n := range cases {
		fmt.Fprintf(&config, "  c%d: {llm_provider: p%d, stages: [{name: s, agents: [{name: A%d}]}]}\n", n, n, n)
	}
	w := newWorld(t, newScript().script(), config.String())
	w.dev()
	for n, c := range cases {
		w.beginWith(c.name, agent.Request{Chain: fmt.Sprintf("c%d", n), Data: json.RawMessage(`"what happened?"`)})
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			result := w.in(t).ended(c.name)
			if want := cmp.Or(c.status, agent.StatusCompleted); result.Status != want {
				t.Errorf("the investigation is %s: %s", result.Status, result.Error)
			}
			if report, _, _ := w.in(t).starter("", "report", c.name); !strings.Contains(report, c.report) {
				t.Errorf("report %q, want %q", report, c.report)
			}
			if got := len(c.asked()); c.requests > 0 && got > c.requests {
				t.Errorf("%d requests to the model, want at most %d", got, c.requests)
			}
			c.entries = w.in(t).entries(result.ID)
			if c.check != nil {
				c.check(t, c, result)
			}
		})
	}
}

// asksAtOnce expects that no model call waited for the server that lists no tools. Before the wait for a
// listing was limited, each call waited for more than two minutes.
func asksAtOnce(t *testing.T, c *outsideCase, result record.Investigation) {
	t.Helper()
	if asked := c.asked(); len(asked) < 2 || asked[0].Sub(result.StartedAt) > time.Minute || asked[1].Sub(asked[0]) > time.Minute {
		t.Errorf("the model calls waited for a server that does not list its tools: began %v, asked %v", result.StartedAt, asked)
	}
}

// runsNoQuotedCall expects that a call which the model only quotes from a result is not made, and that the transcript
// names the tool.
func runsNoQuotedCall(t *testing.T, c *outsideCase, result record.Investigation) {
	t.Helper()
	if received := c.received(); slices.ContainsFunc(received, func(text string) bool { return strings.Contains(text, "called noargs") }) {
		t.Errorf("the quoted call was made: %q", received)
	}
	names := func(e transcript.Entry) bool {
		return e.Kind == transcript.KindNotice && strings.Contains(e.Text, "The reply text contains a call to ") &&
			strings.Contains(e.Text, ".noargs that also appears in the model's input. The call was not made")
	}
	if !slices.ContainsFunc(c.entries, names) {
		t.Errorf("the transcript does not name the quoted call: %+v", c.entries)
	}
}

// aboutArguments matches the result of a call whose arguments are no JSON object.
var aboutArguments = regexp.MustCompile(`arguments (?:are not valid JSON|must be a JSON object, not an? (?:array|string|number))`)

// refusesArguments expects that a call is not made because its arguments are no JSON object, that the model is told why, and
// that the transcript has the arguments as the model wrote them. The server checks that they are sent back as an object.
func refusesArguments(args string) func(*testing.T, *outsideCase, record.Investigation) {
	return func(t *testing.T, c *outsideCase, _ record.Investigation) {
		t.Helper()
		received := c.received()
		if len(received) != 1 || !aboutArguments.MatchString(received[0]) || strings.Contains(received[0], "called plain") {
			t.Errorf("the model was told %q, want why its arguments are refused", received)
		}
		var written []string
		for _, e := range c.entries {
			for _, call := range e.Calls {
				written = append(written, call.Arguments)
			}
		}
		if !slices.Equal(written, []string{args}) {
			t.Errorf("the transcript has calls with the arguments %q, want %q", written, args)
		}
	}
}

// ended waits until an investigation ends, with any outcome, and returns its record.
func (w *world) ended(id string) record.Investigation {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	if err := w.client().GetWorkflow(ctx, id, "").Get(ctx, nil); ctx.Err() != nil {
		w.t.Fatalf("investigation %s has not ended: %v", id, err)
	}
	var all []record.Investigation
	w.decode(&all, "list", "--json", "--limit", "0")
	n := slices.IndexFunc(all, func(r record.Investigation) bool { return r.WorkflowID == id })
	if n < 0 {
		w.t.Fatalf("investigation %s is not listed", id)
	}
	return all[n]
}

// wrongBaseURL expects an error that names the base_url, and no tokens counted for replies that did not come from a model.
func wrongBaseURL(t *testing.T, c *outsideCase, result record.Investigation) {
	t.Helper()
	if !strings.Contains(result.Error, "base_url") {
		t.Errorf("the error does not name base_url: %s", result.Error)
	}
	if tokens := result.Usage.InputTokens + result.Usage.OutputTokens; tokens != 0 {
		t.Errorf("%d tokens are counted", tokens)
	}
}

// TestOutsideSickConversation has a provider fail one conversation, which must end soon. Six other
// conversations of the same provider neither wait for it nor meet an open circuit.
func TestOutsideSickConversation(t *testing.T) {
	t.Parallel()
	c := &outsideCase{name: "5-poisoned", script: outsideScript{
		Poison: "POISON",
		Replies: []json.RawMessage{[]byte(`{"status":500,` +
			`"body":"{\"error\":{\"message\":\"Failed to parse tool call arguments as JSON\",\"code\":500}}"}`)},
		Healthy: []json.RawMessage{[]byte(`[{"call":["c1","plain","{\"q\":\"x\"}"]}]`), []byte(`["Done."]`)},
	}}
	c.start(t)
	w := newWorld(t, newScript().script(), fmt.Sprintf(`
llm_providers: {p: {type: openai, model: fake-1, base_url: %q, api_key_env: E2E_KEY, api: chat_completions}}
mcp_servers: {s: {transport: {type: http, url: %q}}}
agents: {A: {description: looks, mcp_servers: [s], max_iterations: 8}}
agent_chains: {c: {llm_provider: p, stages: [{name: s, agents: [{name: A}]}]}}
`, c.model.URL+"/v1", c.tools.URL+"/mcp"))
	w.dev()
	w.beginWith("sick", agent.Request{Chain: "c", Data: json.RawMessage(`"POISON"`)})
	eventually(t, "the sick conversation fails twice", func() bool { return len(c.asked()) >= 2 })
	for n := range 6 {
		w.beginWith(fmt.Sprint("healthy-", n), agent.Request{Chain: "c", Data: json.RawMessage(`"x"`)})
	}
	for n := range 6 {
		result := w.ended(fmt.Sprint("healthy-", n))
		if result.Status != agent.StatusCompleted {
			t.Errorf("a healthy investigation is %s: %s", result.Status, result.Error)
		}
		for _, e := range w.entries(result.ID) {
			if e.Kind == transcript.KindNotice {
				t.Errorf("a healthy investigation has a notice: %s", e.Text)
			}
		}
	}
	result := w.ended("sick")
	if result.Status != agent.StatusFailed || !strings.Contains(result.Error, "Failed to parse tool call arguments") {
		t.Errorf("the sick investigation is %s: %s", result.Status, result.Error)
	}
	if out := w.must("doctor"); strings.Contains(out, "not called since") {
		t.Errorf("the circuit of the provider is open:\n%s", out)
	}
}

// answers gives the same reply to every request.
func answers(reply string) outsideScript {
	return outsideScript{Replies: []json.RawMessage{[]byte(reply)}}
}

// callThen calls a tool with these arguments and then writes a text. The server rejects arguments that are not a JSON object.
func callThen(tool, args, text string) outsideScript {
	call, _ := json.Marshal([]any{map[string]any{"call": []string{"c1", tool, args}}})
	said, _ := json.Marshal([]string{text})
	return outsideScript{Rules: []string{"json-args"}, Replies: []json.RawMessage{call, said}}
}

// outsideScript describes a case's model server; testdata/outside/*/reply.json has the same form.
type outsideScript struct {
	// Rules name the requests that the server rejects: see refusal.
	Rules []string `json:"rules"`
	// Replies are chosen by the number of assistant messages in the request; the last one repeats. Each is a
	// list of parts (a text, {"call": [id, tool, arguments]}, {"delta": …}, {"raw": a part of the stream} or {"finish": …}) or
	// {"status", "body", "type"}.
	Replies []json.RawMessage `json:"replies"`
	// Poison limits Replies to requests that contain it; all others get Healthy.
	Poison  string            `json:"poison"`
	Healthy []json.RawMessage `json:"healthy"`
}

// outsideCase is one input with its expected outcome.
type outsideCase struct {
	name     string
	script   outsideScript // empty means the script in the folder testdata/outside/NAME
	hangs    bool          // a second MCP server never answers tools/list
	status   agent.Status  // empty means completed
	report   string        // a part of the report
	requests int           // maximum number of model requests; 0 means any number
	check    func(*testing.T, *outsideCase, record.Investigation)

	model, tools *httptest.Server
	entries      []transcript.Entry // of the transcript; set before check
	mu           sync.Mutex
	times        []time.Time
	results      []string
	arguments    []string
}

func (c *outsideCase) asked() []time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.times)
}

// received returns the tool results that the model received.
func (c *outsideCase) received() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.results)
}

func (c *outsideCase) start(t *testing.T) {
	t.Helper()
	dir := filepath.Join("testdata", "outside", c.name)
	catalogue := toolCatalogue{called: c.gets, Tools: json.RawMessage(`[
		{"name":"plain","description":"says hello","inputSchema":{"type":"object","properties":{"q":{"type":"string"}}}},
		{"name":"noargs","description":"takes nothing","inputSchema":{"type":"object"}}]`)}
	if len(c.script.Replies) == 0 {
		readJSON(t, filepath.Join(dir, "reply.json"), &c.script)
		if _, err := os.Stat(filepath.Join(dir, "tools.json")); err == nil {
			readJSON(t, filepath.Join(dir, "tools.json"), &catalogue)
		}
	}
	c.model = httptest.NewServer(http.HandlerFunc(c.serveModel))
	t.Cleanup(c.model.Close)
	held := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", catalogue.serve)
	mux.HandleFunc("/hang", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), `"tools/list"`) {
			select {
			case <-held:
			case <-r.Context().Done():
			}
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		catalogue.serve(w, r)
	})
	c.tools = httptest.NewServer(mux)
	t.Cleanup(c.tools.Close)
	t.Cleanup(func() { close(held) })
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	body, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(body, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// toolCatalogue is a stateless MCP server that sends its tools and results exactly as written.
type toolCatalogue struct {
	Tools   json.RawMessage            `json:"tools"`
	Results map[string]json.RawMessage `json:"results"`
	called  func(arguments string)     // may be nil
}

func (s *toolCatalogue) serve(w http.ResponseWriter, r *http.Request) {
	var request struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Name            string
			ProtocolVersion string
			Arguments       json.RawMessage
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil || r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if request.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	result := `{}`
	switch request.Method {
	case "initialize":
		result = fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`,
			request.Params.ProtocolVersion)
	case "tools/list":
		result = fmt.Sprintf(`{"tools":%s}`, s.Tools)
	case "tools/call":
		if s.called != nil {
			s.called(string(request.Params.Arguments))
		}
		result = fmt.Sprintf(`{"content":[{"type":"text","text":"called %s"}]}`, request.Params.Name)
		if raw, ok := s.Results[request.Params.Name]; ok {
			result = string(raw)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, request.ID, result)
}

// chatRequest holds the parts of a request that the model server reads.
type chatRequest struct {
	Model    string
	Messages []struct {
		Role      string
		Content   any
		Reasoning *string `json:"reasoning_content"`
		ToolCalls []struct {
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
	Tools []struct {
		Function struct {
			Name       string
			Parameters map[string]any
		}
	}
	Choice any `json:"tool_choice"`
}

func (c *outsideCase) serveModel(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var request chatRequest
	if err != nil || json.Unmarshal(body, &request) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	turn := 0
	c.mu.Lock()
	c.times = append(c.times, time.Now())
	for _, m := range request.Messages {
		switch m.Role {
		case "assistant":
			turn++
		case "tool":
			c.results = append(c.results, fmt.Sprint(m.Content))
		}
	}
	c.mu.Unlock()
	status, message := c.script.refusal(request)
	if status == 0 {
		status, message = c.script.refusedMessages(request)
	}
	if message != "" {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":{"message":%q,"type":"invalid_request_error"}}`, message)
		return
	}
	replies := c.script.Replies
	if c.script.Poison != "" && !strings.Contains(string(body), c.script.Poison) {
		replies = c.script.Healthy
	}
	reply := replies[min(turn, len(replies)-1)]
	answer(w, request, bytes.ReplaceAll(reply, []byte("s__plain"), []byte(wireName(request, "__plain")))) // raw deltas use this name
}

// answer sends a reply: a stream of its parts, or only a status and a body.
func answer(w http.ResponseWriter, request chatRequest, reply json.RawMessage) {
	var bare struct {
		Status     int
		Body, Type string
	}
	if json.Unmarshal(reply, &bare) == nil && bare.Status != 0 {
		w.Header().Set("Content-Type", cmp.Or(bare.Type, "application/json"))
		w.WriteHeader(bare.Status)
		_, _ = io.WriteString(w, bare.Body)
		return
	}
	var parts []any
	_ = json.Unmarshal(reply, &parts)
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(delta any, finish any) {
		chunk, _ := json.Marshal(map[string]any{
			"id": "c", "object": "chat.completion.chunk", "created": 1, "model": request.Model,
			"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}},
		})
		fmt.Fprintf(w, "data: %s\n\n", chunk)
	}
	event(map[string]any{"role": "assistant", "content": ""}, nil)
	finish := "stop"
	for n, part := range parts {
		switch part := part.(type) {
		case string:
			event(map[string]any{"content": part}, nil)
		case map[string]any:
			if raw, ok := part["raw"].(string); ok {
				_, _ = io.WriteString(w, strings.ReplaceAll(raw, "NAME", wireName(request, "__plain")))
				break
			}
			if reason, ok := part["finish"].(string); ok {
				finish = reason
				break
			}
			delta, raw := part["delta"].(map[string]any)
			if !raw || delta["tool_calls"] != nil {
				finish = "tool_calls"
			}
			if raw {
				event(delta, nil)
				break
			}
			call := part["call"].([]any)
			event(map[string]any{"tool_calls": []any{map[string]any{"index": n, "id": call[0], "type": "function",
				"function": map[string]any{"name": wireName(request, call[1].(string)), "arguments": call[2]}}}}, nil)
		}
	}
	event(map[string]any{}, finish)
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// wireName returns the name under which a tool was offered; "=x" means x itself.
func wireName(request chatRequest, tool string) string {
	if exact, ok := strings.CutPrefix(tool, "="); ok {
		return exact
	}
	for _, offered := range request.Tools {
		if strings.HasSuffix(offered.Function.Name, tool) {
			return offered.Function.Name
		}
	}
	return tool
}

var chatName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// refusal returns a strict server's response to a bad request: OpenAI checks schemas and names; vLLM, Kimi and Mistral reject
// arguments that are not a JSON object; Bedrock behind a proxy rejects calls without declared tools. An empty string means accepted.
func (s outsideScript) refusal(request chatRequest) (int, string) {
	on := func(rule string) bool { return slices.Contains(s.Rules, rule) }
	for _, offered := range request.Tools {
		parameters := offered.Function.Parameters
		if _, ok := parameters["properties"]; !ok && on("openai-schema") {
			return 400, "object schema missing properties"
		}
		if on("openai-schema") && arrayWithoutItems(parameters) {
			return 400, "array schema missing items"
		}
	}
	calls := 0
	for _, m := range request.Messages {
		for _, call := range m.ToolCalls {
			calls++
			var object map[string]any
			switch err := json.Unmarshal([]byte(call.Function.Arguments), &object); {
			case on("names") && !chatName.MatchString(call.Function.Name):
				return 400, "tool_calls[0].function.name: invalid or missing"
			case on("json-args") && (err != nil || object == nil):
				return 400, "function.arguments must be a JSON object"
			}
		}
	}
	if on("tools-with-history") && calls == 8 && request.Choice != "none" {
		return 400, "The conclusion may still call tools."
	}
	if on("tools-with-history") && calls > 0 && len(request.Tools) == 0 {
		return 400, "The toolConfig field must be defined when using toolUse and toolResult content blocks."
	}
	return 0, ""
}

func arrayWithoutItems(schema any) bool {
	switch schema := schema.(type) {
	case map[string]any:
		if _, ok := schema["items"]; schema["type"] == "array" && !ok {
			return true
		}
		for _, v := range schema {
			if arrayWithoutItems(v) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(schema, arrayWithoutItems)
	}
	return false
}
