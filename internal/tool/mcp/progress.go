package mcp

import (
	"context"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/internal/tool"
)

// listen passes on the progress of a call until it has ended, because some servers send more after the result.
func (p *Pool) listen(call tool.Call) (stop func()) {
	if call.Progress == nil {
		return func() {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.progress[call.Key] = call.Progress
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.progress, call.Key)
	}
}

// onProgress receives the progress of all sessions.
func (p *Pool) onProgress(_ context.Context, said *mcp.ProgressNotificationClientRequest) {
	key, _ := said.Params.ProgressToken.(string)
	p.mu.Lock()
	notify := p.progress[key]
	p.mu.Unlock()
	if notify != nil {
		notify(progressText(said.Params))
	}
}

// progressText formats progress: "3 of 10: reading".
func progressText(p *mcp.ProgressNotificationParams) string {
	number := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
	text := number(p.Progress)
	if p.Total > 0 {
		text += " of " + number(p.Total)
	}
	if p.Message != "" {
		text += ": " + p.Message
	}
	return tool.ValidText(text)
}
