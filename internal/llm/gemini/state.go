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
	var parts []*genai.Part
	for _, p := range s.Gemini.Parts {
		if p = returnable(p); p != nil {
			parts = append(parts, p)
		}
	}
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

// returnable returns a part as Gemini accepts it: with exactly one data field, which is complete. It returns nil if there is none, and
// for the answer to a call, which only a client gives.
func returnable(p *genai.Part) *genai.Part {
	if p == nil {
		return nil
	}
	out := &genai.Part{Thought: p.Thought, ThoughtSignature: p.ThoughtSignature, PartMetadata: p.PartMetadata}
	code, result, call, response, inline, file := p.ExecutableCode, p.CodeExecutionResult, p.ToolCall, p.ToolResponse, p.InlineData, p.FileData
	switch {
	case p.FunctionCall != nil:
		out.FunctionCall = p.FunctionCall
	case code != nil && code.Code != "" && code.Language == genai.LanguagePython:
		out.ExecutableCode = code
	case result != nil && slices.Contains(outcomes, result.Outcome):
		out.CodeExecutionResult = result
	case call != nil && call.ToolType != "":
		out.ToolCall = call
	case response != nil && response.ToolType != "":
		out.ToolResponse = response
	case inline != nil && inline.MIMEType != "" && len(inline.Data) > 0:
		out.InlineData, out.VideoMetadata = inline, p.VideoMetadata
	case file != nil && file.FileURI != "":
		out.FileData, out.VideoMetadata = file, p.VideoMetadata
	case p.Text != "" || kind(p) == textPart && len(p.ThoughtSignature) > 0:
		out.Text = p.Text
	default:
		return nil
	}
	return out
}

// outcomes are the documented outcomes of code that Gemini runs.
var outcomes = []genai.Outcome{genai.OutcomeOK, genai.OutcomeFailed, genai.OutcomeDeadlineExceeded}
