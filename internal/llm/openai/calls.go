package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
)

// callPart is a tool call as a server sends it: whole, or a piece of it.
type callPart struct {
	Index    llm.Index           `json:"index"`
	ID       llm.Word            `json:"id"`
	Function llm.Loose[function] `json:"function"`
	attached
}

type function struct {
	Name      llm.Word  `json:"name"`
	Arguments llm.Piece `json:"arguments"`
}

// callParts is a list of calls, or a single one.
type callParts []callPart

// UnmarshalJSON never fails: what is no call has no name.
func (c *callParts) UnmarshalJSON(data []byte) error {
	var all []llm.Loose[callPart]
	if json.Unmarshal(data, &all) != nil {
		all = make([]llm.Loose[callPart], 1)
		_ = json.Unmarshal(data, &all[0])
	}
	for _, part := range all {
		*c = append(*c, part.V)
	}
	return nil
}

// calls puts tool calls together from their pieces.
type calls struct {
	offered []string // the names of the tools of the request
	all     []*call
	byIndex map[int]*call
	byID    map[string]*call
	over    bool // the arguments of a call are too long, or repeat themselves
}

// call is one of them, with what has to come back with it.
type call struct {
	id, name string
	args     llm.Arguments
	attached
}

// empty reports whether a call is one of the fragments without anything that some servers send.
func (c *call) empty() bool { return c.name == "" && c.args.Len() == 0 }

// toolCall returns the call as the rest of Inquest knows it.
func (c *call) toolCall() agent.ToolCall {
	return agent.ToolCall{ID: c.id, Name: c.name, Arguments: c.args.String()}
}

// add takes the next piece.
func (c *calls) add(part callPart) {
	id, name, piece := string(part.ID), string(part.Function.V.Name), string(part.Function.V.Arguments)
	to := c.find(part.Index, id, name, piece)
	if to != nil && to.name == name && piece != "" && to.args.String() == piece && to.args.Whole() {
		return // the whole call once more, as some gateways end a stream
	}
	if to == nil {
		to = &call{}
		c.all = append(c.all, to)
	}
	if part.Index.Known {
		if c.byIndex == nil {
			c.byIndex = map[int]*call{}
		}
		c.byIndex[part.Index.N] = to
	}
	to.attached = attached{given(part.Extra, to.Extra), given(part.Provider, to.Provider)}
	if to.id == "" && id != "" {
		to.id = id
		if c.byID == nil {
			c.byID = map[string]*call{}
		}
		c.byID[id] = to
	}
	to.name = c.joined(to, name)
	c.over = to.args.Add(piece) || c.over
}

// find returns the call that a piece continues, nil if it starts one.
//
// By the book the index says it. Ollama, and much that stands before Gemini, send
// every call with index 0: there a name with another id is another call, and without ids
// a name after arguments that are whole. (An id alone is not: vLLM has sent a new one with
// every piece.) Without an index the id tells; else a name starts a call, and all else
// continues the last.
func (c *calls) find(index llm.Index, id, name, piece string) *call {
	if len(c.all) == 0 {
		return nil
	}
	last := c.all[len(c.all)-1]
	if index.Known {
		call := c.byIndex[index.N]
		if call == nil && name == "" && id == "" { // the piece before it had no index
			return last
		}
		if call != nil && name != "" && (differ(call.id, id) || c.follows(call, id, name, piece)) {
			return nil
		}
		return call
	}
	switch known := c.byID[id]; {
	case id != "" && known != nil:
		return known
	case differ(last.id, id), name != "" && last.name != "" && !c.continues(last, name):
		return nil
	}
	return last
}

// follows reports whether a piece with a name is another call than one of the same index, where ids do
// not tell: the call before it is whole, and the piece is not that call once more.
func (c *calls) follows(before *call, id, name, piece string) bool {
	switch {
	case before.id != "" && before.id == id:
		return false
	case before.args.Whole():
		return name != before.name || piece != "" && piece != before.args.String()
	}
	return before.args.Len() == 0 && name != before.name && c.offers(before.name) && c.offers(name) && !c.offers(before.name+name)
}

// continues reports whether a name without an index or an id is more of the call before it: a piece of
// its name, or the same name again in the midst of its arguments.
func (c *calls) continues(before *call, name string) bool {
	if before.args.Len() == 0 {
		return !c.offers(before.name) && c.offers(before.name+name)
	}
	return name == before.name && !before.args.Whole()
}

// joined is a call's name with a piece of it, which may also be the whole name again.
func (c *calls) joined(to *call, name string) string {
	switch {
	case to.name == "":
		return name
	case name == "" || name == to.name || to.args.Len() > 0:
		return to.name
	case strings.HasPrefix(name, to.name) && !c.offers(to.name+name): // the name so far
		return name
	}
	return to.name + name
}

func (c *calls) offers(name string) bool { return slices.Contains(c.offered, name) }

func differ(a, b string) bool { return a != "" && b != "" && a != b }

// given is the newer of two values, unless there is none.
func given(newer, older json.RawMessage) json.RawMessage {
	if len(newer) == 0 || string(newer) == "null" {
		return older
	}
	return newer
}

// repeating reports whether the arguments of a call repeat themselves.
func (c *calls) repeating() bool {
	return slices.ContainsFunc(c.all, func(call *call) bool { return call.args.Repeating() })
}

// list returns the calls in the order in which they began.
func (c *calls) list() (out []agent.ToolCall) {
	for _, call := range c.all {
		if !call.empty() {
			out = append(out, call.toolCall())
		}
	}
	return out
}
