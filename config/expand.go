package config

import (
	"errors"
	"regexp"
	"strings"
)

// sessionID is known only when a tool is called, so its template is left.
const sessionID = "SESSION_ID"

// action is {{.NAME}} or {{"text"}}: all that a template may hold.
var action = regexp.MustCompile(`\{\{\s*(?:\.([A-Za-z_][A-Za-z0-9_]*)|"([^"\\]*)")\s*\}\}`)

var errTemplate = errors.New(`not a template: only {{.NAME}} may stand in double braces; for the braces themselves write {{"{{"}}`)

// expand puts variables in the place of {{.NAME}}, and names those that are
// not set. Their values are taken as they are.
func expand(text string, env Env) (expanded string, missing []string, err error) {
	if !strings.Contains(text, "{{") {
		return text, nil, nil
	}
	var out strings.Builder
	rest := 0
	for _, m := range action.FindAllStringSubmatchIndex(text, -1) {
		out.WriteString(text[rest:m[0]])
		if strings.Contains(text[rest:m[0]], "{{") {
			return "", nil, errTemplate
		}
		rest = m[1]
		if m[2] < 0 {
			out.WriteString(text[m[4]:m[5]])
			continue
		}
		name := text[m[2]:m[3]]
		value, ok := env(name)
		switch {
		case name == sessionID:
			value = text[m[0]:m[1]]
		case !ok:
			missing = append(missing, name)
		}
		out.WriteString(value)
	}
	if strings.Contains(text[rest:], "{{") {
		return "", nil, errTemplate
	}
	out.WriteString(text[rest:])
	return out.String(), missing, nil
}
