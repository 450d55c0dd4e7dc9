package gemini

import (
	"fmt"
	"strings"

	"google.golang.org/genai"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
)

// shown returns the text of a part, for people and for other models.
func shown(p *genai.Part) llm.Delta {
	switch {
	case p == nil:
		return llm.Delta{}
	case p.Thought:
		return llm.Delta{Thinking: p.Text}
	case p.ExecutableCode != nil:
		language := strings.ToLower(string(p.ExecutableCode.Language))
		return llm.Delta{Content: fenced(language, p.ExecutableCode.Code)}
	case p.CodeExecutionResult != nil:
		return llm.Delta{Content: fenced("", p.CodeExecutionResult.Output)}
	}
	return llm.Delta{Content: p.Text}
}

func fenced(language, text string) string {
	return fmt.Sprintf("```%s\n%s\n```\n", language, strings.TrimRight(text, "\n"))
}

// plainText reports whether a part is only text, without a signature.
func plainText(p *genai.Part) bool {
	return len(p.ThoughtSignature) == 0 && kind(p) == textPart
}

type partKind int

const (
	textPart partKind = iota
	callPart
	nativePart // from a tool that Gemini runs itself
	otherPart  // media and everything else
)

func kind(p *genai.Part) partKind {
	switch {
	case p.FunctionCall != nil:
		return callPart
	case p.ExecutableCode != nil, p.CodeExecutionResult != nil, p.ToolCall != nil, p.ToolResponse != nil:
		return nativePart
	case p.InlineData != nil, p.FileData != nil, p.FunctionResponse != nil:
		return otherPart
	}
	return textPart
}

// join merges streamed parts. Text continues the previous text unless one of them is signed, because a signature
// belongs to exactly one part. Empty parts are dropped, because Gemini refuses them in requests.
func join(streamed []*genai.Part) (parts []*genai.Part) {
	var text strings.Builder // of the last part
	finish := func() {
		if text.Len() > 0 {
			longer := *parts[len(parts)-1]
			longer.Text = text.String()
			parts[len(parts)-1] = &longer
			text.Reset()
		}
	}
	for _, p := range streamed {
		if p == nil || plainText(p) && p.Text == "" {
			continue
		}
		n := len(parts)
		if n == 0 || !plainText(p) || !plainText(parts[n-1]) || parts[n-1].Thought != p.Thought {
			finish()
			parts = append(parts, p)
		}
		if plainText(p) {
			text.WriteString(p.Text)
		}
	}
	finish()
	return parts
}

// toolCalls returns the calls in the parts. Older models give them no ids.
func toolCalls(parts []*genai.Part) []agent.ToolCall {
	var out []agent.ToolCall
	for _, p := range parts {
		if p == nil || p.FunctionCall == nil {
			continue
		}
		call := agent.ToolCall{ID: p.FunctionCall.ID, Name: p.FunctionCall.Name, Arguments: llm.GoogleArguments(p.FunctionCall.Args)}
		if call.ID == "" {
			call.ID = fmt.Sprintf("call_%d", len(out))
		}
		out = append(out, call)
	}
	return out
}
