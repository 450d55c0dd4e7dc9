package mcp

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/internal/tool"
)

// asker is a call whose server may ask people questions during the call.
type asker struct {
	session string // identifies the execution
	ask     func(tool.Question) (content json.RawMessage, accepted bool)
}

// asking returns the asker of a call. The call's timeout is paused while people are asked.
func asking(ctx *tool.Pausable, call tool.Call) asker {
	if call.Ask == nil {
		return asker{session: call.Session}
	}
	return asker{call.Session, func(q tool.Question) (json.RawMessage, bool) {
		defer ctx.Pause()()
		return call.Ask(ctx, q)
	}}
}

// elicit handles a server's question to people. The protocol does not say which call a question belongs to, so a
// question is declined if calls of several executions are in progress in the session. A question by URL is declined
// too, because it would send people's data to an unknown page.
func (p *Pool) elicit(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	declined := &mcp.ElicitResult{Action: "decline"}
	s := p.sessionOf(req.Session)
	if s == nil {
		return declined, nil
	}
	if req.Params.Mode == "url" || req.Params.URL != "" {
		p.opts.Logger.Warn("declined a question from an MCP server: it refers to a web page", "server", s.server)
		return declined, nil
	}
	by, ok := s.pulse.asker()
	if !ok {
		p.opts.Logger.Warn("declined a question from an MCP server: its call is unknown, or no person can be asked", "server", s.server)
		return declined, nil
	}
	schema, err := json.Marshal(req.Params.RequestedSchema)
	if err != nil {
		return declined, nil
	}
	content, accepted := by.ask(tool.Question{
		Server: s.server, Message: tool.ValidText(s.secrets.redact(req.Params.Message)), Schema: schema,
	})
	if !accepted {
		return declined, nil
	}
	result := &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}
	if err := json.Unmarshal(content, &result.Content); err != nil {
		return declined, nil
	}
	return result, nil
}

// sessionOf returns the session of an SDK client session.
func (p *Pool) sessionOf(client *mcp.ClientSession) *session {
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := range p.alive {
		if closed(s.ready) && s.client == client {
			return s
		}
	}
	return nil
}

// asker returns the call that a question of the server belongs to.
func (p *pulse) asker() (by asker, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for r := range p.calls {
		if by.ask != nil && by.session != r.asker.session {
			return asker{}, false
		}
		if r.asker.ask == nil {
			return asker{}, false
		}
		by = r.asker
	}
	return by, by.ask != nil
}
