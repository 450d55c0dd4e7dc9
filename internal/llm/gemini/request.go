package gemini

import (
	"encoding/json"
	"fmt"
	"regexp"

	"google.golang.org/genai"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
)

var (
	// thinkers matches the models that think. Others refuse to be asked for thoughts.
	thinkers = regexp.MustCompile(`^(?:models/)?gemini-(?:2\.5|[3-9]|\d\d|flash|pro)`)
	// silent matches those of their names that do not.
	silent = regexp.MustCompile(`image|tts|audio|live|embedding`)
)

// unsigned is what Google wants in place of the first signature of calls that the
// model did not make itself: those of another provider, say.
// https://ai.google.dev/gemini-api/docs/thought-signatures
const unsigned = "skip_thought_signature_validator"

// generateConfig spells all of a request but its messages.
func generateConfig(req llm.Request) (*genai.GenerateContentConfig, error) {
	never := false
	config := &genai.GenerateContentConfig{
		SystemInstruction:     systemInstruction(req.Messages),
		Temperature:           req.Temperature,
		MaxOutputTokens:       int32(min(req.MaxTokens, 1<<30)),
		AutomaticContinuation: &never, // it would ask again for streams that broke
	}
	if req.Thinking || thinkers.MatchString(req.Model) && !silent.MatchString(req.Model) {
		config.ThinkingConfig = &genai.ThinkingConfig{IncludeThoughts: true}
	}
	if req.JSON && (len(req.Tools)+len(req.NativeTools) == 0 || agent.MixesTools(req.Model)) { // others refuse it beside tools
		config.ResponseMIMEType = "application/json"
		if len(req.Schema) > 0 && thinkers.MatchString(req.Model) { // older ones know only another dialect
			config.ResponseJsonSchema = req.Schema
		}
	}
	functions, err := declarations(req.Tools)
	if err != nil {
		return nil, err
	}
	if len(functions) > 0 {
		config.Tools = append(config.Tools, &genai.Tool{FunctionDeclarations: functions})
	}
	both := len(functions) > 0 && len(req.NativeTools) > 0
	for _, name := range req.NativeTools {
		if both && !agent.MixesTools(req.Model) {
			break // they stand back; the configuration's check says so
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

// declarations leaves the schema of a tool out that takes nothing: Gemini refuses
// an object without properties.
func declarations(tools []llm.Tool) ([]*genai.FunctionDeclaration, error) {
	var out []*genai.FunctionDeclaration
	for _, t := range tools {
		f := &genai.FunctionDeclaration{Name: t.Name, Description: t.Description}
		var schema map[string]any
		if err := json.Unmarshal(t.Schema, &schema); err != nil && len(t.Schema) > 0 {
			return nil, fmt.Errorf("the schema of tool %s: %w", t.Name, err)
		}
		if properties, _ := schema["properties"].(map[string]any); len(properties) > 0 || schema["$ref"] != nil {
			f.ParametersJsonSchema = schema
		}
		out = append(out, f)
	}
	return out, nil
}

// systemInstruction is where Gemini takes system messages, wherever they stood.
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
