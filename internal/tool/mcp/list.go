package mcp

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/tool"
)

// What a server's list may hold. A list past it is an error, not a shorter list:
// nobody would notice the tools that are missing.
const (
	maxTools = 1000
	maxPages = 100
)

// list asks for every page of the server's tools.
func (s *session) list(ctx context.Context, server agent.Server) ([]tool.Spec, error) {
	var specs []tool.Spec
	seen := map[string]bool{}
	for cursor := ""; ; {
		page, err := s.page(ctx, cursor)
		if err != nil {
			return nil, fmt.Errorf("list tools of MCP server %s: %w", s.server, err)
		}
		for _, t := range page.Tools {
			specs = append(specs, specOf(server, t))
		}
		seen[cursor] = true
		cursor = page.NextCursor
		switch {
		case len(specs) > maxTools || cursor != "" && len(seen) >= maxPages:
			return nil, fmt.Errorf("list tools of MCP server %s: more than %d tools or %d pages", s.server, maxTools, maxPages)
		case cursor == "":
			return specs, nil
		case seen[cursor]:
			return nil, fmt.Errorf("list tools of MCP server %s: its pages go round in a circle", s.server)
		}
	}
}

func (s *session) page(ctx context.Context, cursor string) (*mcp.ListToolsResult, error) {
	ctx, _, end := s.begin(ctx)
	defer end()
	page, err := s.client.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
	if err != nil {
		return nil, s.secrets.redactError(s.explain(ctx, err))
	}
	return page, nil
}

// specOf describes a tool as the rest of Inquest sees it.
func specOf(server agent.Server, t *mcp.Tool) tool.Spec {
	risk, idempotent := riskOf(t.Annotations)
	if configured, ok := server.Risk[t.Name]; ok {
		risk = configured
	}
	return tool.Spec{
		Name:        server.Name + "." + tool.ValidText(t.Name),
		Description: tool.ValidText(t.Description),
		Schema:      schemaOf(t),
		Risk:        risk,
		Idempotent:  idempotent,
	}
}

// riskOf reads a tool's annotations (spec: tools, "Risk"). A hint that is absent
// says nothing: MCP's own default for destructiveHint would make every tool
// without annotations a destructive one.
func riskOf(hints *mcp.ToolAnnotations) (risk agent.Risk, idempotent bool) {
	switch {
	case hints == nil:
		return agent.RiskWrite, false
	case hints.ReadOnlyHint:
		return agent.RiskReadOnly, hints.IdempotentHint
	case hints.DestructiveHint != nil && *hints.DestructiveHint:
		return agent.RiskDestructive, hints.IdempotentHint
	}
	return agent.RiskWrite, hints.IdempotentHint
}

func schemaOf(t *mcp.Tool) json.RawMessage {
	schema, err := json.Marshal(t.InputSchema)
	if err != nil || t.InputSchema == nil {
		return json.RawMessage(`{"type":"object"}`)
	}
	return schema
}
