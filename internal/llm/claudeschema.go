package llm

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
)

// ClaudeKeepsSchema reports whether a Claude model can follow a schema of an object by output_config.format: from
// version 4.5 on, and only schemas without anything that the API refuses.
// https://platform.claude.com/docs/en/build-with-claude/structured-outputs (read 2026-11-23)
func ClaudeKeepsSchema(model string, schema json.RawMessage) bool {
	if !ParseClaude(model).family().Schema {
		return false
	}
	s := claudeSchema{root: schema}
	root, ok := s.read(schema)
	return ok && string(root.Type) == `"object"` && s.takes(schema, nil) && s.optional <= 24 && s.unions <= 16
}

// ClaudeFills reports whether a Claude model can give its reply as the input of a tool with the schema. This requires a
// request without other tools, and a model that does not think: "Thinking may not be enabled when tool_choice forces
// tool use."
func ClaudeFills(req Request) bool {
	var root struct{ Type string }
	quiet := req.Thinking.Mode == agent.ThinkingOff || req.Thinking.Mode == "" && !ParseClaude(req.Model).ThinksUnasked()
	return quiet && len(req.Tools)+len(req.Withheld) == 0 && json.Unmarshal(req.Schema, &root) == nil && root.Type == "object"
}

// claudeSchema counts the parts that structured output limits.
type claudeSchema struct {
	root             json.RawMessage
	optional, unions int
}

type schemaPart struct {
	Type        json.RawMessage            `json:"type"`
	Properties  map[string]json.RawMessage `json:"properties"`
	Additional  json.RawMessage            `json:"additionalProperties"`
	Required    []string                   `json:"required"`
	Items       json.RawMessage            `json:"items"`
	AnyOf       []json.RawMessage          `json:"anyOf"`
	AllOf       []json.RawMessage          `json:"allOf"`
	Defs        map[string]json.RawMessage `json:"$defs"`
	Definitions map[string]json.RawMessage `json:"definitions"`
	Enum        []json.RawMessage          `json:"enum"`
	Format      string                     `json:"format"`
	MinItems    int                        `json:"minItems"`
	Ref         string                     `json:"$ref"`
}

// claudeWords are the keywords that structured output supports; all others are refused with a 400.
var claudeWords = []string{"type", "properties", "additionalProperties", "required", "items", "anyOf", "allOf", "$defs", "definitions",
	"$ref", "enum", "const", "format", "minItems", "description", "title"}

var claudeFormats = []string{"", "date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}

func (s *claudeSchema) read(data json.RawMessage) (part schemaPart, ok bool) {
	_, ok = ReadSchema(data, claudeWords, &part)
	return part, ok
}

// ReadSchema parses a JSON schema that has only known keywords, and returns its keywords.
func ReadSchema(data json.RawMessage, known []string, into any) (words map[string]json.RawMessage, ok bool) {
	if json.Unmarshal(data, &words) != nil || json.Unmarshal(data, into) != nil {
		return nil, false
	}
	for word := range words {
		if !slices.Contains(known, word) {
			return nil, false
		}
	}
	return words, true
}

// takes checks a schema and everything that it refers to. within are the references that lead to it.
func (s *claudeSchema) takes(data json.RawMessage, within []string) bool {
	part, ok := s.read(data)
	object := part.Properties != nil || strings.Contains(string(part.Type), `"object"`)
	complexValue := func(value json.RawMessage) bool { return strings.ContainsAny(string(value[:1]), "{[") }
	switch {
	case !ok, !slices.Contains(claudeFormats, part.Format), part.MinItems > 1,
		object && string(part.Additional) != "false", slices.ContainsFunc(part.Enum, complexValue):
		return false
	case part.Ref != "":
		target, known := s.find(part.Ref)
		return known && !slices.Contains(within, part.Ref) && s.takes(target, append(slices.Clone(within), part.Ref)) // no recursion
	}
	if len(part.AnyOf) > 0 || strings.HasPrefix(string(part.Type), "[") {
		s.unions++
	}
	parts := slices.Concat(part.AnyOf, part.AllOf)
	for name, property := range part.Properties {
		if parts = append(parts, property); !slices.Contains(part.Required, name) {
			s.optional++
		}
	}
	if len(part.Items) > 0 {
		parts = append(parts, part.Items)
	}
	return !slices.ContainsFunc(parts, func(p json.RawMessage) bool { return !s.takes(p, within) })
}

// find returns a definition of the schema.
func (s *claudeSchema) find(ref string) (json.RawMessage, bool) {
	root, _ := s.read(s.root)
	// any order: a reference has one of the prefixes
	for prefix, defs := range map[string]map[string]json.RawMessage{"#/$defs/": root.Defs, "#/definitions/": root.Definitions} {
		if name, ok := strings.CutPrefix(ref, prefix); ok {
			found, ok := defs[name]
			return found, ok
		}
	}
	return nil, false
}
