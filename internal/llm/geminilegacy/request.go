package geminilegacy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/generative-ai-go/genai"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/outgoing"
)

// refuse returns an error for a request that the SDK cannot express.
func refuse(req llm.Request) error {
	switch {
	case req.Thinking != (agent.Thinking{}):
		return errors.New("generative-ai-go does not support thinking; use the driver genai")
	case len(req.NativeTools) > 0:
		return fmt.Errorf("generative-ai-go does not support the native tool %s; use the driver genai", req.NativeTools[0])
	case len(req.Tools) > 0 && llm.GoogleSigns(req.Model):
		return fmt.Errorf("%s needs thought signatures to call tools, and generative-ai-go drops them; use the driver genai", req.Model)
	}
	return nil
}

// configure sets all of a request except its conversation.
func configure(model *genai.GenerativeModel, req llm.Request) {
	model.Temperature = req.Temperature
	if req.MaxTokens > 0 {
		model.SetMaxOutputTokens(int32(min(req.MaxTokens, 1<<30)))
	}
	for _, m := range req.Messages {
		if m.Role == agent.System {
			model.SystemInstruction = &genai.Content{Role: "user", Parts: []genai.Part{text(m.Content)}}
		}
	}
	tools := req.Tools
	if len(tools) == 0 && !req.JSON && !llm.GoogleSigns(req.Model) {
		if tools = req.Withheld; len(tools) > 0 {
			none := &genai.FunctionCallingConfig{Mode: genai.FunctionCallingNone}
			model.ToolConfig = &genai.ToolConfig{FunctionCallingConfig: none}
		}
	}
	if len(tools) == 0 {
		answerAsJSON(model, req)
		return
	}
	tool := &genai.Tool{}
	for _, t := range tools {
		tool.FunctionDeclarations = append(tool.FunctionDeclarations,
			&genai.FunctionDeclaration{Name: t.Name, Description: t.Description, Parameters: parameters(t.Schema)})
	}
	model.Tools = []*genai.Tool{tool}
}

// answerAsJSON asks for JSON if the request does. Gemini refuses that with tools.
func answerAsJSON(model *genai.GenerativeModel, req llm.Request) {
	if !req.JSON {
		return
	}
	model.ResponseMIMEType = "application/json"
	// Keywords that the SDK does not know are left out, as in a tool's schema.
	if written, _, err := outgoing.Schema(req.Schema, agent.SchemaOpenAPI); err == nil {
		model.ResponseSchema = parameters(written)
	}
}

// contents converts messages to alternating turns. The last one is the user's, because the SDK requires it.
func contents(messages []agent.Message, digits llm.Digits) []*genai.Content {
	var out []*genai.Content
	names := map[string]string{} // of tools, by call id: the SDK has no ids
	say := func(role string, part genai.Part) {
		if n := len(out); n == 0 || out[n-1].Role != role {
			out = append(out, &genai.Content{Role: role})
		}
		last := out[len(out)-1]
		last.Parts = append(last.Parts, part)
	}
	for _, m := range messages {
		switch m.Role {
		case agent.User:
			say("user", text(m.Content))
		case agent.Assistant:
			if m.Content != "" { // Gemini refuses empty parts
				say("model", text(m.Content))
			}
			for _, call := range m.ToolCalls {
				names[call.ID] = call.Name
				say("model", genai.FunctionCall{Name: call.Name, Args: digits.Arguments(call.Arguments)})
			}
		case agent.ToolRole:
			say("user", genai.FunctionResponse{Name: names[m.ToolCallID], Response: map[string]any{"output": valid(m.Content)}})
		}
	}
	return out
}

func text(s string) genai.Text { return genai.Text(valid(s)) }

// valid replaces invalid UTF-8, which protobuf refuses.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
