package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/internal/tool"
)

// asker is a call during which its server may ask people questions.
type asker struct {
	tool.Call
	ctx *tool.Pausable // the call's timeout
}

// mark adds the key of its call to a question that a server asks in the answer to the call. Any other message is
// returned unchanged.
func (r *receipt) mark(message []byte) []byte {
	const method = "elicitation/create"
	if r.asker.Key == "" || !bytes.Contains(message, []byte(`"method"`)) { // results, which may be large, have none
		return message
	}
	var question struct {
		JSONRPC json.RawMessage            `json:"jsonrpc"`
		ID      json.RawMessage            `json:"id"`
		Method  string                     `json:"method"`
		Params  map[string]json.RawMessage `json:"params"`
	}
	if json.Unmarshal(message, &question) != nil || question.Method != method || question.ID == nil || question.Params == nil {
		return message
	}
	question.Params["_meta"], _ = encode(mcp.Meta{metaKey: r.asker.Key}) // a text can be encoded
	marked, err := encode(question)
	if err != nil {
		return message
	}
	return marked
}

// elicit handles a server's question to people. Except in the answer to a call, the protocol does not say which call a
// question belongs to, so such a question is declined if calls of several executions are in progress in the session. A
// question by URL is declined too, because it would send people's data to an unknown page.
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
	key, _ := req.Params.Meta[metaKey].(string)
	calls := s.pulse.askers(key)
	if len(calls) == 0 {
		p.opts.Logger.Warn("declined a question from an MCP server: its call is unknown, or no person can be asked", "server", s.server)
		return declined, nil
	}
	schema, err := json.Marshal(req.Params.RequestedSchema)
	if err != nil {
		return declined, nil
	}
	content, accepted := ask(calls, tool.Question{
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
	// any order: one session has the client
	for s := range p.alive {
		if closed(s.ready) && s.client == client {
			return s
		}
	}
	return nil
}

// askers returns the calls that a question may belong to, oldest first: the call with that key, or all calls if the key is
// empty. It returns none if people cannot be asked for one of them, or if they belong to several executions.
func (p *pulse) askers(key string) (calls []asker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.calls {
		if key == "" || c.asker.Key == key {
			calls = append(calls, c.asker)
		}
	}
	if slices.ContainsFunc(calls, func(a asker) bool { return a.Ask == nil || a.Session != calls[0].Session }) {
		return nil
	}
	return calls
}

// ask asks people on behalf of the oldest of the calls that may have asked. Meanwhile the timeouts of all of them are
// paused. The question is withdrawn when all of them have ended.
func ask(calls []asker, q tool.Question) (content json.RawMessage, accepted bool) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(calls[0].ctx))
	defer cancel()
	var left atomic.Int64
	left.Store(int64(len(calls)))
	for _, call := range calls {
		defer call.ctx.Pause()()
		defer context.AfterFunc(call.ctx, func() {
			if left.Add(-1) == 0 {
				cancel()
			}
		})()
	}
	return calls[0].Ask(ctx, q)
}
