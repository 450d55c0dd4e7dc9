package anthropic_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

const (
	cause = `{"type":"object","properties":{"why":{"type":"string"},"at":{"type":"string"}},"required":["why","at"],` +
		`"additionalProperties":false}`
	filled = `{"why":"the disk","at":"noon"}`
)

// TestFormat checks that structured output is requested if a model supports it and the schema, and otherwise by a form
// that the model fills in, unless it thinks or has other tools.
func TestFormat(t *testing.T) {
	t.Parallel()
	const open = `{"type":"object","properties":{"why":{"type":"string","minLength":3}}}`
	tests := []struct {
		name   string
		model  string
		schema string
		change func(*llm.Request)
		format bool
		form   bool
	}{
		{"a model that has it", "claude-sonnet-4-5", cause, nil, true, false},
		{"beside tools", "claude-sonnet-4-5", cause, func(r *llm.Request) { r.Tools = []llm.Tool{{Name: "f"}} }, true, false},
		{"beside thoughts", "claude-opus-5-5", cause, nil, true, false},
		{"beside an effort", "claude-opus-4-8", cause, func(r *llm.Request) { r.Thinking.Effort = "low" }, true, false},
		{"a schema that it refuses", "claude-sonnet-4-5", open, nil, false, true},
		{"an older model", "claude-opus-4-1", cause, nil, false, true},
		{"an older model that thinks", "claude-opus-4-1", cause, func(r *llm.Request) { r.Thinking.Mode = agent.ThinkingOn }, false, false},
		{"an older model beside tools", "claude-opus-4-1", cause, func(r *llm.Request) { r.Tools = []llm.Tool{{Name: "f"}} }, false, false},
		{"tools that are withheld", "claude-opus-4-1", cause, func(r *llm.Request) { r.Withheld = []llm.Tool{{Name: "f"}} }, false, false},
		{"no schema", "claude-sonnet-4-5", "", nil, false, false},
		{"a text", "claude-sonnet-4-5", cause, func(r *llm.Request) { r.JSON = false }, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req := llm.Request{Model: tt.model, JSON: true, Schema: json.RawMessage(tt.schema),
				Messages: []agent.Message{{Role: agent.User, Content: "why?"}}}
			if tt.change != nil {
				tt.change(&req)
			}
			wants := ""
			if tt.format {
				wants = `"format":{"type":"json_schema","schema":` + cause + `}`
			}
			got := sent(t, "output_config", req)
			if tt.format != strings.Contains(got, `"format"`) || !strings.Contains(got, wants) {
				t.Errorf("output_config = %s", got)
			}
			if choice := sent(t, "tool_choice", req); (choice == `{"name":"output","type":"tool"}`) != tt.form {
				t.Errorf("tool_choice = %s", choice)
			}
		})
	}
}

// TestForm checks that the form's input is the text, also while it streams, and that no part of it is a call.
func TestForm(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, llmtest.Always(llmtest.Calls(llmtest.Call{ID: "toolu_1", Name: "output", Args: filled}).Chunked(7, 0)))
	req := llm.Request{Model: "claude-opus-4-1", JSON: true, Schema: json.RawMessage(cause),
		Messages: []agent.Message{{Role: agent.User, Content: "why?"}}}
	received := ""
	got, err := open(t, srv.GeminiURL).Generate(t.Context(), req, func(d llm.Delta) { received += d.Content })
	if err != nil {
		t.Fatal(err)
	}
	if got.Content != filled || received != filled || got.ToolCalls != nil || got.Finish != llm.FinishStop || got.ProviderState != nil {
		t.Errorf("heard %q, got %+v", received, got)
	}
}
