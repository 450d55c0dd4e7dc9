package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/llm"
)

type anthropicRequest struct {
	Model       string             `json:"model"`
	MaxTokens   int                `json:"max_tokens"`
	Stream      bool               `json:"stream"`
	Temperature *float64           `json:"temperature"`
	System      []anthropicContent `json:"system"`
	Thinking    struct {
		Type   string `json:"type"`
		Budget int    `json:"budget_tokens"`
	} `json:"thinking"`
	Choice struct {
		Type string `json:"type"`
	} `json:"tool_choice"`
	Tools []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Schema      json.RawMessage `json:"input_schema"`
		Cache       *struct{}       `json:"cache_control"`
	} `json:"tools"`
	Messages []anthropicTurn `json:"messages"`
}

type anthropicTurn struct {
	Role    string             `json:"role"`
	Content []anthropicContent `json:"content"`
}

// answers reports whether a turn contains only tool results.
func (t anthropicTurn) answers() bool {
	return !slices.ContainsFunc(t.Content, func(b anthropicContent) bool { return b.Type != "tool_result" })
}

type anthropicContent struct {
	Type      string             `json:"type"`
	Text      string             `json:"text"`
	Thinking  string             `json:"thinking"`
	Signature string             `json:"signature"`
	Data      string             `json:"data"`
	ID        string             `json:"id"`
	Name      string             `json:"name"`
	Input     json.RawMessage    `json:"input"`
	Answers   string             `json:"tool_use_id"`
	Content   []anthropicContent `json:"content"`
	Source    struct {
		MediaType string `json:"media_type"`
	} `json:"source"`
	Cache *struct{} `json:"cache_control"`
}

// decodeVertexClaude is decodeAnthropic for Vertex AI, which has the model in the path and the version in the body.
// https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai (read 2026-11-23)
func decodeVertexClaude(r *http.Request, body []byte) (Request, error) {
	req, err := decodeAnthropic(r, body)
	req.Key = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	req.Header.Del("Authorization")
	var in struct {
		Model any
		Given string `json:"anthropic_version"`
	}
	model, predict := strings.CutSuffix(r.PathValue("call"), ":streamRawPredict")
	switch _ = json.Unmarshal(body, &in); {
	case err != nil:
		return req, err
	case !predict:
		return req, errors.New("no such method: " + r.PathValue("call"))
	case in.Model != nil:
		return req, errors.New("model: Extra inputs are not permitted")
	case in.Given != "vertex-2023-10-16":
		return req, errors.New("anthropic_version: Field required")
	}
	req.Model = model
	return req, nil
}

// decodeAnthropic converts a request of the Messages API to OpenAI's form.
func decodeAnthropic(r *http.Request, body []byte) (Request, error) {
	req := Request{Wire: Anthropic, Body: body, Header: r.Header.Clone(), Key: r.Header.Get("X-Api-Key")}
	req.Header.Del("X-Api-Key")
	var in anthropicRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return req, fmt.Errorf("decode request: %w", err)
	}
	req.Model, req.Stream, req.MaxTokens, req.Temperature = in.Model, in.Stream, in.MaxTokens, in.Temperature
	if len(in.System) > 0 {
		text := ""
		for _, b := range in.System {
			text += b.Text
		}
		req.Messages = append(req.Messages, Message{Role: "system", Content: &text})
	}
	for _, turn := range in.Messages {
		said := Message{Role: turn.Role}
		for _, b := range turn.Content {
			switch b.Type {
			case "text":
				text := said.Text() + b.Text
				said.Content = &text
			case "tool_use":
				call := ToolCall{ID: b.ID, Type: "function"}
				call.Function.Name, call.Function.Arguments = b.Name, string(b.Input)
				said.ToolCalls = append(said.ToolCalls, call)
			case "thinking":
				said.Signature = b.Signature
			case "tool_result":
				text := ""
				for _, part := range b.Content {
					text += part.Text
				}
				req.Messages = append(req.Messages, Message{Role: "tool", ToolCallID: b.Answers, Content: &text})
			}
		}
		if said.Content != nil || said.ToolCalls != nil {
			req.Messages = append(req.Messages, said)
		}
	}
	for _, t := range in.Tools {
		tool := Tool{Type: "function"}
		tool.Function.Name, tool.Function.Description, tool.Function.Parameters = t.Name, t.Description, t.Schema
		req.Tools = append(req.Tools, tool)
	}
	if r.Header.Get("Anthropic-Version") == "" {
		return req, errors.New("anthropic-version: header is required")
	}
	return req, in.refused()
}

