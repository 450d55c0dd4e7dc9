package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
)

// Limits of a server's list. A list beyond them is an error and is not cut, because nobody would notice the missing
// tools. The limits of each tool, and of all together, are in tool.Bounded.
const (
	maxTools = 1000 // more than any model can tell apart
	maxPages = 100
)

// list requests every page of the server's tools.
func (s *session) list(ctx context.Context, server plan.Server) ([]tool.Spec, error) {
	s.asked.CompareAndSwap(nil, new(time.Now()))
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
			s.asked.Store(nil)
			return specs, nil
		case seen[cursor]:
			return nil, fmt.Errorf("list tools of MCP server %s: it returned the same page cursor twice", s.server)
		}
	}
}

// page is a page of a server's tools, in the server's form.
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
	if err := json.Unmarshal(s.wire.answers().take(answer.Meta), &p); err != nil {
		return p, s.secrets.redactError(fmt.Errorf("read a page of tools: %w", err))
	}
	return p, nil
}

// listedTool has the fields of a listed tool that are used here.
type listedTool struct {
	Name        string
	Description string
	InputSchema json.RawMessage
	Annotations *mcp.ToolAnnotations
}

// specOf converts a tool to a Spec. A tool that cannot be decoded is unusable and does not affect others.
func specOf(server plan.Server, raw json.RawMessage) tool.Spec {
	var t listedTool
	unreadable := json.Unmarshal(raw, &t)
	spec := tool.Spec{Name: server.Name + "." + tool.ValidText(t.Name), Description: tool.ValidText(t.Description), Schema: schemaOf(t)}
	spec.Risk, spec.RiskFrom = riskOf(server, t)
	hinted := server.TrustAnnotations && t.Annotations != nil && t.Annotations.IdempotentHint
	spec.Idempotent = hinted || slices.Contains(server.Idempotent, t.Name)
	if unreadable != nil {
		spec.Unusable = clip.Bytes(tool.ValidText("its definition cannot be read: "+unreadable.Error()), maxErrorText)
	}
	return spec
}

// riskOf returns the configured risk of a tool, or else the server's risk if the server is trusted. An untrusted server
// can only raise the risk. A missing hint is ignored, because MCP's default for destructiveHint would make every tool
// without annotations destructive.
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

// schemaOf returns a schema in canonical form, with sorted keys, so that its digest depends only on its content.
func schemaOf(t listedTool) json.RawMessage {
	if document, err := decode(t.InputSchema); err == nil && document != nil {
		if schema, err := json.Marshal(document); err == nil {
			return schema
		}
	}
	return json.RawMessage(`{"type":"object"}`)
}
