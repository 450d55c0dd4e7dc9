package geminilegacy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/generative-ai-go/genai"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
)

// refuse says what of a request the SDK cannot do.
func refuse(req llm.Request) error {
	switch {
	case req.Thinking != (agent.Thinking{}):
		return errors.New("generative-ai-go does not know thoughts; use the driver genai")
	case len(req.NativeTools) > 0:
		return fmt.Errorf("generative-ai-go does not have the native tool %s; use the driver genai", req.NativeTools[0])
	case len(req.Tools) > 0 && llm.GoogleSigns(req.Model):
		return fmt.Errorf("%s needs thought signatures to call tools, and generative-ai-go drops them; use the driver genai", req.Model)
	}
	return nil
}

// configure sets all of a request but its conversation.
func configure(model *genai.GenerativeModel, req llm.Request) error {
	model.Temperature = req.Temperature
	if req.MaxTokens > 0 {
		model.SetMaxOutputTokens(int32(min(req.MaxTokens, 1<<30)))
	}
	for _, m := range req.Messages {
		if m.Role == agent.System && m.Content != "" {
			if model.SystemInstruction == nil {
				model.SystemInstruction = &genai.Content{Role: "user"}
			}
			model.SystemInstruction.Parts = append(model.SystemInstruction.Parts, text(m.Content))
		}
	}
	if len(req.Tools) == 0 {
		answerAsJSON(model, req)
		return nil
	}
	tool := &genai.Tool{}
	for _, t := range req.Tools {
		parameters, err := parameters(t)
		if err != nil {
			return err
		}
		tool.FunctionDeclarations = append(tool.FunctionDeclarations,
			&genai.FunctionDeclaration{Name: t.Name, Description: t.Description, Parameters: parameters})
	}
	model.Tools = []*genai.Tool{tool}
	return nil
}

// answerAsJSON asks for the JSON that a request wants. Gemini refuses it beside tools.
func answerAsJSON(model *genai.GenerativeModel, req llm.Request) {
	if !req.JSON {
		return
	}
	model.ResponseMIMEType = "application/json"
	// What the SDK has no words for is left out, as of a tool's schema.
	if schema, err := parameters(llm.Tool{Schema: req.Schema}); err == nil {
		model.ResponseSchema = schema
	}
}

// contents spells messages as turns, which alternate; the last is the user's, as
// the SDK knows no other way.
func contents(messages []agent.Message) []*genai.Content {
	var out []*genai.Content
	names := map[string]string{} // of tools, by call id: the SDK knows no ids
	say := func(role string, part genai.Part) {
		if part == genai.Text("") {
			return // Gemini refuses parts without anything
		}
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
			say("model", text(m.Content))
			for _, call := range m.ToolCalls {
				names[call.ID] = call.Name
				say("model", genai.FunctionCall{Name: call.Name, Args: llm.ParseGoogleArguments(call.Arguments)})
			}
		case agent.ToolRole:
			say("user", result(m, names))
		}
	}
	if n := len(out); n > 0 && out[n-1].Role == "model" {
		say("user", genai.Text("Continue."))
	}
	return out
}

// result answers a call. A result whose call is gone is shown as text.
func result(m agent.Message, names map[string]string) genai.Part {
	name, ok := names[m.ToolCallID]
	if !ok {
		return text(m.Content)
	}
	return genai.FunctionResponse{Name: name, Response: map[string]any{"output": valid(m.Content)}}
}

func text(s string) genai.Text { return genai.Text(valid(s)) }

// valid makes a text fit for protobuf, which refuses bytes that are not UTF-8.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
