package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	sdk "github.com/sashabaranov/go-openai"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/outgoing"
)

// chatBody is a request in the wire format, with fields that go-openai omits if they are empty: the content of
// messages, which providers require, and a temperature of 0. go-openai refuses to send max_tokens to some models.
type chatBody struct {
	sdk.ChatCompletionRequest
	Messages    []chatMessage `json:"messages"`
	Temperature *float32      `json:"temperature,omitempty"`
	MaxTokens   int           `json:"max_tokens,omitempty"`
	Stream      bool          `json:"stream"`
	caching
	omit []string // names of fields that the server does not know
}

// chatMessage is a message. It has no thinking, which is for people and which providers refuse or ignore, except
// thinking that its own model expects back with its calls.
type chatMessage struct {
	Role       string     `json:"role"`
	Content    any        `json:"content"` // null with tool calls, because some servers want no text there
	Reasoning  *string    `json:"reasoning_content,omitempty"`
	Details    details    `json:"reasoning_details,omitempty"`
	ToolCalls  []chatCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

// newChatBody encodes a request. It does not ask for parallel calls: they are the default, and some models refuse the
// parameter.
func newChatBody(req llm.Request, dialect agent.Dialect) *chatBody {
	out := &chatBody{Temperature: temperature(req), Stream: true, omit: req.Omit}
	out.Model = req.Model
	out.StreamOptions = &sdk.StreamOptions{IncludeUsage: true}
	if limitField(req) == maxCompletionTokens {
		out.MaxCompletionTokens = req.MaxTokens
	} else {
		out.MaxTokens = req.MaxTokens
	}
	if !req.Unthinking {
		out.ReasoningEffort = llm.OpenAIEffort(req.Model, req.Thinking)
	}
	out.ResponseFormat = responseFormat(req)
	out.Messages = chatMessages(req, dialect)
	tools := req.Tools
	if len(tools) == 0 {
		tools = req.Withheld
	}
	for _, t := range tools {
		out.Tools = append(out.Tools, chatTool(t))
	}
	if len(tools) > len(req.Tools) {
		out.ToolChoice = "none"
	}
	return out
}

// chatMessages converts messages. A result cannot contain images, so they follow the last result in a user message.
func chatMessages(req llm.Request, dialect agent.Dialect) []chatMessage {
	out := []chatMessage{}
	var images []sdk.ChatMessagePart
	for i, m := range req.Messages {
		out = append(out, newChatMessage(m, req))
		images = append(images, imageParts(m)...)
		if last := i+1 == len(req.Messages) || req.Messages[i+1].Role != agent.ToolRole; !last || len(images) == 0 {
			continue
		}
		if dialect.Alternates {
			out = append(out, chatMessage{Role: string(agent.Assistant), Content: outgoing.Seen})
		}
		out, images = append(out, chatMessage{Role: string(agent.User), Content: images}), nil
	}
	return out
}

const (
	maxTokens           = "max_tokens"
	maxCompletionTokens = "max_completion_tokens"
)

// limitField returns the name of the field that limits the reply: the one that the model requires, unless the server has refused it.
func limitField(req llm.Request) string {
	own, other := maxTokens, maxCompletionTokens
	if llm.OpenAINewer(req.Model) {
		own, other = other, own
	}
	if slices.Contains(req.Omit, own) {
		return other
	}
	return own
}

// temperature returns the temperature to send, or nil.
func temperature(req llm.Request) *float32 {
	if llm.OpenAINewer(req.Model) {
		return nil
	}
	return req.Temperature
}

func newChatMessage(m agent.Message, req llm.Request) chatMessage {
	out := chatMessage{Role: string(m.Role), ToolCallID: m.ToolCallID}
	if m.Content != "" || len(m.ToolCalls) == 0 {
		out.Content = m.Content
	}
	for _, call := range m.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, chatCall{ToolCall: sdk.ToolCall{
			ID:       call.ID,
			Type:     sdk.ToolTypeFunction,
			Function: sdk.FunctionCall{Name: call.Name, Arguments: call.Arguments},
		}})
	}
	if len(out.ToolCalls) > 0 {
		out.withThoughts(m, req.Model, req.Thoughts)
	} else if req.Thoughts && m.Role == agent.Assistant {
		out.Reasoning = new(string)
	}
	return out
}

// imageParts returns the images of a result. A tool message cannot contain images, so they follow the last result in a
// user message. https://platform.openai.com/docs/api-reference/chat/create
func imageParts(m agent.Message) (parts []sdk.ChatMessagePart) {
	for n, image := range m.Images {
		if image.Data == nil {
			continue
		}
		url := fmt.Sprintf("data:%s;base64,%s", image.Type, base64.StdEncoding.EncodeToString(image.Data))
		parts = append(parts,
			sdk.ChatMessagePart{Type: sdk.ChatMessagePartTypeText, Text: fmt.Sprintf("Image %d of the result of call %s:", n+1, m.ToolCallID)},
			sdk.ChatMessagePart{Type: sdk.ChatMessagePartTypeImageURL, ImageURL: &sdk.ChatMessageImageURL{URL: url}})
	}
	return parts
}

func chatTool(t llm.Tool) sdk.Tool {
	return sdk.Tool{
		Type:     sdk.ToolTypeFunction,
		Function: &sdk.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: t.Schema},
	}
}

// encoded returns a body in the wire format. It omits optional fields of the request, of its messages and of their calls.
func encoded(body any, omit []string) ([]byte, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("write request: %w", err)
	}
	if len(omit) > 0 {
		data = without(data, omit)
	}
	return data, nil
}

func without(data json.RawMessage, omit []string) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(data, &object) != nil {
		return data
	}
	for _, name := range omit {
		delete(object, name)
	}
	for _, name := range []string{"messages", "input", "tool_calls"} {
		var list []json.RawMessage
		if json.Unmarshal(object[name], &list) != nil {
			continue
		}
		for n := range list {
			list[n] = without(list[n], omit)
		}
		object[name], _ = json.Marshal(list) // cannot fail: JSON
	}
	out, _ := json.Marshal(object) // cannot fail: JSON
	return out
}
