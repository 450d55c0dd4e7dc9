package llmtest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
)

// request checks the request of a client: it contains the calls and results of a conversation, no thinking, and every
// field that providers require.
func (s suite) request(t *testing.T) {
	t.Parallel()
	srv := Start(t, Always(Text("ok")))
	zero := float32(0)
	_, err := s.connect(srv).Generate(t.Context(), llm.Request{
		Model:        "m",
		Conversation: "i/e",
		Temperature:  &zero,
		MaxTokens:    99,
		Messages: []agent.Message{
			{Role: agent.System, Content: "You investigate."},
			{Role: agent.User, Content: "why <&>?"},
			{Role: agent.Assistant, Thinking: "hm", ToolCalls: []agent.ToolCall{
				{ID: "c1_0", Name: "loki__query", Arguments: `{"q":"x"}`}, {ID: "c1_1", Name: "uptime"}}},
			{Role: agent.ToolRole, ToolCallID: "c1_0", Content: "42", Ref: "1/0"},
			{Role: agent.ToolRole, ToolCallID: "c1_1"},
			{Role: agent.Assistant, Content: "So.", Thinking: "aha"},
			{Role: agent.User, Content: "and?"},
		},
		Tools: []llm.Tool{
			{Name: "loki__query", Description: "asks",
				Schema: json.RawMessage(`{"type":"object","required":["q"],"properties":{"q":{"type":"string"}}}`)},
			{Name: "uptime"},
		},
	}, nil)
	if err != nil {
		t.Fatalf("Generate: %v", err)
	}
	sent := srv.Wait(1).Body
	if s.wire == Anthropic { // on Vertex AI, the version replaces the model
		sent = bytes.Replace(sent, []byte(`"anthropic_version":"vertex-2023-10-16"`), []byte(`"model":"m"`), 1)
	}
	if diff := cmp.Diff(compact(t, []byte(s.wire.wantRequest())), compact(t, sent)); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func (w Wire) wantRequest() string {
	switch w {
	case Gemini:
		return wantGemini
	case GeminiArray:
		return wantArray
	case Anthropic:
		return wantAnthropic
	case Responses:
		return wantResponses
	}
	return wantOpenAI
}

const wantOpenAI = `{
	"model": "m", "temperature": 0, "max_tokens": 99, "stream": true, "stream_options": {"include_usage": true},
	"messages": [
		{"role": "system", "content": "You investigate."},
		{"role": "user", "content": "why <&>?"},
		{"role": "assistant", "content": null, "tool_calls": [
			{"id": "c00001x00", "type": "function", "function": {"name": "loki__query", "arguments": "{\"q\":\"x\"}"}},
			{"id": "c00001x01", "type": "function", "function": {"name": "uptime", "arguments": "{}"}}]},
		{"role": "tool", "tool_call_id": "c00001x00", "content": "42"},
		{"role": "tool", "tool_call_id": "c00001x01", "content": "(no output)"},
		{"role": "assistant", "content": "So."},
		{"role": "user", "content": "and?"}
	],
	"tools": [
		{"type": "function", "function": {"name": "loki__query", "description": "asks",
			"parameters": {"type": "object", "required": ["q"], "properties": {"q": {"type": "string"}}}}},
		{"type": "function", "function": {"name": "uptime", "parameters": {"type": "object", "properties": {}}}}
	]
}`

const wantGemini = `{
	"generationConfig": {"temperature": 0, "maxOutputTokens": 99},
	"systemInstruction": {"role": "user", "parts": [{"text": "You investigate."}]},
	"contents": [
		{"role": "user", "parts": [{"text": "why <&>?"}]},
		{"role": "model", "parts": [
			{"functionCall": {"id": "c00001x00", "name": "loki__query", "args": {"q": "x"}}},
			{"functionCall": {"id": "c00001x01", "name": "uptime"}}]},
		{"role": "user", "parts": [
			{"functionResponse": {"id": "c00001x00", "name": "loki__query", "response": {"output": "42"}}},
			{"functionResponse": {"id": "c00001x01", "name": "uptime", "response": {"output": "(no output)"}}}]},
		{"role": "model", "parts": [{"text": "So."}]},
		{"role": "user", "parts": [{"text": "and?"}]}
	],
	"tools": [{"functionDeclarations": [
		{"name": "loki__query", "description": "asks",
			"parametersJsonSchema": {"type": "object", "required": ["q"], "properties": {"q": {"type": "string"}}}},
		{"name": "uptime"}]}]
}`

const wantArray = `{
	"model": "models/m",
	"generationConfig": {"temperature": 0, "maxOutputTokens": 99, "candidateCount": 1},
	"systemInstruction": {"role": "user", "parts": [{"text": "You investigate."}]},
	"contents": [
		{"role": "user", "parts": [{"text": "why <&>?"}]},
		{"role": "model", "parts": [
			{"functionCall": {"name": "loki__query", "args": {"q": "x"}}},
			{"functionCall": {"name": "uptime", "args": {}}}]},
		{"role": "user", "parts": [
			{"functionResponse": {"name": "loki__query", "response": {"output": "42"}}},
			{"functionResponse": {"name": "uptime", "response": {"output": "(no output)"}}}]},
		{"role": "model", "parts": [{"text": "So."}]},
		{"role": "user", "parts": [{"text": "and?"}]}
	],
	"tools": [{"functionDeclarations": [
		{"name": "loki__query", "description": "asks", "parameters": {"type": 6, "required": ["q"], "properties": {"q": {"type": 1}}}},
		{"name": "uptime"}]}]
}`

const wantAnthropic = `{
	"model": "m", "temperature": 0, "max_tokens": 99, "stream": true,
	"system": [{"type": "text", "text": "You investigate.", "cache_control": {"type": "ephemeral"}}],
	"messages": [
		{"role": "user", "content": [{"type": "text", "text": "why <&>?"}]},
		{"role": "assistant", "content": [
			{"type": "tool_use", "id": "c00001x00", "name": "loki__query", "input": {"q": "x"}},
			{"type": "tool_use", "id": "c00001x01", "name": "uptime", "input": {}}]},
		{"role": "user", "content": [
			{"type": "tool_result", "tool_use_id": "c00001x00", "content": [{"type": "text", "text": "42"}]},
			{"type": "tool_result", "tool_use_id": "c00001x01", "content": [{"type": "text", "text": "(no output)"}],
			 "cache_control": {"type": "ephemeral"}}]},
		{"role": "assistant", "content": [{"type": "text", "text": "So."}]},
		{"role": "user", "content": [{"type": "text", "text": "and?", "cache_control": {"type": "ephemeral"}}]}
	],
	"tools": [
		{"name": "loki__query", "description": "asks",
			"input_schema": {"type": "object", "required": ["q"], "properties": {"q": {"type": "string"}}}},
		{"name": "uptime", "input_schema": {"type": "object", "properties": {}}, "cache_control": {"type": "ephemeral"}}
	]
}`

const wantResponses = `{
	"model": "m", "temperature": 0, "max_output_tokens": 99, "stream": true, "store": false,
	"prompt_cache_key": "44e96c2e6550364b5c0e4f6e093c7ee6",
	"input": [
		{"role": "system", "content": "You investigate."},
		{"role": "user", "content": "why <&>?"},
		{"type": "function_call", "call_id": "c00001x00", "name": "loki__query", "arguments": "{\"q\":\"x\"}"},
		{"type": "function_call", "call_id": "c00001x01", "name": "uptime", "arguments": "{}"},
		{"type": "function_call_output", "call_id": "c00001x00", "output": "42"},
		{"type": "function_call_output", "call_id": "c00001x01", "output": "(no output)"},
		{"role": "assistant", "content": "So."},
		{"role": "user", "content": "and?"}
	],
	"tools": [
		{"type": "function", "name": "loki__query", "description": "asks", "strict": false,
		 "parameters": {"type": "object", "required": ["q"], "properties": {"q": {"type": "string"}}}},
		{"type": "function", "name": "uptime", "strict": false, "parameters": {"type": "object", "properties": {}}}
	]
}`

// compact normalises a JSON text, indented for the diff.
func compact(t *testing.T, data []byte) string {
	t.Helper()
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		t.Fatalf("not JSON: %v: %s", err, data)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// digits checks that numbers in a call's arguments keep every digit from the reply to the next request, with the
// provider's state and without it, as for another provider's reply.
func (s suite) digits(t *testing.T) {
	t.Parallel()
	numbers := []string{"1915883588174806058", "9007199254740993", "-9223372036854775808", "18446744073709551615", "1.10", "1E+2",
		"0.12345678901234567890", "1e300", "7"}
	arguments := `{"ids":[` + strings.Join(numbers, ",") + `],"of":{"span":9007199254740995},"text":"9007199254740997"}`
	srv := Start(t, Sequence(wireCalls([]agent.ToolCall{{ID: "a", Name: "shell", Arguments: arguments}}), Text("ok"), Text("ok")))
	client := s.connect(srv)
	reply, err := client.Generate(t.Context(), plain, nil)
	if err != nil || len(reply.ToolCalls) != 1 || reply.ToolCalls[0].Arguments != arguments {
		t.Fatalf("%v: %+v, want one call with %s", err, reply.ToolCalls, arguments)
	}
	for n, state := range []json.RawMessage{reply.ProviderState, nil} {
		req := plain
		req.Messages = append(slices.Clone(plain.Messages),
			agent.Message{Role: agent.Assistant, ToolCalls: reply.ToolCalls, ProviderState: state},
			agent.Message{Role: agent.ToolRole, ToolCallID: "a", Content: "42"})
		req.Tools = []llm.Tool{{Name: "shell", Schema: json.RawMessage(
			`{"type":"object","properties":{"of":{"type":"integer","maximum":9007199254740999}}}`)}}
		if _, err := client.Generate(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		sent := srv.Wait(n + 2).Body
		for _, number := range append(numbers, "9007199254740995", `"9007199254740997`) {
			if !bytes.Contains(bytes.ReplaceAll(sent, []byte(`\`), nil), []byte(number)) {
				t.Errorf("request %d lacks %s: %s", n, number, sent)
			}
		}
		if s.wire != GeminiArray && !bytes.Contains(sent, []byte("9007199254740999")) { // Google's Schema message has no such keyword
			t.Errorf("the schema in request %d is rounded: %s", n, sent)
		}
	}
}

// refusals returns the errors with which servers of a wire format refuse the schema of the second tool, and a
// parameter.
func (w Wire) refusals() (schema, parameter string) {
	switch w {
	case Gemini, GeminiArray:
		return "* GenerateContentRequest.tools[0].function_declarations[1].parameters.properties: should be non-empty for OBJECT type\n",
			"Unable to submit request because it has a maxOutputTokens value of 9000 but the supported range is from 1 (inclusive) to " +
				"4097 (exclusive). Update the value and try again."
	case Anthropic:
		return "tools.1.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12 " +
				"(https://json-schema.org/draft/2020-12).",
			"max_tokens: 9000 > 4096, which is the maximum allowed number of output tokens for m"
	}
	return "Invalid schema for function 'bad': In context=(), array schema missing items.",
		"max_tokens is too large: 9000. This model supports at most 4096 completion tokens, whereas you provided 9000."
}

// learns checks that a client omits what a server refuses, at once and later, and that the reply says so.
func (s suite) learns(t *testing.T) {
	t.Parallel()
	schema, parameter := s.wire.refusals()
	srv := Start(t, func(req Request) Reply {
		switch {
		case bytes.Contains(req.Body, []byte(`"bad"`)):
			return Refuse(400, "invalid_request_error", schema)
		case bytes.Contains(req.Body, []byte("9000")):
			return Refuse(400, "invalid_request_error", parameter)
		}
		return Text("ok")
	})
	client, req := s.connect(srv), plain
	_, ofProgram := client.(llm.InProcess) // a program's own model does not report omissions
	req.MaxTokens, req.Tools = 9000, []llm.Tool{{Name: "good"}, {Name: "bad"}}
	for range 2 {
		reply, err := client.Generate(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		left := reply.Omitted
		if !ofProgram && (len(left) != 2 || left[0].Tool != "bad" || !strings.Contains(left[1].Why, "4096 instead of 9000")) {
			t.Errorf("omitted %+v, want the tool bad and the limit of tokens", reply.Omitted)
		}
	}
	if asked := len(srv.Requests()); asked != 4 {
		t.Errorf("%d requests, want 4: two refusals and two replies", asked)
	}
}
