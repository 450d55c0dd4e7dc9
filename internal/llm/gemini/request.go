package gemini

import (
	"fmt"
	"regexp"
	"strings"

	"google.golang.org/genai"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
)

// silent matches the names of models that never think, whatever their generation.
var silent = regexp.MustCompile(`image|tts|audio|live|embedding`)

// unsigned replaces the first signature of calls that the model did not make itself, such as those of another provider.
// Google requires this.
// https://ai.google.dev/gemini-api/docs/thought-signatures
const unsigned = "skip_thought_signature_validator"

// generateConfig encodes a request except its messages.
func generateConfig(req llm.Request, digits llm.Digits) (*genai.GenerateContentConfig, error) {
	never := false
	config := &genai.GenerateContentConfig{
		SystemInstruction:     systemInstruction(req.Messages),
		Temperature:           req.Temperature,
		MaxOutputTokens:       int32(min(req.MaxTokens, 1<<30)),
		AutomaticContinuation: &never, // it would resend requests after broken streams
	}
	if !req.Unthinking {
		config.ThinkingConfig = thinking(req)
	}
	if req.JSON && (len(req.Tools)+len(req.NativeTools) == 0 || agent.MixesTools(req.Model)) { // other models refuse it with tools
		config.ResponseMIMEType = "application/json"
		if len(req.Schema) > 0 && llm.GeminiKeepsSchema(req.Model) {
			config.ResponseJsonSchema = digits.Value(req.Schema)
		}
	}
	tools := req.Tools
	if len(tools)+len(req.NativeTools) == 0 && (!req.JSON || agent.MixesTools(req.Model)) && len(req.Withheld) > 0 {
		tools = req.Withheld
		config.ToolConfig = &genai.ToolConfig{FunctionCallingConfig: &genai.FunctionCallingConfig{Mode: genai.FunctionCallingConfigModeNone}}
	}
	functions := declarations(tools, digits)
	if len(functions) > 0 {
		config.Tools = append(config.Tools, &genai.Tool{FunctionDeclarations: functions})
	}
	both := len(functions) > 0 && len(req.NativeTools) > 0
	for _, name := range req.NativeTools {
		if both && !agent.MixesTools(req.Model) {
			break // left out; the configuration's check reports it
		}
		tool, err := nativeTool(name)
		if err != nil {
			return nil, err
		}
		config.Tools = append(config.Tools, tool)
	}
	if both && agent.MixesTools(req.Model) {
		config.ToolConfig = &genai.ToolConfig{IncludeServerSideToolInvocations: &both}
	}
	return config, nil
}

// budgets map levels for models that only have budgets, with the values of Google's own endpoint for OpenAI's protocol.
// https://ai.google.dev/gemini-api/docs/openai#thinking
var budgets = map[string]int32{"minimal": 1024, "low": 1024, "medium": 8192, "high": 24576}

// thinking encodes how much a model thinks. It returns nil for a model that does not think.
func thinking(req llm.Request) *genai.ThinkingConfig {
	want := req.Thinking
	if want == (agent.Thinking{}) && (!llm.GeminiThinks(req.Model) || silent.MatchString(req.Model)) {
		return nil
	}
	budget := budgets[want.Effort]
	switch {
	case want.Mode == agent.ThinkingOff:
		return &genai.ThinkingConfig{ThinkingBudget: new(int32)}
	case want.Effort != "" && !llm.GeminiTakesBudget(req.Model):
		return &genai.ThinkingConfig{IncludeThoughts: true, ThinkingLevel: genai.ThinkingLevel(strings.ToUpper(want.Effort))}
	case want.Budget > 0:
		budget = int32(min(want.Budget, 1<<30))
	case want.Mode == agent.ThinkingAdaptive && want.Effort == "" && llm.GeminiTakesBudget(req.Model):
		budget = -1 // the model decides
	}
	if budget == 0 {
		return &genai.ThinkingConfig{IncludeThoughts: true}
	}
	return &genai.ThinkingConfig{IncludeThoughts: true, ThinkingBudget: &budget}
}

func nativeTool(name llm.NativeTool) (*genai.Tool, error) {
	switch name {
	case llm.GoogleSearch:
		return &genai.Tool{GoogleSearch: &genai.GoogleSearch{}}, nil
	case llm.URLContext:
		return &genai.Tool{URLContext: &genai.URLContext{}}, nil
	case llm.CodeExecution:
		return &genai.Tool{CodeExecution: &genai.ToolCodeExecution{}}, nil
	}
	return nil, fmt.Errorf("Gemini has no native tool %q", name)
}

// declarations omits the schema of a tool without arguments, because Gemini refuses an object without properties.
func declarations(tools []llm.Tool, digits llm.Digits) (out []*genai.FunctionDeclaration) {
	for _, t := range tools {
		f := &genai.FunctionDeclaration{Name: t.Name, Description: t.Description}
		schema, _ := digits.Value(t.Schema).(map[string]any) // it is an object
		if properties, _ := schema["properties"].(map[string]any); len(properties) > 0 {
			f.ParametersJsonSchema = schema
		}
		out = append(out, f)
	}
	return out
}

// systemInstruction collects the system messages, wherever they are in the conversation.
func systemInstruction(messages []agent.Message) *genai.Content {
	out := &genai.Content{}
	for _, m := range messages {
		if m.Role == agent.System && m.Content != "" {
			out.Parts = append(out.Parts, &genai.Part{Text: m.Content})
		}
	}
	if len(out.Parts) == 0 {
		return nil
	}
	return out
}
