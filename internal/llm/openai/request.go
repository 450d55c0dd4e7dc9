package openai

import (
	"encoding/json"
	"regexp"

	sdk "github.com/sashabaranov/go-openai"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
)

// reasoners matches the models that think before they answer: the o-series and
// gpt-5 and later, also behind a proxy ("openai/gpt-5"). They refuse max_tokens
// and any temperature, and go-openai refuses to send either. Compatible servers
// know only max_tokens, or ignore max_completion_tokens in silence, so neither
// of the two fields is right for all.
var reasoners = regexp.MustCompile(`^(?:.*/)?(?:o\d|gpt-(?:[5-9]|\d\d))`)

// noParameters is the schema of a tool that takes nothing.
const noParameters = `{"type":"object","properties":{}}`

// chatRequest spells a request in the wire format. The temperature is set by the
// tap. Nothing asks for parallel calls: they are the default, and some models
// refuse the parameter.
func chatRequest(req llm.Request) sdk.ChatCompletionRequest {
	out := sdk.ChatCompletionRequest{
		Model:         req.Model,
		StreamOptions: &sdk.StreamOptions{IncludeUsage: true},
	}
	if reasoners.MatchString(req.Model) {
		out.MaxCompletionTokens = req.MaxTokens
	} else {
		out.MaxTokens = req.MaxTokens
	}
	if req.JSON {
		out.ResponseFormat = &sdk.ChatCompletionResponseFormat{Type: sdk.ChatCompletionResponseFormatTypeJSONObject}
	}
	for _, m := range req.Messages {
		out.Messages = append(out.Messages, chatMessage(m))
	}
	for _, t := range req.Tools {
		out.Tools = append(out.Tools, chatTool(t))
	}
	return out
}

// temperature is the one to send, or nil.
func temperature(req llm.Request) *float32 {
	if reasoners.MatchString(req.Model) {
		return nil
	}
	return req.Temperature
}

// chatMessage leaves thinking out: it is for people, and providers refuse it or
// pay no heed.
func chatMessage(m agent.Message) sdk.ChatCompletionMessage {
	out := sdk.ChatCompletionMessage{Role: string(m.Role), Content: m.Content, ToolCallID: m.ToolCallID}
	for _, call := range m.ToolCalls {
		arguments := call.Arguments
		if arguments == "" {
			arguments = "{}" // go-openai would leave the field out, and it is required
		}
		out.ToolCalls = append(out.ToolCalls, sdk.ToolCall{
			ID:       call.ID,
			Type:     sdk.ToolTypeFunction,
			Function: sdk.FunctionCall{Name: call.Name, Arguments: arguments},
		})
	}
	return out
}

func chatTool(t llm.Tool) sdk.Tool {
	schema := t.Schema
	if len(schema) == 0 {
		schema = json.RawMessage(noParameters)
	}
	return sdk.Tool{
		Type:     sdk.ToolTypeFunction,
		Function: &sdk.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: schema},
	}
}

// complete adds to a request's body what go-openai leaves out because it is
// empty: the content of messages, which providers require, and a temperature of 0.
func complete(body []byte, temperature *float32) ([]byte, error) {
	var request map[string]json.RawMessage
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, err
	}
	var messages []map[string]json.RawMessage
	if err := json.Unmarshal(request["messages"], &messages); err != nil {
		return nil, err
	}
	for _, m := range messages {
		if _, ok := m["content"]; !ok {
			m["content"] = emptyContent(m)
		}
	}
	var err error
	if request["messages"], err = json.Marshal(messages); err != nil {
		return nil, err
	}
	if temperature != nil {
		if request["temperature"], err = json.Marshal(*temperature); err != nil {
			return nil, err
		}
	}
	return json.Marshal(request)
}

// emptyContent is null beside tool calls, where some servers want no text.
func emptyContent(message map[string]json.RawMessage) json.RawMessage {
	if _, calls := message["tool_calls"]; calls {
		return json.RawMessage("null")
	}
	return json.RawMessage(`""`)
}
