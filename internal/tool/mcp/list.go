package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
)

// What a server's list may hold. A list past it is an error, not a shorter list:
// nobody would notice the tools that are missing. What a single tool may be, and all of
// them together, is for tool.Bounded.
const (
	maxTools = 1000 // no model tells so many apart
	maxPages = 100
)

// list asks for every page of the server's tools.
func (s *session) list(ctx context.Context, server plan.Server) ([]tool.Spec, error) {
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
			return nil, fmt.Errorf("list tools of MCP server %s: %w", s.server, errTooMany)
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
func specOf(server plan.Server, t *mcp.Tool) tool.Spec {
	spec := tool.Spec{Name: server.Name + "." + tool.ValidText(t.Name), Description: tool.ValidText(t.Description), Schema: schemaOf(t)}
	spec.Risk, spec.RiskFrom = riskOf(server, t)
	hinted := server.TrustAnnotations && t.Annotations != nil && t.Annotations.IdempotentHint
	spec.Idempotent = hinted || slices.Contains(server.Idempotent, t.Name)
	return spec
}

// riskOf is what the configuration says of a tool, else what the server does, if
// its word counts; if not, it may raise the risk only. A hint that is absent says
// nothing: MCP's own default for destructiveHint would make every tool without
// annotations a destructive one.
func riskOf(server plan.Server, t *mcp.Tool) (agent.Risk, tool.Source) {
	configured, ok := server.Risk[t.Name]
	hints := t.Annotations
	switch {
	case ok:
		return configured, tool.SourceConfiguration
	case hints == nil:
		return agent.RiskWrite, tool.SourceDefault
	case hints.ReadOnlyHint && server.TrustAnnotations:
		return agent.RiskReadOnly, tool.SourceAnnotation
	case hints.DestructiveHint != nil && *hints.DestructiveHint:
		return agent.RiskDestructive, tool.SourceAnnotation
	case hints.ReadOnlyHint:
		return agent.RiskWrite, tool.SourceUntrusted
	}
	return agent.RiskWrite, tool.SourceDefault
}

func schemaOf(t *mcp.Tool) json.RawMessage {
	schema, err := json.Marshal(t.InputSchema)
	if err != nil || t.InputSchema == nil {
		return json.RawMessage(`{"type":"object"}`)
	}
	return schema
}
