package compress

import (
	"slices"

	"github.com/inquest-dev/inquest/internal/agent"
)

// cutsOf returns where the older part of a conversation may end, in rising
// order: first where the last `keep` messages (not counting the system's) are
// kept, then where fewer are. None of them parts a call from its results.
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

// legalCuts says for each index whether the conversation may be cut before it.
// A result belongs to the last call with its id; one without a call stays with
// whatever comes before it.
func legalCuts(msgs []agent.Message) []bool {
	owner := owners(msgs)
	legal := make([]bool, len(msgs)+1)
	reach := len(msgs) // the first message that one from here on belongs to
	for i := len(msgs); i >= 0; i-- {
		if i < len(msgs) {
			reach = min(reach, owner[i])
		}
		legal[i] = reach >= i
	}
	legal[0] = true
	return legal
}

// owners returns for each message the index of the one it cannot be without; its own if none.
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

// question is the index of the user message that what is kept from cut on
// answers, if that message is not itself kept: a reply without its question
// misleads, and providers refuse a conversation that does not begin with the
// user. With nothing kept it is the question that is still open. -1 = none.
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

// answered reports whether the conversation ends with a reply that asks for nothing.
func (c *conversation) answered() bool {
	for _, p := range slices.Backward(c.parts) {
		if !isSystem(p) {
			return p.Role == agent.Assistant && len(p.ToolCalls) == 0
		}
	}
	return true
}
