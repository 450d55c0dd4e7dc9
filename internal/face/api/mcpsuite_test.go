//lint:file-ignore SA1019 the suite tries what older revisions have, too

package api

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// addSuite adds the tools, resources and prompts that the conformance suite calls (README of 0.1.16 and 0.2.0-alpha.12, read 2026-11-23).
func addSuite(s *mcp.Server) {
	text := func(text string) []mcp.Content { return []mcp.Content{&mcp.TextContent{Text: text}} }
	const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
	image := &mcp.ImageContent{Data: decoded(pixel), MIMEType: "image/png"}
	embedded := func(uri string) *mcp.EmbeddedResource {
		return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: "text/plain", Text: "embedded"}}
	}
	for name, content := range map[string][]mcp.Content{
		"test_simple_text":            text("This is a simple text response for testing."),
		"test_image_content":          {image},
		"test_audio_content":          {&mcp.AudioContent{Data: []byte("RIFF"), MIMEType: "audio/wav"}},
		"test_embedded_resource":      {embedded("test://embedded-resource")},
		"test_multiple_content_types": append(text("several"), image, embedded("test://mixed-content-resource")),
		"test_streaming_elicitation":  text("no requests of its own"),
	} {
		suiteTool(s, name, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: content}, nil
		})
	}
	suiteTool(s, "test_error_handling", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.New("this tool intentionally returns an error for testing")
	})
	for _, name := range []string{"test_tool_with_logging", "test_logging_tool"} {
		suiteTool(s, name, func(ctx context.Context, call *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			for range 3 {
				_ = call.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: "step"})
			}
			return &mcp.CallToolResult{Content: text("logged")}, nil
		})
	}
	suiteTool(s, "test_tool_with_progress", func(ctx context.Context, call *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		token := call.Params.GetProgressToken()
		for _, n := range []float64{0, 50, 100} {
			_ = call.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: n, Total: 100})
		}
		return &mcp.CallToolResult{Content: text(fmt.Sprint(token))}, nil
	})
	suiteTool(s, "test_missing_capability", func(_ context.Context, call *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if can := call.ClientCapabilities(); can != nil && can.Sampling != nil {
			return &mcp.CallToolResult{Content: text("sampling")}, nil
		}
		return nil, &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Message: "sampling is needed",
			Data: json.RawMessage(`{"requiredCapabilities":{"sampling":{}}}`)}
	})
	suiteTool(s, "test_trigger_tool_change", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		suiteTool(s, "test_transient", nil)
		return &mcp.CallToolResult{Content: text("changed")}, nil
	})
	suiteTool(s, "test_trigger_prompt_change", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.AddPrompt(&mcp.Prompt{Name: "test_transient", Description: "of the suite"}, nil)
		return &mcp.CallToolResult{Content: text("changed")}, nil
	})
	for name, schema := range map[string]string{
		"json_schema_2020_12_tool": `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","additionalProperties":false,
			"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
			"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},
			"phone":{"type":"string"},"email":{"type":"string"}},"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
			"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},
			"then":{"required":["phone"]},"else":{"required":["email"]}}`,
		"test_x_mcp_header": `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"level":{"type":"integer"}}}`,
	} {
		tool := &mcp.Tool{Name: name, Description: "of the suite", InputSchema: json.RawMessage(schema)}
		mcp.AddTool(s, tool, func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: text("called")}, nil, nil
		})
	}
	s.AddResource(&mcp.Resource{URI: "test://static-text", Name: "text", Description: "text", MIMEType: "text/plain"},
		fixed("text/plain", "text", nil))
	s.AddResource(&mcp.Resource{URI: "test://static-binary", Name: "binary", Description: "image", MIMEType: "image/png"},
		fixed("image/png", "", image.Data))
	s.AddResource(&mcp.Resource{URI: "test://watched-resource", Name: "watched", Description: "text", MIMEType: "text/plain"},
		fixed("text/plain", "text", nil))
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "test://template/{id}/data", Name: "template", MIMEType: "application/json"},
		func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			id, _ := strings.CutSuffix(strings.TrimPrefix(r.Params.URI, "test://template/"), "/data")
			return fixed("application/json", fmt.Sprintf(`{"id":%q}`, id), nil)(nil, r)
		})
	for name, content := range map[string]func(map[string]string) mcp.Content{
		"test_simple_prompt":         func(map[string]string) mcp.Content { return text("This is a simple prompt for testing.")[0] },
		"test_prompt_with_image":     func(map[string]string) mcp.Content { return image },
		"test_prompt_with_arguments": func(in map[string]string) mcp.Content { return text(in["arg1"] + " and " + in["arg2"])[0] },
		"test_prompt_with_embedded_resource": func(in map[string]string) mcp.Content {
			return embedded(in["resourceUri"])
		},
	} {
		prompt := &mcp.Prompt{Name: name, Description: "of the suite", Arguments: suiteArguments[name]}
		s.AddPrompt(prompt, func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{
				{Role: "user", Content: content(r.Params.Arguments)}, {Role: "user", Content: text("go on")[0]},
			}}, nil
		})
	}
	addRounds(s)
}