// refused returns Anthropic's error for an invalid request.
// https://platform.claude.com/docs/en/api/errors#common-validation-errors, …/tool-use, …/thinking
func (in anthropicRequest) refused() error {
	if in.MaxTokens <= 0 {
		return errors.New("max_tokens: Field required")
	}
	if in.Thinking.Type == "enabled" && in.Thinking.Budget >= in.MaxTokens {
		return errors.New("`max_tokens` must be greater than `thinking.budget_tokens`.")
	}
	if in.Thinking.Type != "" && in.Thinking.Type != "disabled" && in.Temperature != nil && *in.Temperature != 1 {
		return errors.New("`temperature` may only be set to 1 when thinking is enabled.")
	}
	if in.Thinking.Type != "" && in.Thinking.Type != "disabled" && (in.Choice.Type == "tool" || in.Choice.Type == "any") {
		return errors.New("Thinking may not be enabled when tool_choice forces tool use.")
	}
	return in.refusedTurns()
}

// refusedTurns returns Anthropic's error for invalid turns, or for too many marks of the cache.
func (in anthropicRequest) refusedTurns() error {
	marks := 0
	for _, t := range in.Tools {
		if t.Cache != nil {
			marks++
		}
	}
	open := map[string]bool{} // the calls of the previous turn
	for i, turn := range in.Messages {
		if want := []string{"user", "assistant"}[i%2]; turn.Role != want {
			return fmt.Errorf("messages.%d: roles must alternate: want %q, got %q", i, want, turn.Role)
		}
		if len(turn.Content) == 0 {
			return fmt.Errorf("messages.%d: all messages must have non-empty content except for the optional final assistant message", i)
		}
		next := map[string]bool{}
		for n, b := range turn.Content {
			if b.Cache != nil {
				marks++
			}
			if err := b.refused(turn, n, in.Model); err != nil {
				return fmt.Errorf("messages.%d.content.%d: %w", i, n, err)
			}
			switch {
			case b.Type == "tool_use":
				next[b.ID] = true
			case b.Type == "tool_result" && !open[b.Answers]:
				return fmt.Errorf("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s", i, n, b.Answers)
			}
			delete(open, b.Answers)
		}
		if len(open) > 0 {
			return fmt.Errorf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %v", i-1, open)
		}
		open = next
	}
	for _, b := range in.System {
		if b.Cache != nil {
			marks++
		}
	}
	switch {
	case marks > 4:
		return fmt.Errorf("A maximum of 4 blocks with cache_control may be provided. Found %d.", marks)
	case len(in.Messages) == 0 || in.Messages[len(in.Messages)-1].Role != "user":
		return errors.New("This model does not support assistant message prefill. The conversation must end with a user message.")
	}
	return nil
}

// blocksOf are the types of blocks that a turn may have.
var blocksOf = map[string][]string{
	"user": {"text", "image", "tool_result"}, "assistant": {"text", "thinking", "redacted_thinking", "tool_use"},
}

// refused returns Anthropic's error for an invalid block of a turn.
// https://platform.claude.com/docs/en/api/messages, …/build-with-claude/extended-thinking, …/agents-and-tools/tool-use/implement-tool-use
func (b anthropicContent) refused(turn anthropicTurn, at int, model string) error {
	claude := llm.ParseClaude(model).Family != ""
	switch {
	case !slices.Contains(blocksOf[turn.Role], b.Type):
		return fmt.Errorf("Input tag '%s' found using 'type' does not match any of the expected tags", b.Type)
	case b.Type == "text" && strings.TrimSpace(b.Text) == "":
		return errors.New("text content blocks must be non-empty")
	case b.Type == "thinking" && b.Signature == "" && claude:
		return errors.New("Invalid `signature` in `thinking` block")
	case b.Type == "redacted_thinking" && b.Data == "":
		return errors.New("Invalid `data` in `redacted_thinking` block")
	case (b.Type == "thinking" || b.Type == "redacted_thinking") && at == len(turn.Content)-1 && claude:
		return errors.New("The final block in an assistant message cannot be `thinking`.")
	case b.Type == "image" && !slices.Contains([]string{"image/jpeg", "image/png", "image/gif", "image/webp"}, b.Source.MediaType):
		return fmt.Errorf("source.media_type: %q is not supported", b.Source.MediaType)
	case b.Type == "tool_result" && at > 0 && turn.Content[at-1].Type != "tool_result":
		return errors.New("`tool_result` blocks must come first in the content of a message")
	}
	for n, part := range b.Content {
		if part.Type == "tool_result" {
			return fmt.Errorf("content.%d: Input tag 'tool_result' does not match any of the expected tags", n)
		}
		if err := part.refused(anthropicTurn{Role: "user"}, 0, model); err != nil {
			return fmt.Errorf("content.%d: %w", n, err)
		}
	}
	return nil
}
