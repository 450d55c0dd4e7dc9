package system

import (
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

// Matching returns the tools with a text in their name or description, ignoring case. An empty text matches all.
func Matching(tools []ToolInfo, text string) []ToolInfo {
	text = strings.ToLower(text)
	return slices.DeleteFunc(slices.Clone(tools), func(t ToolInfo) bool {
		return !strings.Contains(strings.ToLower(t.Name), text) && !strings.Contains(strings.ToLower(t.Description), text)
	})
}
