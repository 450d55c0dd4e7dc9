package gemini_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

func TestAskedFor(t *testing.T) {
	t.Parallel()
	const thoughts = `{"generationConfig":{"thinkingConfig":{"includeThoughts":true}}}`
	search := []llm.NativeTool{llm.GoogleSearch}
	function := []llm.Tool{{Name: "f"}}
	tests := []struct {
		name string
		req  llm.Request
		want string
	}{
		{"an old model", llm.Request{Model: "gemini-2.0-flash"}, `{}`},
		{"thoughts, asked for", llm.Request{Model: "gemini-2.0-flash", Thinking: agent.Thinking{Mode: agent.ThinkingOn}}, thoughts},
		{"a model that thinks", llm.Request{Model: "gemini-2.5-flash"}, thoughts},
		{"no thoughts", llm.Request{Model: "gemini-2.5-flash", Thinking: agent.Thinking{Mode: agent.ThinkingOff}},
			`{"generationConfig":{"thinkingConfig":{"thinkingBudget":0}}}`},
		{"a budget", llm.Request{Model: "gemini-2.5-flash", Thinking: agent.Thinking{Mode: agent.ThinkingOn, Budget: 700}},
			`{"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingBudget":700}}}`},
		{"as the model decides", llm.Request{Model: "gemini-2.5-pro", Thinking: agent.Thinking{Mode: agent.ThinkingAdaptive}},
			`{"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingBudget":-1}}}`},
		{"a level, where there are budgets", llm.Request{Model: "gemini-2.5-pro", Thinking: agent.Thinking{Effort: "medium"}},
			`{"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingBudget":8192}}}`},
		{"a level", llm.Request{Model: "gemini-3.1-pro-preview", Thinking: agent.Thinking{Effort: "low"}},
			`{"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"LOW"}}}`},
		{"a newer one", llm.Request{Model: "gemini-3-pro-preview"}, thoughts},
		{"the latest", llm.Request{Model: "gemini-flash-latest"}, thoughts},
		{"one that draws", llm.Request{Model: "gemini-2.5-flash-image"}, `{}`},
		{"not Gemini", llm.Request{Model: "gemma-3"}, `{}`},
		{"native tools", llm.Request{Model: "m", NativeTools: []llm.NativeTool{llm.GoogleSearch, llm.URLContext, llm.CodeExecution}},
			`{"tools":[{"googleSearch":{}},{"urlContext":{}},{"codeExecution":{}}]}`},
		{"both kinds of tools", llm.Request{Model: "m", NativeTools: search, Tools: function},
			`{"tools":[{"functionDeclarations":[{"name":"f"}]}]}`},
		{"JSON", llm.Request{Model: "m", JSON: true}, `{"generationConfig":{"responseMimeType":"application/json"}}`},
		{"JSON of a schema", llm.Request{Model: "gemini-2.5-flash", JSON: true, Schema: []byte(`{"type":"object"}`)},
			`{"generationConfig":{"thinkingConfig":{"includeThoughts":true},"responseMimeType":"application/json",` +
				`"responseJsonSchema":{"type":"object"}}}`},
		{"JSON of a schema, an old model", llm.Request{Model: "m", JSON: true, Schema: []byte(`{"type":"object"}`)},
			`{"generationConfig":{"responseMimeType":"application/json"}}`},
		{"JSON beside native tools", llm.Request{Model: "m", JSON: true, NativeTools: search}, `{"tools":[{"googleSearch":{}}]}`},
		{"JSON beside native tools, a newer model", llm.Request{Model: "gemini-3-x", JSON: true, NativeTools: search},
			`{"generationConfig":{"thinkingConfig":{"includeThoughts":true},"responseMimeType":"application/json"},"tools":[{"googleSearch":{}}]}`},
		{"both kinds of tools, a newer model", llm.Request{Model: "gemini-3-x", NativeTools: search, Tools: function},
			`{"generationConfig":{"thinkingConfig":{"includeThoughts":true}},"tools":[{"functionDeclarations":[{"name":"f"}]},{"googleSearch":{}}],
			  "toolConfig":{"includeServerSideToolInvocations":true}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv := llmtest.Start(t, llmtest.Always(llmtest.Text("ok")))
			tt.req.Messages = ask("why?").Messages
			if _, err := open(t, srv.GeminiURL).Generate(t.Context(), tt.req, nil); err != nil {
				t.Fatal(err)
			}
			var got, want map[string]any
			if err := errors.Join(json.Unmarshal(srv.Wait(1).Body, &got), json.Unmarshal([]byte(tt.want), &want)); err != nil {
				t.Fatal(err)
			}
			delete(got, "contents")
			if config, ok := got["generationConfig"].(map[string]any); ok && len(config) == 0 {
				delete(got, "generationConfig")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

// TestUnsendable are requests that are refused before anything is sent.
func TestUnsendable(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, llmtest.Always(llmtest.Text("ok")))
	tests := map[string]llm.Request{
		"a native tool that is none": {Model: "m", NativeTools: []llm.NativeTool{"crystal_ball"}},
		"no model":                   {},
		"a model that is a path":     {Model: "../../files"},
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

// TestImages checks that images are in their results from Gemini 3 on, and otherwise after all results.
func TestImages(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]string{
		"gemini-2.5-pro": `[{"functionResponse":{"id":"c00001x00","name":"shot","response":{"output":"a"}}},` +
			`{"functionResponse":{"id":"c00001x01","name":"shot","response":{"output":"b"}}},` +
			`{"text":"Image 1 of the result of call c00001x00:"},{"inlineData":{"data":"UE5H","mimeType":"image/png"}},{"text":"Go on."}]`,
		"gemini-3-pro": `[{"functionResponse":{"id":"c00001x00","name":"shot","parts":[{"inlineData":{"data":"UE5H","mimeType":"image/png"}}],` +
			`"response":{"output":"a"}}},` +
			`{"functionResponse":{"id":"c00001x01","name":"shot","response":{"output":"b"}}},{"text":"Go on."}]`,
	} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			srv := llmtest.Start(t, llmtest.Always(llmtest.Text("I see.")))
			req := ask("why?")
			req.Model = model
			req.Messages = append(req.Messages,
				agent.Message{Role: agent.Assistant, ToolCalls: []agent.ToolCall{{ID: "c1_0", Name: "shot"}, {ID: "c1_1", Name: "shot"}}},
				agent.Message{Role: agent.ToolRole, ToolCallID: "c1_0", Content: "a", Images: []agent.Image{{Type: "image/png", Data: []byte("PNG")}}},
				agent.Message{Role: agent.ToolRole, ToolCallID: "c1_1", Content: "b", Images: []agent.Image{{Type: "image/png"}}},
				agent.Message{Role: agent.User, Content: "Go on."})
			if _, err := open(t, srv.GeminiURL).Generate(t.Context(), req, nil); err != nil {
				t.Fatal(err)
			}
			var got struct {
				Contents []struct {
					Parts any `json:"parts"`
				} `json:"contents"`
			}
			if err := json.Unmarshal(srv.Wait(1).Body, &got); err != nil {
				t.Fatal(err)
			}
			parts, err := json.Marshal(got.Contents[len(got.Contents)-1].Parts)
			if diff := cmp.Diff(want, string(parts)); diff != "" || err != nil {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
