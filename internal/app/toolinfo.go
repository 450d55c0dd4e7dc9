package app

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/tool"
)

// ToolType is the origin of a tool.
type ToolType string

// The types of tools.
const (
	ToolMCP  ToolType = "mcp"  // from an MCP server
	ToolCode ToolType = "code" // built in
)

// ToolInfo describes a tool in lists (spec: tools, "Discovery").
type ToolInfo struct {
	Name        string   `json:"name"`
	Type        ToolType `json:"type"`
	Description string   `json:"description"`
	// Server is set for an MCP tool, Module for a built-in one.
	Server      string           `json:"server_name,omitempty"`
	Module      string           `json:"module,omitempty"`
	Parameters  []ToolParameter  `json:"parameters"` // required ones first, then by name
	InputSchema json.RawMessage  `json:"input_schema"`
	Risk        agent.Risk       `json:"risk"`
	RiskFrom    tool.Source      `json:"risk_from"`
	Idempotency tool.Idempotency `json:"idempotency"`
	// Definition is a hash of the tool's description by its server.
	Definition string `json:"definition"`
	// NeedsApproval means that a person decides on each call.
	NeedsApproval bool `json:"needs_approval"`
}

// ToolParameter is a property of a tool's schema.
type ToolParameter struct {
	Name     string `json:"name"`
	Type     string `json:"type"` // "any" if the schema does not say
	Required bool   `json:"required"`
}

// The modules of tools in Go.
const (
	builtinModule = "builtin" // Inquest's own
	programModule = "program" // of the workers' program
)

func describe(spec tool.Spec) ToolInfo {
	info := ToolInfo{
		Name: spec.Name, Type: ToolCode, Module: builtinModule, Description: spec.Description,
		Parameters: parameters(spec.Schema), InputSchema: spec.Schema,
		Risk: cmp.Or(spec.Risk, agent.RiskUnknown), RiskFrom: cmp.Or(spec.RiskFrom, tool.SourceProgram), Idempotency: spec.Class(),
		Definition: spec.Definition(),
	}
	if server, _ := tool.Split(spec.Name); server != "" {
		info.Type, info.Server, info.Module = ToolMCP, server, ""
	}
	if len(info.InputSchema) == 0 {
		info.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	return info
}

// parameters lists the properties of a schema; nil if it cannot be parsed.
func parameters(schema json.RawMessage) []ToolParameter {
	var object struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	_ = json.Unmarshal(schema, &object)
	out := make([]ToolParameter, 0, len(object.Properties))
	for name, property := range object.Properties {
		out = append(out, ToolParameter{Name: name, Type: typeOf(property), Required: slices.Contains(object.Required, name)})
	}
	first := map[bool]int{true: -1}
	slices.SortFunc(out, func(a, b ToolParameter) int {
		return cmp.Or(cmp.Compare(first[a.Required], first[b.Required]), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// typeOf returns the type that a schema gives to a property, or its types: "string|null".
func typeOf(property json.RawMessage) string {
	var one struct{ Type string }
	var several struct{ Type []string }
	if json.Unmarshal(property, &one) != nil && json.Unmarshal(property, &several) != nil {
		return "any"
	}
	return cmp.Or(one.Type, strings.Join(several.Type, "|"), "any")
}

// Matching returns the tools with a text in their name or description, ignoring case. An empty text matches all.
func Matching(tools []ToolInfo, text string) []ToolInfo {
	text = strings.ToLower(text)
	return slices.DeleteFunc(slices.Clone(tools), func(t ToolInfo) bool {
		return !strings.Contains(strings.ToLower(t.Name), text) && !strings.Contains(strings.ToLower(t.Description), text)
	})
}
