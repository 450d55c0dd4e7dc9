package llmtest

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
)

// request checks what a client sends: the calls and results of a conversation,
// nothing of the thinking, and no field that providers require left out.
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
	if s.wire == Anthropic { // at Vertex AI, the version has the place of the model
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

// compact puts a JSON text into one form, indented for the diff.
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
