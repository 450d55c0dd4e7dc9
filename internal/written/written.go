// Package written reads what models write into the text of a reply although it is not text: thoughts
// between tags, and tool calls in the notation that the model was trained on. Servers without a parser
// for a model leave both in the text.
//
// It is strict about calls, because a model may also write about such notations: a call is the whole
// reply, or ends it, names a tool that the request offers, and has valid JSON. Whatever fails this
// stays text.
package written

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

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
}

// Reply is the text of a reply, and what was written into it.
type Reply struct {
	Text, Thinking string
	Calls          []agent.ToolCall // their ids are call_0, call_1, …
}

// Read takes thoughts and calls out of a text. If nothing is found, the text stays as it is.
func (o Offer) Read(text string) Reply {
	out := Reply{Text: text}
	out.Text, out.Thinking = thoughts(text)
	if before, calls := o.calls(out.Text); len(calls) > 0 {
		out.Text, out.Calls = before, numbered(calls)
	}
	return out
}

// InThoughts returns the calls at the end of thoughts, where some models write them if they do not end
// their thoughts first. A call without a notation around it is only a thought.
func (o Offer) InThoughts(thinking string) (before string, calls []agent.ToolCall) {
	o.JSON = true
	before, calls = o.calls(thinking)
	if len(calls) == 0 {
		return thinking, nil
	}
	return before, numbered(calls)
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

// inCode reports whether a place of a text is within a fenced block or between backticks.
func inCode(text string, at int) bool {
	before := text[:at]
	line := before[strings.LastIndexByte(before, '\n')+1:]
	if strings.Count(line, "`")%2 == 1 {
		return true
	}
	fenced := false
	for l := range strings.Lines(before) {
		if strings.HasPrefix(strings.TrimLeft(l, " "), "```") {
			fenced = !fenced
		}
	}
	return fenced
}
