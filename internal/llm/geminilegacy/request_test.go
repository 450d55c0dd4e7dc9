package geminilegacy_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/geminilegacy"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

// TestRefused are requests that are refused before anything is sent.
func TestRefused(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, llmtest.Always(llmtest.Text("ok")))
	hello := ask("why?").Messages
	tests := map[string]llm.Request{
		"thoughts":                     {Model: "m", Messages: hello, Thinking: agent.Thinking{Mode: agent.ThinkingOn}},
		"native tools":                 {Model: "m", Messages: hello, NativeTools: []llm.NativeTool{llm.GoogleSearch}},
		"tools for a model that signs": {Model: "gemini-3-pro", Messages: hello, Tools: []llm.Tool{{Name: "f"}}},
	}
	for name, req := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := open(t, srv.GeminiURL).Generate(t.Context(), req, nil); !errors.Is(err, llm.ErrInvalidRequest) {
				t.Errorf("error = %v, want %v", err, llm.ErrInvalidRequest)
			}
			if n := len(srv.Requests()); n != 0 {
				t.Errorf("%d requests, want none", n)
			}
		})
	}
}

func TestKey(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, llmtest.Always(llmtest.Text("ok")))
	for name, key := range map[string]func() (string, error){
		"none":      key(""),
		"not there": func() (string, error) { return "", errors.New("GEMINI_API_KEY is not set") },
		"not a key": key("two\nlines"),
	} {
		client, err := geminilegacy.New(llm.Options{Name: "test", BaseURL: srv.GeminiURL, APIKey: key})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Generate(t.Context(), ask("why?"), nil); !errors.Is(err, llm.ErrAuth) && !errors.Is(err, llm.ErrNoKey) {
			t.Errorf("%s: error = %v, want %v", name, err, llm.ErrAuth)
		}
	}
	if n := len(srv.Requests()); n != 0 {
		t.Errorf("%d requests, want none", n)
	}
}

// TestTurns checks that consecutive messages of one role form one turn, that nothing is empty, that invalid UTF-8 is
// replaced, and that the last message is the user's.
func TestTurns(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, llmtest.Always(llmtest.Text("ok")))
	_, err := open(t, srv.GeminiURL).Generate(t.Context(), llm.Request{Model: "m", Messages: []agent.Message{
		{Role: agent.User, Content: "a\xff"},
		{Role: agent.User},
		{Role: agent.User, Content: "b"},
		{Role: agent.Assistant},
		{Role: agent.ToolRole, ToolCallID: "gone", Content: "c"},
		{Role: agent.Assistant, Content: "d"},
		{Role: agent.Assistant, ToolCalls: []agent.ToolCall{{ID: "1", Name: "f", Arguments: "ls"}}},
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	sent(t, srv.Wait(1), "contents", `[{"role":"user","parts":[{"text":"a�"},{"text":"b"},{"text":"c"}]},
		{"role":"model","parts":[{"text":"d"},{"functionCall":{"name":"f","args":{"raw":"ls"}}}]},
		{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"The result is not known."}}}]}]`)
}

func TestSchema(t *testing.T) {
	t.Parallel()
	const number, boolean, text, object = `{"type":3}`, `{"type":4}`, `{"type":1}`, `{"type":6,`
	const anything = `{"type":1,"description":"Any JSON value, encoded as a string."}`
	tests := []struct{ name, schema, want string }{
		{"types", `{"properties":{"i":{"type":"integer"},"b":{"type":"boolean"},"s":{"type":"string"}}}`,
			object + `"properties":{"i":` + number + `,"b":` + boolean + `,"s":` + text + `}}`},
		{"nullable", `{"properties":{"n":{"type":["null","number"],"format":"double"}}}`,
			object + `"properties":{"n":{"type":2,"format":"double","nullable":true}}}`},
		{"enum", `{"properties":{"e":{"type":"string","enum":["a",1,"b"]}}}`,
			object + `"properties":{"e":{"type":1,"format":"enum","enum":["a","b"]}}}`},
		{"list", `{"properties":{"l":{"type":"array","items":{"type":"integer"}},"any":{"type":"array"}}}`,
			object + `"properties":{"l":{"type":5,"items":` + number + `},"any":{"type":5,"items":` + anything + `}}}`},
		{"required but not there", `{"properties":{"a":true},"required":["a","b"]}`,
			object + `"properties":{"a":` + anything + `,"b":` + anything + `},"required":["a","b"]}`},
		{"what it does not know", `{"$defs":{},"properties":{"a":{"anyOf":[],"format":"uuid","minLength":3}}}`,
			object + `"properties":{"a":` + text + `}}`},
		{"references", `{"$defs":{"F":{"type":"object","properties":{"ns":{"type":"string"}}}},"properties":{"f":{"$ref":"#/$defs/F"}}}`,
			object + `"properties":{"f":` + object + `"properties":{"ns":` + text + `}}}}`},
		{"an object without properties", `{"properties":{"labels":{"type":"object","additionalProperties":{"type":"string"}}}}`,
			object + `"properties":{"labels":{"type":1,"description":"A JSON object, encoded as a string."}}}`},
		{"nothing", `{"type":"object"}`, ``},
		{"no object", `true`, ``},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv := llmtest.Start(t, llmtest.Always(llmtest.Text("ok")))
			req := ask("why?")
			req.Tools = []llm.Tool{{Name: "f", Schema: json.RawMessage(tt.schema)}}
			if _, err := open(t, srv.GeminiURL).Generate(t.Context(), req, nil); err != nil {
				t.Fatal(err)
			}
			want := `[{"functionDeclarations":[{"name":"f"}]}]`
			if tt.want != "" {
				want = `[{"functionDeclarations":[{"name":"f","parameters":` + tt.want + `}]}]`
			}
			sent(t, srv.Wait(1), "tools", want)
		})
	}
}

// sent compares a field of a request.
func sent(t *testing.T, req llmtest.Request, field, want string) {
	t.Helper()
	var got map[string]any
	var wanted any
	if err := errors.Join(json.Unmarshal(req.Body, &got), json.Unmarshal([]byte(want), &wanted)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wanted, got[field]); diff != "" {
		t.Errorf("%s (-want +got):\n%s", field, diff)
	}
}

// TestJSON checks that a JSON answer is requested, with its schema if there is one.
func TestJSON(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, llmtest.Always(llmtest.Text("{}")))
	req := ask("why?")
	req.JSON, req.Schema = true, []byte(`{"type":"object","properties":{"n":{"type":"integer","minimum":1}},"required":["n"]}`)
	if _, err := open(t, srv.GeminiURL).Generate(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	var body struct {
		Config struct {
			MIMEType string          `json:"responseMimeType"`
			Schema   json.RawMessage `json:"responseSchema"`
		} `json:"generationConfig"`
	}
	err := json.Unmarshal(srv.Wait(1).Body, &body)
	const want = `{"type":6, "properties":{"n":{"type":3}}, "required":["n"]}`
	if err != nil || body.Config.MIMEType != "application/json" || compacted(t, body.Config.Schema) != compacted(t, []byte(want)) {
		t.Errorf("%+v, %v: %s", body, err, body.Config.Schema)
	}
}

func compacted(t *testing.T, data []byte) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, data); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
