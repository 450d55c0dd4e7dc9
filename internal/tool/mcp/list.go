package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
)

// Limits of a server's list. A list beyond them is an error and is not cut, because a server that offers that many tools is
// mistaken. The limits of each tool, and of all together, are in tool.Bounded.
const (
	maxTools = 1000 // more than any model can tell apart
	maxPages = 100
)

// Reasons why a server's list cannot be used, or only a part of it.
var (
	errTooMany = fmt.Errorf("more than %d tools or %d pages", maxTools, maxPages)
	errNull    = errors.New("it returned null instead of a list of tools")
	errNoList  = errors.New("its answer has no list of tools")
	errRepeats = errors.New("the pages of its list of tools repeat")
	errCursor  = errors.New("its page cursor is neither a string nor a number")
)

// list requests every page of the server's tools. If the server answers one of the later requests with an error or with a page that
// cannot be used, list returns the tools of the other pages together with an error.
func (s *session) list(ctx context.Context, server plan.Server) ([]tool.Spec, error) {
	s.asked.CompareAndSwap(nil, new(time.Now()))
	l := toolList{server: server, seen: map[string]bool{}}
	next, err := l.add(s.page(ctx, ""))
	for next != "" && err == nil {
		next, err = l.add(s.page(ctx, next))
	}
	if err != nil {
		err = fmt.Errorf("list tools of MCP server %s: %w", s.server, err)
		answered := away(err) == "" && ended(err) == nil // otherwise it may answer the next attempt
		if !answered || len(l.specs) == 0 || errors.Is(err, errTooMany) {
			return nil, err
		}
	}
	s.asked.Store(nil)
	return l.specs, err
}

// toolList is a server's list of tools, as far as it has been read.
type toolList struct {
	server plan.Server
	specs  []tool.Spec // each once
	listed int         // tools, with those that are repeated
	pages  int
	seen   map[string]bool // the cursors and the tools so far
}

// add adds a page, unless it is an error, and returns the cursor of the next one; none after the last. Each tool is added once.
func (l *toolList) add(p page, err error) (next string, _ error) {
	var tools []json.RawMessage
	switch {
	case err != nil:
		return "", err
	case string(p.Tools) == "null" && l.pages == 0: // later, it may be the empty last page
		return "", errNull
	case p.Tools == nil:
		return "", errNoList
	}
	if err := json.Unmarshal(p.Tools, &tools); err != nil {
		return "", fmt.Errorf("read its tools: %w", err)
	}
	news := 0
	for _, raw := range tools {
		spec := specOf(l.server, raw)
		if l.isNew("tool " + spec.Name + " " + spec.Definition()) {
			l.specs = append(l.specs, spec)
			news++
		}
	}
	l.pages++
	l.listed += len(tools)
	next, err = p.next()
	switch {
	case next != "" && len(tools) > 0 && news == 0:
		return "", errRepeats
	case l.listed > maxTools, next != "" && l.pages >= maxPages:
		return "", errTooMany
	case next != "" && !l.isNew("cursor "+next):
		return "", errRepeats
	}
	return next, err
}

func (l *toolList) isNew(what string) bool {
	known := l.seen[what]
	l.seen[what] = true
	return !known
}

// page is a page of a server's tools, in the server's form.
type page struct{ Tools, NextCursor json.RawMessage }

// next returns the cursor of the next page. MCP requires a text.
func (p page) next() (cursor string, err error) {
	var number json.Number
	switch {
	case p.NextCursor == nil, json.Unmarshal(p.NextCursor, &cursor) == nil:
		return cursor, nil
	case json.Unmarshal(p.NextCursor, &number) == nil:
		return number.String(), nil
	}
	return "", errCursor
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
	Annotations *struct {
		ReadOnlyHint, DestructiveHint *bool // nil if the server does not say
		IdempotentHint                bool
	}
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
	}
	reads := hints.ReadOnlyHint
	switch {
	case reads != nil && *reads && server.TrustAnnotations:
		return agent.RiskReadOnly, tool.SourceAnnotation
	case hints.DestructiveHint != nil && *hints.DestructiveHint:
		return agent.RiskDestructive, tool.SourceAnnotation
	case reads == nil:
		return agent.RiskWrite, tool.SourceDefault
	case *reads:
		return agent.RiskWrite, tool.SourceUntrusted
	}
	return agent.RiskWrite, tool.SourceAnnotation
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
