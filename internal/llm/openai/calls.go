package openai

import (
	sdk "github.com/sashabaranov/go-openai"

	"github.com/inquest-dev/inquest/internal/agent"
)

// calls puts tool calls together from their fragments.
type calls struct {
	all     []*agent.ToolCall
	byIndex map[int]*agent.ToolCall
}

// add takes the next fragment.
func (c *calls) add(part sdk.ToolCall) {
	call := c.find(part)
	if call == nil {
		call = &agent.ToolCall{}
		c.all = append(c.all, call)
	}
	if part.Index != nil {
		if c.byIndex == nil {
			c.byIndex = map[int]*agent.ToolCall{}
		}
		c.byIndex[*part.Index] = call
	}
	if call.ID == "" {
		call.ID = part.ID
	}
	if call.Name == "" {
		call.Name = part.Function.Name
	}
	call.Arguments += part.Function.Arguments
}

// find returns the call that a fragment continues, nil if it starts one.
//
// By the book the index says it. Ollama, and much that stands before Gemini, send
// every call with index 0: there a name with another id is another call. (An id
// alone is not: vLLM has sent a new one with every fragment.) Without an index, a
// name or another id starts a call, and all else continues the last.
func (c *calls) find(part sdk.ToolCall) *agent.ToolCall {
	if len(c.all) == 0 {
		return nil
	}
	named := part.Function.Name != ""
	if part.Index != nil {
		call := c.byIndex[*part.Index]
		if call != nil && named && differ(call.ID, part.ID) {
			return nil
		}
		return call
	}
	last := c.all[len(c.all)-1]
	if named && last.Name != "" || differ(last.ID, part.ID) {
		return nil
	}
	return last
}

func differ(a, b string) bool { return a != "" && b != "" && a != b }

// list returns the calls in the order in which they began, without the empty
// fragments that some servers send.
func (c *calls) list() []agent.ToolCall {
	var out []agent.ToolCall
	for _, call := range c.all {
		if call.Name != "" || call.Arguments != "" {
			out = append(out, *call)
		}
	}
	return out
}