var suiteArguments = map[string][]*mcp.PromptArgument{
	"test_prompt_with_arguments": {{Name: "arg1", Description: "one", Required: true},
		{Name: "arg2", Description: "two", Required: true}},
	"test_prompt_with_embedded_resource": {{Name: "resourceUri", Description: "which", Required: true}},
}

func suiteTool(s *mcp.Server, name string, serve func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)) {
	mcp.AddTool(s, &mcp.Tool{Name: name, Description: "of the suite"},
		func(ctx context.Context, call *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
			result, err := serve(ctx, call)
			return result, nil, err
		})
}

func fixed(kind, text string, blob []byte) mcp.ResourceHandler {
	return func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, MIMEType: kind, Text: text, Blob: blob}}}, nil
	}
}

func decoded(text string) []byte {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return raw
}

// asking lists the calls that a client repeats with answers, round by round.
var asking = map[string][][]string{
	"elicitation":     {{"user_name"}},
	"sampling":        {{"capital_question"}},
	"list_roots":      {{"client_roots"}},
	"request_state":   {{"confirm"}},
	"tampered_state":  {{"confirm"}},
	"multiple_inputs": {{"user_name", "greeting", "client_roots"}},
	"multi_round":     {{"step1"}, {"step2"}},
	"capabilities":    {{"user_name", "greeting", "client_roots"}},
}

func addRounds(s *mcp.Server) {
	for name, rounds := range asking {
		suiteTool(s, "test_input_required_result_"+name, func(_ context.Context, call *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			state, round := call.Params.RequestState, 0
			if strings.HasSuffix(state, "TAMPERED") {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the state is not ours"}
			}
			if state == "round 2" {
				round = 1
			}
			keys := slices.DeleteFunc(slices.Clone(rounds[round]), func(key string) bool {
				can := call.ClientCapabilities()
				return name == "capabilities" && (can == nil || key == "user_name" && can.Elicitation == nil || key == "greeting" &&
					can.Sampling == nil ||
					key == "client_roots" && can.RootsV2 == nil)
			})
			if answeredAll(call.Params.InputResponses, keys) {
				if round++; round == len(rounds) {
					return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "state-ok: " +
						fmt.Sprint(slices.Sorted(maps.Keys(call.Params.InputResponses)))}}}, nil
				}
				keys = rounds[round]
			}
			return &mcp.CallToolResult{InputRequests: requests(keys), RequestState: fmt.Sprint("round ", round+1)}, nil
		})
	}
	s.AddPrompt(&mcp.Prompt{Name: "test_input_required_result_prompt", Description: "of the suite"},
		func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			if !answeredAll(r.Params.InputResponses, []string{"user_context"}) {
				return &mcp.GetPromptResult{InputRequests: requests([]string{"user_context"})}, nil
			}
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "thanks"}}}}, nil
		})
}

func answeredAll(got mcp.InputResponseMap, keys []string) bool {
	for _, key := range keys {
		if said, ok := got[key].(*mcp.ElicitResult); got[key] == nil || ok && (said.Action != "accept" || len(said.Content) == 0) {
			return false
		}
	}
	return len(keys) > 0
}

func requests(keys []string) mcp.InputRequestMap {
	out := mcp.InputRequestMap{}
	for _, key := range keys {
		switch key {
		case "client_roots":
			out[key] = &mcp.ListRootsParams{}
		case "capital_question", "greeting":
			out[key] = &mcp.CreateMessageParams{MaxTokens: 100,
				Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "What is the capital of France?"}}}}
		default:
			out[key] = &mcp.ElicitParams{Message: "What is your answer?", RequestedSchema: map[string]any{
				"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}, "required": []string{"name"},
			}}
		}
	}
	return out
}
