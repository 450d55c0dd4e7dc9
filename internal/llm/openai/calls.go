package openai

import (
	"encoding/json"

	sdk "github.com/sashabaranov/go-openai"

	"github.com/inquest-dev/inquest/internal/agent"
)

// calls puts tool calls together from their fragments.
type calls struct {
	all     []*call
	byIndex map[int]*call
}

// call is one of them, with what has to come back with it.
type call struct {
	agent.ToolCall
	attached
}

// empty reports whether a call is one of the fragments without anything that some servers send.
func (c *call) empty() bool { return c.Name == "" && c.Arguments == "" }

// add takes the next fragment.
func (c *calls) add(part chatCall) {
	to := c.find(part.ToolCall)
	if to == nil {
		to = &call{}
		c.all = append(c.all, to)
	}
	if part.Index != nil {
		if c.byIndex == nil {
			c.byIndex = map[int]*call{}
		}
		c.byIndex[*part.Index] = to
	}
	to.attached = attached{given(part.Extra, to.Extra), given(part.Provider, to.Provider)}
	if to.ID == "" {
		to.ID = part.ID
	}
	if to.Name == "" {
		to.Name = part.Function.Name
	}
	to.Arguments += part.Function.Arguments
}

// find returns the call that a fragment continues, nil if it starts one.
//
// By the book the index says it. Ollama, and much that stands before Gemini, send
// every call with index 0: there a name with another id is another call. (An id
// alone is not: vLLM has sent a new one with every fragment.) Without an index, a
// name or another id starts a call, and all else continues the last.
func (c *calls) find(part sdk.ToolCall) *call {
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

// given is the newer of two values, unless there is none.
func given(newer, older json.RawMessage) json.RawMessage {
	if len(newer) == 0 || string(newer) == "null" {
		return older
	}
	return newer
}

// list returns the calls in the order in which they began.
func (c *calls) list() (out []agent.ToolCall) {
	for _, call := range c.all {
		if !call.empty() {
			out = append(out, call.ToolCall)
		}
	}
	return out
}
