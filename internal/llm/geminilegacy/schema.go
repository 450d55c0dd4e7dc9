package geminilegacy

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/generative-ai-go/genai"

	"github.com/inquest-dev/inquest/internal/llm"
)

// schema is what of a JSON schema the SDK has words for. References, combinations
// and bounds are left out: they only help the model, and the tool checks again.
type schema struct {
	Type        typeNames          `json:"type"`
	Format      string             `json:"format"`
	Description string             `json:"description"`
	Enum        []any              `json:"enum"`
	Items       *schema            `json:"items"`
	Properties  map[string]*schema `json:"properties"`
	Required    []string           `json:"required"`
}

// UnmarshalJSON reads anything: a schema may be just true, or have fields of
// shapes that we do not know.
func (s *schema) UnmarshalJSON(data []byte) error {
	type plain schema
	_ = json.Unmarshal(data, (*plain)(s)) // what could be read is there
	return nil
}

// typeNames reads "string" as well as ["string", "null"].
type typeNames []string

// UnmarshalJSON reads one name or a list of them.
func (t *typeNames) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = typeNames{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(t))
}

// parameters spells the schema of a tool, nil for one that takes nothing: Gemini
// refuses an object without properties.
func parameters(t llm.Tool) (*genai.Schema, error) {
	if len(t.Schema) == 0 {
		return nil, nil
	}
	if !json.Valid(t.Schema) {
		return nil, fmt.Errorf("the schema of tool %s is not JSON", t.Name)
	}
	var s schema
	_ = json.Unmarshal(t.Schema, &s) // it is JSON, and the schema reads all of that
	if len(s.Properties) == 0 {
		return nil, nil
	}
	return s.spell(), nil
}

func (s *schema) spell() *genai.Schema {
	if s == nil {
		return &genai.Schema{Type: genai.TypeString}
	}
	out := &genai.Schema{Type: s.kind(), Description: valid(s.Description), Nullable: slices.Contains(s.Type, "null")}
	switch out.Type {
	case genai.TypeObject:
		out.Properties = map[string]*genai.Schema{}
		for name, property := range s.Properties {
			out.Properties[valid(name)] = property.spell()
		}
		for _, name := range s.Required {
			if out.Properties[name] != nil { // Gemini refuses others
				out.Required = append(out.Required, name)
			}
		}
	case genai.TypeArray:
		out.Items = s.Items.spell()
	case genai.TypeString:
		for _, value := range s.Enum {
			if name, ok := value.(string); ok {
				out.Format = "enum"
				out.Enum = append(out.Enum, valid(name))
			}
		}
	case genai.TypeInteger, genai.TypeNumber:
		if slices.Contains([]string{"int32", "int64", "float", "double"}, s.Format) {
			out.Format = s.Format
		}
	}
	return out
}

// kind is the first type that is not null; without one, what the rest looks like.
func (s *schema) kind() genai.Type {
	for _, name := range s.Type {
		switch name {
		case "object":
			return genai.TypeObject
		case "array":
			return genai.TypeArray
		case "integer":
			return genai.TypeInteger
		case "number":
			return genai.TypeNumber
		case "boolean":
			return genai.TypeBoolean
		case "string":
			return genai.TypeString
		}
	}
	switch {
	case len(s.Properties) > 0:
		return genai.TypeObject
	case s.Items != nil:
		return genai.TypeArray
	}
	return genai.TypeString
}
