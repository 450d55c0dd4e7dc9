package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
)

// callPart is a tool call as a server sends it: complete, or a piece of it.
type callPart struct {
	Index    llm.Index           `json:"index"`
	ID       llm.Word            `json:"id"`
	Function llm.Loose[function] `json:"function"`
	Custom   llm.Loose[function] `json:"custom"`
	attached
	function // of gateways that omit the object "function"
}

type function struct {
	Name       llm.Word  `json:"name"`
	Arguments  llm.Piece `json:"arguments"`
	Parameters llm.Piece `json:"parameters"` // the same, from gateways
	Input      llm.Piece `json:"input"`      // the same, from custom tools
}

// called returns the name and the arguments of a call from whichever fields have them.
func (p callPart) called() (name, args string) {
	for _, f := range []function{p.Function.V, p.Custom.V, p.function} {
		name = cmp.Or(name, string(f.Name))
		args = cmp.Or(args, string(f.Arguments), string(f.Parameters), string(f.Input))
	}
	return name, args
}

// callParts is a list of calls, or a single one.
type callParts []callPart

// UnmarshalJSON never fails: anything but a call gets no name.
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

// calls assembles tool calls from their pieces.
type calls struct {
	offered []string // the names of the tools of the request
	all     []*call
	byIndex map[int]*call
	byID    map[string]*call
	over    bool // the arguments of a call are too long or repeat themselves
}

// call is one call, with the data that must be returned with it.
type call struct {
	id, name string
	args     llm.Arguments
	shape    shape // of the arguments
	// repeated means that it began with only the name of the previous call, which some servers repeat at the end.
	repeated bool
	attached
}

// empty reports whether a call is one of the empty fragments that some servers send.
func (c *call) empty() bool { return (c.name == "" || c.repeated) && c.args.Len() == 0 }

// toolCall returns the call in Inquest's form.
func (c *call) toolCall() agent.ToolCall {
	return agent.ToolCall{ID: c.id, Name: c.name, Arguments: c.args.String()}
}

// add processes the next piece.
func (c *calls) add(part callPart) {
	id := string(part.ID)
	name, piece := part.called()
	to := c.find(part.Index, id, name, piece)
	if to != nil && to.name == name && piece != "" && to.args.String() == piece && to.args.Whole() {
		return // some gateways repeat the whole call at the end of a stream
	}
	if to == nil {
		n := len(c.all)
		to = &call{repeated: n > 0 && id == "" && piece == "" && name != "" && c.all[n-1].name == name}
		c.all = append(c.all, to)
	}
	if strings.HasPrefix(piece, "{") && to.shape.whole() && to.args.String() == "{}" { // a placeholder, followed by the arguments
		to.args, to.shape = llm.Arguments{}, shape{}
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
	to.shape.add(piece)
	c.over = to.args.Add(piece) || c.over
}

// find returns the call that a piece continues, or nil if it starts one.
//
// According to the specification the index decides. Ollama, and many gateways to Gemini, send every call with index 0.
// There, a name with another id starts another call, and so does, without ids, a name after complete arguments.
// (Another id alone does not: vLLM has sent a new one with every piece.) Without an index the id decides. Otherwise a
// name starts a call, and anything else continues the last one.
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
		if call == nil || name == "" || call.goesOn(name, piece) {
			return call
		}
		if differ(call.id, id) || c.follows(call, id, name, piece) {
			return nil
		}
		return call
	}
	switch known := c.byID[id]; {
	case id != "" && known != nil:
		return known
	case name == "" && !last.shape.whole(), last.goesOn(name, piece):
		return last
	case differ(last.id, id), name != "" && last.name != "" && !c.continues(last, name):
		return nil
	}
	return last
}

// follows reports whether a piece with a name starts another call with the same index, if ids do not decide: the
// previous call is complete, and the piece is not a repetition of it.
func (c *calls) follows(before *call, id, name, piece string) bool {
	switch {
	case before.id != "" && before.id == id:
		return false
	case before.shape.whole():
		placeholder := before.args.String() == "{}" && strings.HasPrefix(piece, "{") && !json.Valid([]byte(piece))
		return name != before.name || piece != before.args.String() && !placeholder
	}
	return before.args.Len() == 0 && name != before.name && c.offers(before.name) && c.offers(name) && !c.offers(before.name+name)
}

// continues reports whether a name without an index or an id belongs to the previous call: a piece of its name, or the
// same name again in the middle of its arguments.
func (c *calls) continues(before *call, name string) bool {
	if before.args.Len() == 0 {
		return !c.offers(before.name) && c.offers(before.name+name)
	}
	return name == before.name && !before.shape.whole()
}

// goesOn reports whether a piece with a call's name continues the call's arguments, whatever its id: no other call can
// begin like this.
func (c *call) goesOn(name, piece string) bool {
	return name == c.name && piece != "" && c.args.Len() > 0 && !c.shape.whole() && !strings.HasPrefix(piece, "{")
}

// known reports whether a complete call has been read before. If only a part of it was read, the complete call replaces
// it.
func (c *calls) known(part callPart) bool {
	name, args := part.called()
	for _, call := range c.all {
		switch sameID := part.ID != "" && call.id == string(part.ID); {
		case !sameID && (differ(call.id, string(part.ID)) || call.name != name || !sameJSON(call.args.String(), args)):
		case sameID && !call.shape.whole() && args != "":
			call.args, call.shape = llm.Arguments{}, shape{}
			call.shape.add(args)
			c.over = call.args.Add(args) || c.over
			return true
		default:
			return true
		}
	}
	return false
}

func sameJSON(a, b string) bool {
	var one, two bytes.Buffer
	return a == b || json.Compact(&one, []byte(a)) == nil && json.Compact(&two, []byte(b)) == nil && bytes.Equal(one.Bytes(), two.Bytes())
}

// joined returns a call's name with a piece added. The piece may also be the whole name again.
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

// given returns the newer of two values if it is present.
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
