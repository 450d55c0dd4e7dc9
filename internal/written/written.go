// Package written finds thoughts and tool calls that models write into the text of a reply: thoughts between tags, and
// calls in the notation that the model was trained on. Servers without a parser for a model leave both in the text.
//
// The package is strict about calls, because a model may also write about such notations, or quote a text from an
// attacker. A call is the whole reply, or begins a line and ends the reply. It names a tool that the request offers,
// has valid JSON, and is not in a text that the model was sent. Everything else stays text.
package written

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/inquest-dev/inquest/internal/agent"
)

// Tool is a tool that a request offers.
type Tool struct {
	Name   string
	Schema json.RawMessage // JSON schema of the arguments
}

// Offer holds the parts of a request that decide how to read the reply's text.
type Offer struct {
	Tools []Tool
	// JSON means that the request asks for a JSON object. An object without a call notation is then not a call.
	JSON bool
	// Sources are the texts that the model was sent and that others may have written: results of tools, alerts. A call
	// that also occurs in one of them is a quotation and stays text.
	Sources []string
}

// Reply is the text of a reply, with the thoughts and calls found in it.
type Reply struct {
	Text, Thinking string
	Calls          []agent.ToolCall // their ids are call_0, call_1, …
	// Quoted names the tools whose calls stay text because Offer.Sources contain the same calls.
	Quoted []string
}

// Read separates thoughts and calls from a text. If there are none, the text is unchanged.
func (o Offer) Read(text string) Reply {
	out := Reply{Text: text}
	out.Text, out.Thinking = thoughts(text)
	out.Text, out.Calls, out.Quoted = o.calls(out.Text, marks)
	return out
}

// InThoughts separates the calls at the end of thoughts, where some models write them without ending their thoughts
// first. Only notations that are tokens of a model's vocabulary count, because thoughts are drafts in which models also
// try out calls that they do not make.
func (o Offer) InThoughts(thinking string) Reply {
	o.JSON = true
	before, calls, quoted := o.calls(thinking, tokenMarks)
	return Reply{Thinking: before, Calls: calls, Quoted: quoted}
}

// Same reports whether calls equal others, which the server has parsed itself.
func Same(calls, others []agent.ToolCall) bool {
	for _, c := range calls {
		found := false
		for _, other := range others {
			found = found || c.Name == other.Name && sameJSON(c.Arguments, other.Arguments)
		}
		if !found {
			return false
		}
	}
	return true
}

func sameJSON(a, b string) bool {
	var one, two bytes.Buffer
	return json.Compact(&one, []byte(a)) == nil && json.Compact(&two, []byte(b)) == nil && bytes.Equal(one.Bytes(), two.Bytes())
}

func numbered(calls []agent.ToolCall) []agent.ToolCall {
	for n := range calls {
		calls[n].ID = fmt.Sprintf("call_%d", n)
	}
	return calls
}
