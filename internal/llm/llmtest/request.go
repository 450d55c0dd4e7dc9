package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Request is a received request. A request in Gemini's format is converted to OpenAI's form; Body has the original.
type Request struct {
	Model    string    `json:"model"`
	Messages []Message `json:"messages"`
	Tools    []Tool    `json:"tools"`
	Stream   bool      `json:"stream"`
	Options  struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	MaxTokens           int      `json:"max_tokens"`
	MaxCompletionTokens int      `json:"max_completion_tokens"`
	Temperature         *float64 `json:"temperature"`

	Wire Wire `json:"-"`
	// numbers means that the client wants enums as numbers.
	numbers bool
	// Attempt is the number of requests with the same body so far, from 1.
	Attempt int `json:"-"`
	// Body is the original request.
	Body []byte `json:"-"`
	// Header does not contain the key, which is in Key.
	Header http.Header `json:"-"`
	Key    string      `json:"-"`
}

// Message is one message of a request.
type Message struct {
	Role       string     `json:"role"`
	Content    *string    `json:"content"` // nil for null or none
	ToolCallID string     `json:"tool_call_id"`
	ToolCalls  []ToolCall `json:"tool_calls"`
	Signature  string     `json:"-"` // of the model's thinking, in its provider's form
	image      bool       // it has an image or another part that is not converted
}

// UnmarshalJSON also accepts content in parts, and keeps their texts.
func (m *Message) UnmarshalJSON(data []byte) error {
	type plain Message
	in := struct {
		*plain
		Content json.RawMessage `json:"content"`
	}{plain: (*plain)(m)}
	if err := json.Unmarshal(data, &in); err != nil || len(in.Content) == 0 {
		return err
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(in.Content, &parts) != nil || parts == nil {
		return json.Unmarshal(in.Content, &m.Content)
	}
	m.Content, m.image = new(""), true
	for _, part := range parts {
		*m.Content += part.Text
	}
	return nil
}

// ToolCall is a call in an assistant's message.
type ToolCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
	Signature string `json:"-"` // Gemini's, in base64
}

// Text returns the content, or an empty string.
func (m Message) Text() string {
	if m.Content == nil {
		return ""
	}
	return *m.Content
}

// Tool is a tool that a request offers.
type Tool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// Task returns the first user message, which stays the same throughout a conversation.
func (r Request) Task() string { return r.first("user") }

// System returns the first system message.
func (r Request) System() string { return r.first("system") }

// Last returns the last message.
func (r Request) Last() Message {
	if len(r.Messages) == 0 {
		return Message{}
	}
	return r.Messages[len(r.Messages)-1]
}

// Offers reports whether the request offers a tool.
func (r Request) Offers(tool string) bool {
	for _, t := range r.Tools {
		if t.Function.Name == tool {
			return true
		}
	}
	return false
}

func (r Request) first(role string) string {
	for _, m := range r.Messages {
		if m.Role == role {
			return m.Text()
		}
	}
	return ""
}

func decodeOpenAI(r *http.Request, body []byte) (Request, error) {
	var req Request
	if err := json.Unmarshal(body, &req); err != nil {
		return req, fmt.Errorf("decode request: %w", err)
	}
	req.Body = body
	req.Header = r.Header.Clone()
	req.Key = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	req.Header.Del("Authorization")
	return req, thoughtsMissing(req.Model, body)
}

// decodeAzure is decodeOpenAI for Azure, which has the deployment in the path and the key in another header.
// https://learn.microsoft.com/azure/ai-services/openai/reference#chat-completions (read 2026-11-23)
func decodeAzure(r *http.Request, body []byte) (Request, error) {
	req, err := decodeOpenAI(r, body)
	switch {
	case err != nil:
		return req, err
	case r.URL.Query().Get("api-version") == "":
		return req, errors.New("Missing required query parameter: api-version")
	case req.Key != "":
		return req, errors.New("Access denied: the key is in the header api-key")
	}
	req.Model, req.Key = r.PathValue("deployment"), req.Header.Get("Api-Key")
	req.Header.Del("Api-Key")
	return req, nil
}
