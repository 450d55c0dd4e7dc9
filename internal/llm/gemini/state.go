package gemini

import (
	"encoding/json"
	"slices"

	"google.golang.org/genai"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/outgoing"
)

// state is what a reply leaves for the requests that continue it: its parts with
// their signatures, and the model, because no other can read these.
type state struct {
	Gemini struct {
		Model string        `json:"model"`
		Parts []*genai.Part `json:"parts"`
	} `json:"gemini"`
}

// remember returns the state that goes with a reply, nil if the message alone
// says everything.
func remember(model string, parts []*genai.Part) json.RawMessage {
	// Thoughts are for people; only signed ones may go back.
	parts = slices.DeleteFunc(slices.Clone(parts), func(p *genai.Part) bool { return p.Thought && plainText(p) })
	if !slices.ContainsFunc(parts, special) {
		return nil
	}
	var s state
	s.Gemini.Model, s.Gemini.Parts = model, parts
	data, err := json.Marshal(s)
	if err != nil {
		return nil // the parts came from JSON: this cannot happen
	}
	return data
}

// special reports whether a part has what a message does not hold.
func special(p *genai.Part) bool {
	return len(p.ThoughtSignature) > 0 || kind(p) == nativePart || p.FunctionCall != nil && p.FunctionCall.ID != ""
}

// recall returns the parts that a message was made of; nil if they are another
// model's, or if the message makes other calls than they do. Text that has been
// changed since (masked, shortened) goes in place of theirs.
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
