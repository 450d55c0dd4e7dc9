package app

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/tool"
)

// ToolType says where a tool comes from.
type ToolType string

// The types of tools.
const (
	ToolMCP  ToolType = "mcp"  // of an MCP server
	ToolCode ToolType = "code" // built in
)

// ToolInfo describes a tool in lists (spec: tools, "Discovery").
type ToolInfo struct {
	Name        string   `json:"name"`
	Type        ToolType `json:"type"`
	Description string   `json:"description"`
	// Server is an MCP tool's, Module that of a built-in one.
	Server      string           `json:"server_name,omitempty"`
	Module      string           `json:"module,omitempty"`
	Parameters  []ToolParameter  `json:"parameters"` // the required ones first, by name
	InputSchema json.RawMessage  `json:"input_schema"`
	Risk        agent.Risk       `json:"risk"`
	RiskFrom    tool.Source      `json:"risk_from"`
	Idempotency tool.Idempotency `json:"idempotency"`
	// Definition is a hash of what the tool's server says of it.
	Definition string `json:"definition"`
	// NeedsApproval: a person decides on each call.
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

// parameters lists the properties of a schema; none of one that cannot be read.
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

// typeOf is the type that a schema gives to a property, or its types: "string|null".
func typeOf(property json.RawMessage) string {
	var one struct{ Type string }
	var several struct{ Type []string }
	if json.Unmarshal(property, &one) != nil && json.Unmarshal(property, &several) != nil {
		return "any"
	}
	return cmp.Or(one.Type, strings.Join(several.Type, "|"), "any")
}

// Matching are the tools with a text in their name or description, whatever the
// case of its letters; "" = all.
func Matching(tools []ToolInfo, text string) []ToolInfo {
	text = strings.ToLower(text)
	return slices.DeleteFunc(slices.Clone(tools), func(t ToolInfo) bool {
		return !strings.Contains(strings.ToLower(t.Name), text) && !strings.Contains(strings.ToLower(t.Description), text)
	})
}
