package openai

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
)

// NewResponses is New for the Responses API, with which reasoning models get their thinking back. OpenAI stores
// nothing.
// https://platform.openai.com/docs/api-reference/responses (read 2026-11-22)
func NewResponses(opts llm.Options) (*Client, error) {
	client, err := New(opts)
	if err == nil {
		client.responses = true
		client.guard.HTTPClient = withoutRedirects(client.guard.HTTPClient)
	}
	return client, err
}

// respond makes one call with the Responses API. OpenAI sends summaries of thinking only to verified organisations, and
// refuses the whole request of others. In that case respond sends the request again at once without asking for a
// summary, and later requests do not ask for one.
// https://help.openai.com/en/articles/10910291-api-organization-verification (read 2026-11-23)
func (c *Client) respond(ctx context.Context, key string, idle *llm.Idle, req llm.Request, onDelta func(llm.Delta)) (llm.Response, error) {
	body := newResponsesBody(req)
	body.caching = c.caching(req)
	if c.unverified.Load() {
		body.withoutSummary()
	}
	answer, refused, err := c.ask(ctx, key, body)
	if refused.Param == "reasoning.summary" && body.withoutSummary() {
		c.unverified.Store(true)
		idle.Wait()
		answer, _, err = c.ask(ctx, key, body)
	}
	if err != nil {
		return llm.Response{}, err
	}
	defer llm.CloseRead(answer)
	got := response{asked: req.Model, onDelta: onDelta}
	if err := llm.ReadEvents(answer, idle, &got); err != nil {
		return llm.Response{Usage: got.used}, err
	}
	return got.response()
}

// ask sends a request and returns the body of a successful answer, or the refusal.
func (c *Client) ask(ctx context.Context, key string, in responsesBody) (io.ReadCloser, failure, error) {
	body, err := encoded(in, in.omit)
	if err != nil {
		return nil, failure{}, err
	}
	url := strings.TrimSuffix(c.guard.BaseURL, "/") + "/responses"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, failure{}, fmt.Errorf("write request: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	request.GetBody = nil // net/http would use it to retry over a lost connection
	tap := &tap{client: c.guard.HTTPClient, request: body}
	_, err = tap.Do(request)
	return tap.answer, tap.refused, err
}

// responsesBody is a request in the wire format.
type responsesBody struct {
	Model       string          `json:"model"`
	Input       []any           `json:"input"`
	Tools       []responsesTool `json:"tools,omitempty"`
	ToolChoice  string          `json:"tool_choice,omitempty"`
	Text        any             `json:"text,omitempty"`
	Reasoning   *reasoning      `json:"reasoning,omitempty"`
	Include     []string        `json:"include,omitempty"`
	Temperature *float32        `json:"temperature,omitempty"`
	MaxTokens   int             `json:"max_output_tokens,omitempty"`
	Store       bool            `json:"store"`
	Stream      bool            `json:"stream"`
	caching
	omit []string // names of fields that the API does not know
}

type responsesTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"` // the default is true, which few schemas satisfy
}

type reasoning struct {
	Effort  string `json:"effort,omitempty"`
	Summary string `json:"summary,omitempty"`
}

// withoutSummary removes the request for a summary of thinking, and reports whether there was one.
func (b *responsesBody) withoutSummary() bool {
	if b.Reasoning == nil || b.Reasoning.Summary == "" {
		return false
	}
	if b.Reasoning.Summary = ""; *b.Reasoning == (reasoning{}) {
		b.Reasoning = nil
	}
	return true
}

