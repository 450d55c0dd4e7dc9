package openai

import (
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/inquest-dev/inquest/internal/llm"
)

// schema has the parts of a JSON schema that strict mode checks.
type schema struct {
	Type       json.RawMessage            `json:"type"`
	Properties map[string]json.RawMessage `json:"properties"`
	Additional json.RawMessage            `json:"additionalProperties"`
	Required   []string                   `json:"required"`
	Items      json.RawMessage            `json:"items"`
	AnyOf      []json.RawMessage          `json:"anyOf"`
	Defs       map[string]json.RawMessage `json:"$defs"`
	Enum       []json.RawMessage          `json:"enum"`
	Const      json.RawMessage            `json:"const"`
}

// is reports whether a schema has a type, possibly among others. An empty name means any type.
func (s schema) is(name string) bool {
	var one string
	var several []string
	if json.Unmarshal(s.Type, &one) == nil {
		several = []string{one}
	} else {
		_ = json.Unmarshal(s.Type, &several) // there is none
	}
	return name == "" && len(several) > 0 || slices.Contains(several, name)
}

// parts returns the schemas within a schema.
func (s schema) parts() []json.RawMessage {
	parts := slices.Clone(s.AnyOf)
	for _, property := range s.Properties {
		parts = append(parts, property)
	}
	for _, def := range s.Defs {
		parts = append(parts, def)
	}
	if len(s.Items) > 0 {
		parts = append(parts, s.Items)
	}
	return parts
}

// known are the keywords that strict mode allows everywhere.
var known = []string{"type", "properties", "additionalProperties", "required", "items", "anyOf", "$defs", "$ref", "enum", "const",
	"description", "title"}

// strict reports whether OpenAI accepts a schema in strict mode: every property is required, no other is allowed, and
// the root is not a union. Other schemas are sent as a hint.
func strict(data json.RawMessage) bool {
	var root schema
	var sizes sizes
	_ = json.Unmarshal(data, &root) // invalid JSON is not closed
	return root.AnyOf == nil && closed(data) && sizes.add(data, 1)
}

func closed(data json.RawMessage) bool {
	var s schema
	words, ok := llm.ReadSchema(data, known, &s)
	if !ok {
		return false
	}
	if words["$ref"] != nil {
		return len(words) == 1 // "$ref cannot have keywords"
	}
	if !s.is("") && s.AnyOf == nil || s.is("array") && s.Items == nil {
		return false // "schema must have a 'type' key", "array schema missing items"
	}
	if (s.Properties != nil || s.is("object")) && (string(s.Additional) != "false" || len(s.Required) != len(s.Properties)) {
		return false
	}
	for name := range s.Properties {
		if !slices.Contains(s.Required, name) {
			return false
		}
	}
	return !slices.ContainsFunc(s.parts(), func(part json.RawMessage) bool { return !closed(part) })
}

// The limits of strict mode: "A schema may have up to 5000 object properties total, with up to 10 levels of nesting".
// The names of properties and definitions and the values of enum and const have at most 120,000 characters together.
// There are at most 1,000 enum values, and an enum with more than 250 values has at most 15,000 characters.
// https://developers.openai.com/api/docs/guides/structured-outputs#supported-schemas (read 2026-11-23)
const (
	maxProperties = 5000
	maxLevels     = 10
	maxStrings    = 120_000
	maxEnums      = 1000
	manyEnums     = 250
	maxManyEnums  = 15_000
)

// sizes are the sizes of a whole schema.
type sizes struct{ properties, strings, enums int }

// add counts a schema at a nesting level, and reports whether the limits are kept.
func (n *sizes) add(data json.RawMessage, level int) bool {
	var s schema
	_ = json.Unmarshal(data, &s) // cannot fail: it was parsed before
	n.properties += len(s.Properties)
	n.enums += len(s.Enum)
	n.strings += utf8.RuneCount(s.Const)
	values := 0
	for _, value := range s.Enum {
		values += utf8.RuneCount(value)
	}
	n.strings += values
	for _, names := range []map[string]json.RawMessage{s.Properties, s.Defs} {
		for name := range names {
			n.strings += utf8.RuneCountInString(name)
		}
	}
	if n.properties > maxProperties || n.strings > maxStrings || n.enums > maxEnums || s.Properties != nil && level > maxLevels ||
		len(s.Enum) > manyEnums && values > maxManyEnums {
		return false
	}
	if s.Properties != nil {
		level++
	}
	return !slices.ContainsFunc(s.parts(), func(part json.RawMessage) bool { return !n.add(part, level) })
}
