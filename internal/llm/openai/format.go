package openai

import (
	"encoding/json"
	"regexp"
	"slices"

	sdk "github.com/sashabaranov/go-openai"

	"github.com/inquest-dev/inquest/internal/llm"
)

// schematic matches the models that keep to a JSON schema, also behind a proxy.
// Compatible servers may refuse one, or take it for nothing, so they are asked for
// a JSON object, and the prompt has the schema.
// https://platform.openai.com/docs/guides/structured-outputs
var schematic = regexp.MustCompile(
	`^(?:.*/)?(?:gpt-4o(?:-mini)?(?:$|-2024-(?:0[78]|1)|-2025)|gpt-4\.1|gpt-(?:[5-9]|\d\d)|o1(?:$|-20)|o[3-9])`)

// responseFormat asks for the JSON that a request wants; nil for a text.
func responseFormat(req llm.Request) *sdk.ChatCompletionResponseFormat {
	var root schema
	switch {
	case !req.JSON:
		return nil
	case !schematic.MatchString(req.Model), json.Unmarshal(req.Schema, &root) != nil, string(root.Type) != `"object"`:
		return &sdk.ChatCompletionResponseFormat{Type: sdk.ChatCompletionResponseFormatTypeJSONObject}
	}
	return &sdk.ChatCompletionResponseFormat{
		Type:       sdk.ChatCompletionResponseFormatTypeJSONSchema,
		JSONSchema: &sdk.ChatCompletionResponseFormatJSONSchema{Name: "output", Schema: req.Schema, Strict: strict(req.Schema)},
	}
}

// schema is what of a JSON schema strict mode goes by.
type schema struct {
	Type       json.RawMessage            `json:"type"`
	Properties map[string]json.RawMessage `json:"properties"`
	Additional json.RawMessage            `json:"additionalProperties"`
	Required   []string                   `json:"required"`
	Items      json.RawMessage            `json:"items"`
	AnyOf      []json.RawMessage          `json:"anyOf"`
	Defs       map[string]json.RawMessage `json:"$defs"`
}

// known are the keywords that strict mode takes everywhere.
var known = []string{"type", "properties", "additionalProperties", "required", "items", "anyOf", "$defs", "$ref", "enum", "const",
	"description", "title"}

// strict reports whether a schema is one that OpenAI refuses no part of in strict
// mode: every property is required, no other is allowed. Others are a hint.
func strict(data json.RawMessage) bool {
	var s schema
	var words map[string]json.RawMessage
	if json.Unmarshal(data, &words) != nil || json.Unmarshal(data, &s) != nil {
		return false
	}
	for word := range words {
		if !slices.Contains(known, word) {
			return false
		}
	}
	if (s.Properties != nil || string(s.Type) == `"object"`) && (string(s.Additional) != "false" || len(s.Required) != len(s.Properties)) {
		return false
	}
	parts := s.AnyOf
	for name, property := range s.Properties {
		if !slices.Contains(s.Required, name) {
			return false
		}
		parts = append(parts, property)
	}
	for _, def := range s.Defs {
		parts = append(parts, def)
	}
	if len(s.Items) > 0 {
		parts = append(parts, s.Items)
	}
	return !slices.ContainsFunc(parts, func(part json.RawMessage) bool { return !strict(part) })
}
