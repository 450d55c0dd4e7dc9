package prompt

import "strings"

// Action is the name of the template for agents that make changes.
const Action = "action"

// ActionsExecuted removes the last line of an action agent's reply, which says whether anything was changed (spec:
// pipeline, "Around the result"). said is nil if there is no such line. A reply that consists only of that line is left
// unchanged.
func ActionsExecuted(text string) (rest string, said *bool) {
	rest, last := "", strings.TrimSpace(text)
	if i := strings.LastIndexByte(last, '\n'); i >= 0 {
		rest, last = strings.TrimSpace(last[:i]), last[i+1:]
	}
	switch strings.ToUpper(strings.Trim(last, " \t\r*_`.")) {
	case "YES":
		said = new(true)
	case "NO":
		said = new(false)
	default:
		return text, nil
	}
	if rest == "" {
		rest = text
	}
	return rest, said
}
