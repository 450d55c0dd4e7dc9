package openai

import (
	"encoding/json"
	"regexp"

	sdk "github.com/sashabaranov/go-openai"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
)

// chatCall is a call with the extra data that servers expect back unchanged: Google's signature of a thought
// (extra_content), and LiteLLM's equivalent for the provider behind it.
// https://ai.google.dev/gemini-api/docs/thought-signatures#openai (read 2026-11-23)
type chatCall struct {
	sdk.ToolCall
	attached
}

type attached struct {
	Extra    json.RawMessage `json:"extra_content,omitempty"`
	Provider json.RawMessage `json:"provider_specific_fields,omitempty"`
}

// chatState is what a reply with calls keeps for the requests that continue it. The wire format has no thinking.
// Providers whose models think between calls expect it back with the calls, and otherwise refuse the next request:
// DeepSeek ("The `reasoning_content` in the thinking mode must be passed back to the API."), OpenRouter
// (reasoning_details), Google (signatures). No other model gets it. A server that sent an empty thought expects that back, too.
// https://api-docs.deepseek.com/guides/thinking_mode, https://openrouter.ai/docs/guides/best-practices/reasoning-tokens
type chatState struct {
	Chat struct {
		Model     string     `json:"model"`
		Reasoning *string    `json:"reasoning_content,omitempty"` // an empty text if the server sent one; nil if it sent none
		Details   details    `json:"reasoning_details,omitempty"`
		Calls     []attached `json:"calls"`
	} `json:"openai_chat"`
}

// chatState returns the state of a reply, or nil if the message alone is sufficient.
func (r *reply) chatState() json.RawMessage {
	var s chatState
	s.Chat.Model, s.Chat.Details = r.asked, r.details.joined()
	if r.reasoned {
		reasoning := r.reasoning.String()
		s.Chat.Reasoning = &reasoning
	}
	empty := s.Chat.Reasoning == nil && s.Chat.Details == nil
	for _, call := range r.calls.all {
		if !call.empty() {
			s.Chat.Calls = append(s.Chat.Calls, call.attached)
			empty = empty && call.Extra == nil && call.Provider == nil
		}
	}
	data, err := json.Marshal(s)
	if empty || len(s.Chat.Calls) == 0 || err != nil {
		return nil
	}
	return data
}

// wantsReasoning matches the models that refuse calls without the field, even if it is empty.
var wantsReasoning = regexp.MustCompile(`(?i)^(?:.*/)?deepseek-(?:v[3-9]|chat|reasoner)`)

// unsigned replaces the signature of a call that Google's model did not make.
const unsigned = `{"google":{"thought_signature":"skip_thought_signature_validator"}}`

// withThoughts adds the model's thinking to a message with calls. always means that the field must be there.
func (out *chatMessage) withThoughts(m agent.Message, model string, always bool) {
	var s chatState
	known := json.Unmarshal(m.ProviderState, &s) == nil && s.Chat.Model == model && len(s.Chat.Calls) == len(out.ToolCalls)
	if known {
		for n := range out.ToolCalls {
			out.ToolCalls[n].attached = s.Chat.Calls[n].returnable()
		}
		out.Details = s.Chat.Details.returnable()
	}
	if llm.GoogleSigns(model) && !out.ToolCalls[0].signed() {
		out.ToolCalls[0].Extra = json.RawMessage(unsigned)
	}
	if known && s.Chat.Reasoning != nil {
		out.Reasoning = s.Chat.Reasoning
	} else if always || wantsReasoning.MatchString(model) {
		out.Reasoning = new(string)
	}
}

// returnable returns the data that servers accept back: objects, with an object for each provider that signs.
func (a attached) returnable() attached {
	extra := map[string]json.RawMessage{}
	if json.Unmarshal(a.Extra, &extra) != nil {
		a.Extra = nil
	}
	for _, raw := range extra {
		var provider map[string]json.RawMessage
		if json.Unmarshal(raw, &provider) != nil || provider == nil {
			a.Extra = nil
		}
		if signature, ok := provider["thought_signature"]; ok && !isSignature(signature) {
			a.Extra = nil
		}
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(a.Provider, &fields) != nil {
		a.Provider = nil
	}
	return a
}

// signed reports whether a call has Google's signature.
func (a attached) signed() bool {
	var extra map[string]map[string]json.RawMessage
	_ = json.Unmarshal(a.Extra, &extra) // without extra data there is none
	for _, provider := range extra {
		if isSignature(provider["thought_signature"]) {
			return true
		}
	}
	return false
}

func isSignature(raw json.RawMessage) bool {
	var text string
	if json.Unmarshal(raw, &text) != nil || text == "" {
		return false
	}
	_, ok := llm.DecodeBase64(text)
	return ok
}

// detailText is the field with the text of each type of detail.
// https://openrouter.ai/docs/guides/best-practices/reasoning-tokens#reasoning-detail-types
var detailText = map[string]string{"reasoning.text": "text", "reasoning.summary": "summary", "reasoning.encrypted": "data"}

// returnable returns the details if OpenRouter accepts them back. It accepts only a whole sequence.
func (d details) returnable() details {
	for _, detail := range d {
		kind, _ := detail["type"].(string)
		field, known := detailText[kind]
		if _, ok := detail[field].(string); !known || !ok {
			return nil
		}
		for _, name := range []string{"text", "summary", "data", "id", "signature", "format"} {
			if _, ok := detail[name].(string); !ok && detail[name] != nil {
				return nil
			}
		}
		if _, ok := detail["index"].(float64); !ok && detail["index"] != nil {
			return nil
		}
	}
	return d
}
