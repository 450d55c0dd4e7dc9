package gemini

import (
	"encoding/json"
	"slices"

	"google.golang.org/genai"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/outgoing"
)

// state is what a reply keeps for the requests that continue it: its signed parts, and the model, because other models
// do not accept these.
type state struct {
	Gemini struct {
		Model string        `json:"model"`
		Parts []*genai.Part `json:"parts"`
	} `json:"gemini"`
}

// remember returns the state of a reply, or nil if the message alone is sufficient.
func remember(model string, parts []*genai.Part) json.RawMessage {
	// Thinking is only for display, except signed thinking, which may be sent back.
	parts = slices.DeleteFunc(slices.Clone(parts), func(p *genai.Part) bool { return p.Thought && plainText(p) })
	if !slices.ContainsFunc(parts, special) {
		return nil
	}
	var s state
	s.Gemini.Model, s.Gemini.Parts = model, parts
	data, err := json.Marshal(s)
	if err != nil {
		return nil // cannot happen: the parts came from JSON
	}
	return data
}

// special reports whether a part has data that a message cannot hold.
func special(p *genai.Part) bool {
	return len(p.ThoughtSignature) > 0 || kind(p) == nativePart || p.FunctionCall != nil && p.FunctionCall.ID != ""
}

// recall returns the parts of a message. It returns nil if they are another model's, or if the message makes other
// calls than they do. Text that has changed since (masked, shortened) replaces the text in the parts.
func recall(m agent.Message, model string) []*genai.Part {
	var s state
	if json.Unmarshal(m.ProviderState, &s) != nil || s.Gemini.Model != model {
		return nil
	}
	parts := slices.DeleteFunc(s.Gemini.Parts, func(p *genai.Part) bool {
		return p == nil || plainText(p) && p.Text == ""
	})
	if !sameCalls(toolCalls(parts), m.ToolCalls) {
		return nil
	}
	if text(parts) == m.Content {
		return parts
	}
	parts = slices.DeleteFunc(parts, func(p *genai.Part) bool { return kind(p) == textPart || kind(p) == nativePart })
	if m.Content != "" {
		parts = slices.Insert(parts, 0, &genai.Part{Text: m.Content})
	}
	return parts
}

func sameCalls(a, b []agent.ToolCall) bool {
	return slices.EqualFunc(a, b, func(a, b agent.ToolCall) bool { return outgoing.SameTool(a.Name, b.Name) })
}

func text(parts []*genai.Part) string {
	var all string
	for _, p := range parts {
		all += shown(p).Content
	}
	return all
}
