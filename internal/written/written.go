// Package written reads what models write into the text of a reply although it is not text: thoughts
// between tags, and tool calls in the notation that the model was trained on. Servers without a parser
// for a model leave both in the text.
//
// It is strict about calls, because a model may also write about such notations, or quote a text that an attacker has
// written. A call is the whole reply, or begins a line and ends the reply. It names a tool that the request offers, has
// valid JSON, and does not stand in a text that the model was sent. Whatever fails this stays text.
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

// Offer is what a request says about the text of its reply.
type Offer struct {
	Tools []Tool
	// JSON: the request asks for a JSON object, so that one without a notation around it is no call.
	JSON bool
	// Sources are the texts that the model was sent and that other people may have written: results of tools, alerts.
	// A call that stands in one of them is a quotation, and stays text.
	Sources []string
}

// Reply is the text of a reply, and what was written into it.
type Reply struct {
	Text, Thinking string
	Calls          []agent.ToolCall // their ids are call_0, call_1, …
	// Quoted are the names of tools whose calls stay text because Offer.Sources have the same calls.
	Quoted []string
}

// Read takes thoughts and calls out of a text. If nothing is found, the text stays as it is.
func (o Offer) Read(text string) Reply {
	out := Reply{Text: text}
	out.Text, out.Thinking = thoughts(text)
	out.Text, out.Calls, out.Quoted = o.calls(out.Text, marks)
	return out
}

// InThoughts takes the calls out of the end of thoughts, where some models write them if they do not end
// their thoughts first. Only the notations count that are tokens of a model's vocabulary: thoughts are drafts, in which
// models also try out what they do not do.
func (o Offer) InThoughts(thinking string) Reply {
	o.JSON = true
	before, calls, quoted := o.calls(thinking, tokenMarks)
	return Reply{Thinking: before, Calls: calls, Quoted: quoted}
}

// Same reports whether calls say the same as others, which the server has read itself.
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
