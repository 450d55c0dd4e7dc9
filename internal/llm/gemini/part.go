package gemini

import (
	"fmt"
	"strings"

	"google.golang.org/genai"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
)

// shown is what of a part is text for people and for other models.
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

// plainText reports whether a part is text and nothing else, without a signature.
func plainText(p *genai.Part) bool {
	return len(p.ThoughtSignature) == 0 && kind(p) == textPart
}

type partKind int

const (
	textPart partKind = iota
	callPart
	nativePart // of a tool that Gemini runs itself
	otherPart  // media and whatever else
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

// join adds a streamed part. Text continues the text before it, unless one of the
// two is signed: a signature belongs to exactly the part that it came with. Parts
// without anything are dropped, because Gemini refuses to have them back.
func join(parts []*genai.Part, p *genai.Part) []*genai.Part {
	if p == nil || plainText(p) && p.Text == "" {
		return parts
	}
	if n := len(parts); n > 0 && plainText(p) && plainText(parts[n-1]) && parts[n-1].Thought == p.Thought {
		longer := *parts[n-1]
		longer.Text += p.Text
		parts[n-1] = &longer
		return parts
	}
	return append(parts, p)
}

// toolCalls returns the calls among the parts. Older models give them no ids.
func toolCalls(parts []*genai.Part) []agent.ToolCall {
	var out []agent.ToolCall
	for _, p := range parts {
		if p.FunctionCall == nil {
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
