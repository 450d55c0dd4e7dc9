package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/clip"
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
		for _, raw := range page.Tools {
			specs = append(specs, specOf(server, raw))
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

// page is a page of a server's tools, as the server wrote them.
type page struct {
	Tools      []json.RawMessage
	NextCursor string
}

func (s *session) page(ctx context.Context, cursor string) (p page, err error) {
	ctx, _, end := s.begin(ctx)
	defer end()
	answer, err := s.client.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
	if err != nil {
		return p, s.secrets.redactError(s.explain(ctx, err))
	}
	if err := json.Unmarshal(s.wire.results().take(answer.Meta), &p); err != nil {
		return p, s.secrets.redactError(fmt.Errorf("read a page of tools: %w", err))
	}
	return p, nil
}

// listedTool is what we read of a tool in a list.
type listedTool struct {
	Name        string
	Description string
	InputSchema json.RawMessage
	Annotations *mcp.ToolAnnotations
}

// specOf describes a tool as the rest of Inquest sees it. A tool that cannot be read is unusable, and costs no other.
func specOf(server plan.Server, raw json.RawMessage) tool.Spec {
	var t listedTool
	unreadable := json.Unmarshal(raw, &t)
	spec := tool.Spec{Name: server.Name + "." + tool.ValidText(t.Name), Description: tool.ValidText(t.Description), Schema: schemaOf(t)}
	spec.Risk, spec.RiskFrom = riskOf(server, t)
	hinted := server.TrustAnnotations && t.Annotations != nil && t.Annotations.IdempotentHint
	spec.Idempotent = hinted || slices.Contains(server.Idempotent, t.Name)
	if unreadable != nil {
		spec.Unusable = clip.Bytes(tool.ValidText("it cannot be read: "+unreadable.Error()), maxErrorText)
	}
	return spec
}

// riskOf is what the configuration says of a tool, else what the server does, if
// its word counts; if not, it may raise the risk only. A hint that is absent says
// nothing: MCP's own default for destructiveHint would make every tool without
// annotations a destructive one.
func riskOf(server plan.Server, t listedTool) (agent.Risk, tool.Source) {
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

// schemaOf spells a schema in one way, keys sorted, so that its digest depends on what it says alone.
func schemaOf(t listedTool) json.RawMessage {
	if document, err := decode(t.InputSchema); err == nil && document != nil {
		if schema, err := json.Marshal(document); err == nil {
			return schema
		}
	}
	return json.RawMessage(`{"type":"object"}`)
}
