package prompt

import "strings"

// Action is the name of the template of agents that change what they are told to.
const Action = "action"

// ActionsExecuted takes the line off an action agent's last words that says
// whether anything was changed (spec: pipeline, "Around the result"); nil = there
// is none. A reply that is that line alone stays as it is.
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
