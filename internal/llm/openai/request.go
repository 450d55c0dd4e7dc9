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

// chatBody is a request in the wire format, with what go-openai leaves out where
// it is empty: the content of messages, which providers require, and a
// temperature of 0.
type chatBody struct {
	sdk.ChatCompletionRequest
	Messages    []chatMessage `json:"messages"`
	Temperature *float32      `json:"temperature,omitempty"`
	Stream      bool          `json:"stream"`
}

// chatMessage is a message. It has no thinking: that is for people, and providers
// refuse it or pay no heed.
type chatMessage struct {
	Role       string         `json:"role"`
	Content    *string        `json:"content"` // null beside tool calls, where some servers want no text
	ToolCalls  []sdk.ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string         `json:"tool_call_id,omitempty"`
}

// newChatBody spells a request. Nothing asks for parallel calls: they are the
// default, and some models refuse the parameter.
func newChatBody(req llm.Request) chatBody {
	out := chatBody{Temperature: temperature(req), Stream: true, Messages: []chatMessage{}}
	out.Model = req.Model
	out.StreamOptions = &sdk.StreamOptions{IncludeUsage: true}
	if reasoners.MatchString(req.Model) {
		out.MaxCompletionTokens = req.MaxTokens
	} else {
		//lint:ignore SA1019 servers other than OpenAI's know no other name
		out.MaxTokens = req.MaxTokens
	}
	out.ResponseFormat = responseFormat(req)
	for _, m := range req.Messages {
		out.Messages = append(out.Messages, newChatMessage(m))
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

func newChatMessage(m agent.Message) chatMessage {
	out := chatMessage{Role: string(m.Role), ToolCallID: m.ToolCallID}
	if m.Content != "" || len(m.ToolCalls) == 0 {
		out.Content = &m.Content
	}
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
