package outgoing_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/outgoing"
)

// TestRefusedTools checks that a tool whose schema the server refuses is left out, now and later, and that the reply
// names it. The refusals are those of real servers; learner.go names the sources.
func TestRefusedTools(t *testing.T) {
	t.Parallel()
	for refusal, refused := range map[string][]string{
		"Invalid schema for function 'b': In context=(), object schema missing properties":                                     {"b"},
		"tools.1.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema …)": {"b"},
		"* GenerateContentRequest.tools[0].function_declarations[0].parameters.properties: should be non-empty\n" +
			"* GenerateContentRequest.tools[0].function_declarations[2].parameters.required: only allowed for OBJECT type": {"a", "c.d"},
		"Unable to submit request because `c_d` functionDeclaration `parameters.x` schema didn't specify the schema type field.": {"c.d"},
		"The model returned the following errors: The value at toolConfig.tools.2.toolSpec.inputSchema.json.type must be object": {"c.d"},
		"tools.7.custom.input_schema: there is no such tool":                                                                     nil,
		"tools.1.custom.name: String should match pattern":                                                                       nil,
		"messages.1.content.0: unexpected tool_use_id in tool_result blocks":                                                     nil,
	} {
		var learner outgoing.Learner
		var asked []string
		send := func(req *llm.Request, _ agent.Dialect) (llm.Response, error) {
			var names []string
			for _, offered := range req.Tools {
				names = append(names, offered.Name)
			}
			asked = append(asked, strings.Join(names, " "))
			for _, name := range refused {
				if strings.Contains(asked[len(asked)-1], outgoing.Name(name)) {
					return llm.Response{}, &llm.Error{Kind: llm.ErrInvalidRequest, Status: 400, Message: refusal}
				}
			}
			if len(refused) == 0 {
				return llm.Response{}, &llm.Error{Kind: llm.ErrInvalidRequest, Status: 400, Message: refusal}
			}
			return llm.Response{}, nil
		}
		req := llm.Request{Model: "m", Tools: []llm.Tool{{Name: "a"}, {Name: "b"}, {Name: "c.d"}}}
		out, err := learner.Send(agent.Dialect{}, &req, send)
		if len(refused) == 0 {
			if err == nil || len(asked) != 1 {
				t.Errorf("%s: %v, asked for %q", refusal, err, asked)
			}
			continue
		}
		var left []string
		for _, omission := range out.Omitted {
			left = append(left, omission.Tool)
			if !strings.Contains(omission.Why, "rejects its schema") {
				t.Errorf("%s: why = %s", refusal, omission.Why)
			}
		}
		if diff := cmp.Diff(refused, left); diff != "" || err != nil {
			t.Errorf("%s: %v, omitted (-want +got):\n%s", refusal, err, diff)
		}
		later, err := learner.Send(agent.Dialect{}, &req, send)
		if len(asked) != 3 || asked[1] != asked[2] || err != nil || len(later.Omitted) != len(out.Omitted) {
			t.Errorf("%s: %v, asked for %q, omitted %v", refusal, err, asked, later.Omitted)
		}
		req.Tools = []llm.Tool{{Name: "b", Schema: json.RawMessage(`{"type":"object","properties":{"new":{}}}`)}}
		if _, err := learner.Send(agent.Dialect{}, &req, send); err == nil && refused[0] == "b" && asked[len(asked)-2] != "b" {
			t.Errorf("%s: a tool with another schema is not offered again: %q", refusal, asked)
		}
	}
}

// TestLearnedRequest checks the changes that a refusal makes to the next request.
func TestLearnedRequest(t *testing.T) {
	t.Parallel()
	warm := float32(0.5)
	full := llm.Request{Model: "m", JSON: true, Schema: json.RawMessage(`{"type":"object","properties":{}}`), Temperature: &warm,
		Thinking: agent.Thinking{Effort: "high"}, MaxTokens: 9000, Messages: []agent.Message{{Role: agent.User, Content: "Go."}}}
	for refusal, want := range map[string]func(llm.Request) bool{
		"`temperature` is deprecated for this model.": func(r llm.Request) bool { return r.Temperature == nil && r.JSON },
		"thinking_config is not supported.": func(r llm.Request) bool {
			return r.Unthinking && r.Thinking == agent.Thinking{} && r.Temperature != nil
		},
		"This response_format type is unavailable now": func(r llm.Request) bool {
			return !r.JSON && r.Schema == nil && strings.Contains(r.Messages[0].Content, `"properties"`) && r.Messages[0].Role == agent.System
		},
		"max_tokens: 9000 > 4096, which is the maximum allowed number of output tokens for c": func(r llm.Request) bool {
			return r.MaxTokens == 4096
		},
	} {
		var learner outgoing.Learner
		asked := 0
		out, err := learner.Send(agent.Dialect{}, &full, func(req *llm.Request, _ agent.Dialect) (llm.Response, error) {
			if asked++; asked == 1 {
				return llm.Response{}, fmt.Errorf("ask: %w", &llm.Error{Kind: llm.ErrInvalidRequest, Status: 400, Message: refusal})
			}
			if !want(*req) {
				return llm.Response{}, errors.New("the request is not changed")
			}
			return llm.Response{}, nil
		})
		if err != nil || asked != 2 || len(out.Omitted) != 1 {
			t.Errorf("%s: %v after %d requests, omitted %v", refusal, err, asked, out.Omitted)
		}
	}
}
