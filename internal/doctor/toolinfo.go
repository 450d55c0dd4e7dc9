package doctor

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/tool"
)

// The modules of tools in Go.
const (
	builtinModule = "builtin" // Inquest's own
	programModule = "program" // of the workers' program
)

func describe(spec tool.Spec) system.ToolInfo {
	info := system.ToolInfo{
		Name: spec.Name, Type: system.ToolCode, Module: builtinModule, Description: spec.Description,
		Parameters: parameters(spec.Schema), InputSchema: spec.Schema,
		Risk: cmp.Or(spec.Risk, agent.RiskUnknown), RiskFrom: cmp.Or(spec.RiskFrom, tool.SourceProgram), Idempotency: spec.Class(),
		Definition: spec.Definition(),
	}
	if server, _ := tool.Split(spec.Name); server != "" {
		info.Type, info.Server, info.Module = system.ToolMCP, server, ""
	}
	if len(info.InputSchema) == 0 {
		info.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	return info
}

// parameters lists the properties of a schema; nil if it cannot be parsed.
func parameters(schema json.RawMessage) []system.ToolParameter {
	var object struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	_ = json.Unmarshal(schema, &object)
	out := make([]system.ToolParameter, 0, len(object.Properties))
	for name, property := range object.Properties {
		out = append(out, system.ToolParameter{Name: name, Type: typeOf(property), Required: slices.Contains(object.Required, name)})
	}
	first := map[bool]int{true: -1}
	slices.SortFunc(out, func(a, b system.ToolParameter) int {
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
