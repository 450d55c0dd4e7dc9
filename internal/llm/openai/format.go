package openai

import (
	"encoding/json"

	sdk "github.com/sashabaranov/go-openai"

	"github.com/inquest-dev/inquest/internal/llm"
)

// responseFormat returns the JSON format that a request asks for, or nil for text.
func responseFormat(req llm.Request) *sdk.ChatCompletionResponseFormat {
	var root schema
	switch {
	case !req.JSON:
		return nil
	case !llm.OpenAIKeepsSchema(req.Model), json.Unmarshal(req.Schema, &root) != nil, string(root.Type) != `"object"`:
		return &sdk.ChatCompletionResponseFormat{Type: sdk.ChatCompletionResponseFormatTypeJSONObject}
	}
	return &sdk.ChatCompletionResponseFormat{
		Type:       sdk.ChatCompletionResponseFormatTypeJSONSchema,
		JSONSchema: &sdk.ChatCompletionResponseFormatJSONSchema{Name: "output", Schema: req.Schema, Strict: strict(req.Schema)},
	}
}
