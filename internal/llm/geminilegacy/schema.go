package geminilegacy

import (
	"encoding/json"

	"github.com/google/generative-ai-go/genai"
)

// schema is a schema that package outgoing has written for the SDK.
type schema struct {
	Type        string             `json:"type"`
	Format      string             `json:"format"`
	Description string             `json:"description"`
	Nullable    bool               `json:"nullable"`
	Enum        []string           `json:"enum"`
	Items       *schema            `json:"items"`
	Properties  map[string]*schema `json:"properties"`
	Required    []string           `json:"required"`
}

var types = map[string]genai.Type{
	"object": genai.TypeObject, "array": genai.TypeArray, "integer": genai.TypeInteger, "number": genai.TypeNumber,
	"boolean": genai.TypeBoolean, "string": genai.TypeString,
}

// parameters converts the schema of a tool. It returns nil for a tool without arguments, because Gemini refuses an
// object without properties.
func parameters(written json.RawMessage) *genai.Schema {
	var s schema
	if json.Unmarshal(written, &s) != nil || len(s.Properties) == 0 {
		return nil
	}
	return s.spell()
}

func (s *schema) spell() *genai.Schema {
	if s == nil {
		return nil
	}
	out := &genai.Schema{
		Type: types[s.Type], Format: s.Format, Description: s.Description, Nullable: s.Nullable, Enum: s.Enum, Items: s.Items.spell(),
		Required: s.Required,
	}
	if len(s.Enum) > 0 {
		out.Format = "enum"
	}
	for name, property := range s.Properties {
		if out.Properties == nil {
			out.Properties = map[string]*genai.Schema{}
		}
		out.Properties[name] = property.spell()
	}
	return out
}