// The items of an input, except thinking, which is returned unchanged.
type (
	saidItem struct {
		Role    string `json:"role"`
		Content string `json:"content"`
		Phase   string `json:"phase,omitempty"`
	}
	callItem struct {
		Type      string `json:"type"`
		CallID    string `json:"call_id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	resultItem struct {
		Type   string `json:"type"`
		CallID string `json:"call_id"`
		Output any    `json:"output"` // a text, or parts
	}
	partItem struct {
		Type  string `json:"type"`
		Text  string `json:"text,omitempty"`
		Image string `json:"image_url,omitempty"`
	}
)

func newResponsesBody(req llm.Request) responsesBody {
	out := responsesBody{
		Model: req.Model, Input: []any{}, Temperature: temperature(req), MaxTokens: req.MaxTokens, Stream: true, omit: req.Omit,
	}
	if llm.OpenAIReasons(req.Model) && !req.Unthinking {
		out.Reasoning = &reasoning{Effort: llm.OpenAIEffort(req.Model, req.Thinking), Summary: "auto"}
		if out.Reasoning.Effort == "none" {
			out.Reasoning.Summary = ""
		}
		out.Include = []string{"reasoning.encrypted_content"}
	}
	if format := responseFormat(req); format != nil && format.JSONSchema != nil {
		out.Text = map[string]any{"format": map[string]any{
			"type": format.Type, "name": format.JSONSchema.Name, "schema": format.JSONSchema.Schema, "strict": format.JSONSchema.Strict,
		}}
	} else if format != nil {
		out.Text = map[string]any{"format": map[string]any{"type": format.Type}}
	}
	for _, m := range req.Messages {
		out.Input = append(out.Input, inputItems(m, req.Model)...)
	}
	tools := req.Tools
	if len(tools) == 0 && len(req.Withheld) > 0 {
		tools, out.ToolChoice = req.Withheld, "none"
	}
	for _, t := range tools {
		out.Tools = append(out.Tools, responsesTool{Type: "function", Name: t.Name, Description: t.Description, Parameters: t.Schema})
	}
	return out
}

// inputItems converts a message.
func inputItems(m agent.Message, model string) (items []any) {
	switch m.Role {
	case agent.Assistant:
		return repliedItems(m, model)
	case agent.ToolRole:
		out := resultItem{Type: "function_call_output", CallID: m.ToolCallID, Output: m.Content}
		parts := []partItem{{Type: "input_text", Text: m.Content}}
		for _, image := range m.Images {
			if image.Data != nil {
				url := "data:" + image.Type + ";base64," + base64.StdEncoding.EncodeToString(image.Data)
				parts = append(parts, partItem{Type: "input_image", Image: url})
			}
		}
		if len(parts) > 1 {
			out.Output = parts
		}
		return []any{out}
	}
	return []any{saidItem{Role: string(m.Role), Content: m.Content}}
}

// repliedItems converts a reply: its parts in their original order, with the thinking, if they are known; otherwise its
// text, then its calls.
func repliedItems(m agent.Message, model string) (items []any) {
	text := func(content, phase string) {
		if content != "" {
			items = append(items, saidItem{Role: string(agent.Assistant), Content: content, Phase: knownPhase(phase)})
		}
	}
	call := func(c agent.ToolCall) {
		items = append(items, callItem{Type: "function_call", CallID: c.ID, Name: c.Name, Arguments: c.Arguments})
	}
	if parts, ok := recall(m, model); ok {
		calls := 0
		for _, part := range parts {
			switch {
			case part.Reasoning != nil:
				if thought := returnable(part.Reasoning); thought != nil {
					items = append(items, thought)
				}
			case part.Call:
				call(m.ToolCalls[calls])
				calls++
			default:
				text(part.Text, part.Phase)
			}
		}
		return items
	}
	text(m.Content, "")
	for _, c := range m.ToolCalls {
		call(c)
	}
	return items
}

// state is what a reply keeps for the requests that continue it: the encrypted thinking, the positions of texts and
// calls, and the phase of each text. No other model can read it.
type state struct {
	Responses struct {
		Model string      `json:"model"`
		Parts []statePart `json:"parts"`
	} `json:"openai_responses"`
}

// statePart is a thought, a call, or otherwise a text. Newer models expect the phase of each text back: "dropping it
// can degrade performance". https://developers.openai.com/api/reference/resources/responses (read 2026-11-23)
type statePart struct {
	Reasoning json.RawMessage `json:"reasoning,omitempty"`
	Call      bool            `json:"call,omitempty"`
	Text      string          `json:"text,omitempty"`
	Phase     string          `json:"phase,omitempty"`
}

func (p statePart) isText() bool { return p.Reasoning == nil && !p.Call }

// remember returns the state of a reply, or nil if the message alone is sufficient.
func remember(model string, items []item) json.RawMessage {
	var s state
	s.Responses.Model = model
	more := false
	for _, i := range items {
		switch {
		case i.Type == "reasoning" && i.Encrypted != "":
			s.Responses.Parts = append(s.Responses.Parts, statePart{Reasoning: i.whole})
			more = true
		case i.isCall():
			s.Responses.Parts = append(s.Responses.Parts, statePart{Call: true})
		case i.Type == "message":
			s.Responses.Parts = append(s.Responses.Parts, statePart{Text: i.text(), Phase: string(i.Phase)})
			more = more || i.Phase != ""
		}
	}
	data, err := json.Marshal(s)
	if !more || err != nil {
		return nil
	}
	return data
}

// recall returns the parts of a message. ok is false if they are another model's, or if the message makes other calls
// than they do. A text that has changed since (masked, shortened) replaces the first one.
func recall(m agent.Message, model string) (parts []statePart, ok bool) {
	var s state
	if json.Unmarshal(m.ProviderState, &s) != nil || s.Responses.Model != model {
		return nil, false
	}
	parts = s.Responses.Parts
	calls, said := 0, ""
	for _, part := range parts {
		if part.Call {
			calls++
		}
		if part.isText() && said != "" {
			said += betweenMessages
		}
		said += part.Text
	}
	if said != m.Content {
		first := true
		for n := range parts {
			if !parts[n].isText() {
				continue
			}
			if parts[n].Text = ""; first {
				parts[n].Text, first = m.Content, false
			}
		}
	}
	parts = slices.DeleteFunc(parts, func(p statePart) bool { return p.isText() && p.Text == "" })
	for n := len(parts); n > 0 && parts[n-1].Reasoning != nil; n-- {
		parts = parts[:n-1] // thinking must be followed by its result
	}
	return parts, len(parts) > 0 && calls == len(m.ToolCalls)
}
