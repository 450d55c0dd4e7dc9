package compress

import (
	"slices"

	"github.com/inquest-dev/inquest/internal/agent"
)

// cutsOf returns the possible ends of the older part of a conversation, in rising order. The first one keeps the last `keep`
// messages (without system messages), the others keep fewer. None separates a call from its results.
func cutsOf(msgs []agent.Message, keep int) []int {
	legal := legalCuts(msgs)
	first := len(msgs)
	for kept := 0; first > 0 && (kept < keep || !legal[first]); first-- {
		if msgs[first-1].Role != agent.System {
			kept++
		}
	}
	cuts := []int{first}
	for i := first + 1; i < len(msgs); i++ {
		if legal[i] && msgs[i].Role != agent.System {
			cuts = append(cuts, i)
		}
	}
	return cuts
}

// legalCuts reports for each index whether the conversation may be cut before it. A result belongs to the last call with its ID; a
// result without a call stays with the message before it.
func legalCuts(msgs []agent.Message) []bool {
	owner := owners(msgs)
	legal := make([]bool, len(msgs)+1)
	reach := len(msgs) // the first message that any message from here on depends on
	for i := len(msgs); i >= 0; i-- {
		if i < len(msgs) {
			reach = min(reach, owner[i])
		}
		legal[i] = reach >= i
	}
	legal[0] = true
	return legal
}

// owners returns for each message the index of the message that it depends on; its own index if there is none.
func owners(msgs []agent.Message) []int {
	out := make([]int, len(msgs))
	calls := map[string]int{}
	for i, m := range msgs {
		out[i] = i
		for _, call := range m.ToolCalls {
			calls[call.ID] = i
		}
		if m.Role != agent.ToolRole {
			continue
		}
		out[i] = i - 1
		if call, ok := calls[m.ToolCallID]; ok {
			out[i] = call
		}
	}
	return out
}

// question returns the index of the user message that the messages from cut on answer, unless it is kept itself. A reply without
// its question misleads, and providers refuse a conversation that does not begin with the user. If nothing is kept, it is the open
// question. -1 means none.
func (c *conversation) question(cut int) int {
	recent := slices.DeleteFunc(slices.Clone(c.parts[cut:]), isSystem)
	if len(recent) > 0 && isUser(recent[0]) || len(recent) == 0 && c.answered() {
		return -1
	}
	for i := cut - 1; i >= 0; i-- {
		if isUser(c.parts[i]) {
			return i
		}
	}
	return -1
}

// answered reports whether the conversation ends with a reply without calls.
func (c *conversation) answered() bool {
	for _, p := range slices.Backward(c.parts) {
		if !isSystem(p) {
			return p.Role == agent.Assistant && len(p.ToolCalls) == 0
		}
	}
	return true
}
