package outgoing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
)

// Seen is the reply that separates results from a user's message, for servers that require one.
const Seen = "I have read the results."

// Placeholders for servers that require text if there is none.
const (
	goOn       = "Go on."
	noResult   = "The result is not known."
	emptyValue = "(no output)"
)

// messages returns a conversation in an order that servers accept: one system message at the beginning, then a user
// message. Every call is followed by its result, nothing is empty, and the last message is from a user or a tool.
func messages(in []agent.Message, alternate bool) []agent.Message {
	t := conversation{alternate: alternate, results: map[string][]int{}, used: map[int]bool{}, ids: map[string]bool{}}
	var system []string
	for n, m := range in {
		switch m.Role {
		case agent.System:
			if !blank(m.Content) {
				system = append(system, m.Content)
			}
		case agent.ToolRole:
			t.results[m.ToolCallID] = append(t.results[m.ToolCallID], n)
		}
	}
	if len(system) > 0 {
		t.out = append(t.out, agent.Message{Role: agent.System, Content: strings.Join(system, "\n\n")})
	}
	for n, m := range in {
		switch m.Role {
		case agent.User:
			t.say(m)
		case agent.Assistant:
			t.reply(in, n)
		case agent.ToolRole:
			if !t.used[n] { // its call is missing
				t.say(agent.Message{Role: agent.User, Content: m.Content})
			}
		}
	}
	if last := t.last(); last != agent.User && last != agent.ToolRole {
		t.say(agent.Message{Role: agent.User, Content: goOn})
	}
	return t.out
}

// conversation is a conversation while it is put in order.
type conversation struct {
	alternate bool
	out       []agent.Message
	results   map[string][]int // positions of results, by the id of their call
	used      map[int]bool     // results that have been placed after their calls
	ids       map[string]bool  // of calls, as they are sent
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

// last returns the role of the last message.
func (t *conversation) last() agent.Role {
	if len(t.out) == 0 {
		return ""
	}
	return t.out[len(t.out)-1].Role
}

// say adds a message of a user or a model, unless it is empty.
func (t *conversation) say(m agent.Message) {
	if blank(m.Content) && len(m.ToolCalls) == 0 {
		return
	}
	last := t.last()
	switch {
	case m.Role == agent.Assistant && (last == "" || last == agent.System):
		t.say(agent.Message{Role: agent.User, Content: goOn})
	case t.alternate && m.Role == agent.User && last == agent.ToolRole:
		t.out = append(t.out, agent.Message{Role: agent.Assistant, Content: Seen})
	case t.alternate && m.Role == last:
		before := &t.out[len(t.out)-1]
		m.Content = strings.TrimSpace(before.Content + "\n\n" + m.Content)
		t.out = t.out[:len(t.out)-1]
	}
	t.out = append(t.out, m)
}

// reply adds a reply, followed by the results of its calls.
func (t *conversation) reply(in []agent.Message, at int) {
	m := in[at]
	m.ToolCalls = slices.Clone(m.ToolCalls)
	if blank(m.Content) {
		m.Content = ""
	}
	var results []agent.Message
	for n := range m.ToolCalls {
		call := &m.ToolCalls[n]
		result := agent.Message{Role: agent.ToolRole, Content: noResult}
		for _, position := range t.results[call.ID] {
			if position > at && !t.used[position] {
				t.used[position], result = true, in[position]
				break
			}
		}
		if blank(result.Content) {
			result.Content = emptyValue
		}
		call.ID, call.Name, call.Arguments = t.id(call.ID), Name(call.Name), Arguments(call.Arguments)
		result.ToolCallID = call.ID
		results = append(results, result)
	}
	t.say(m)
	t.out = append(t.out, results...)
}

// id returns an id for a call that no other call of the request has.
func (t *conversation) id(id string) string {
	out := callID(id)
	for n := 1; t.ids[out]; n++ {
		out = callID(fmt.Sprint(id, "/", n))
	}
	t.ids[out] = true
	return out
}
