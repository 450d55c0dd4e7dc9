package prompt

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// variables are what a custom prompt may have in it.
func variables(d Data) map[string]string {
	return map[string]string{"Agent": line(d.Agent), "Chain": line(d.Chain), "Stage": line(d.Stage), "AlertType": line(d.AlertType)}
}

// action is {{.Name}} or {{"text"}}: all that a custom prompt may have in double braces.
var action = regexp.MustCompile(`\{\{\s*(?:\.([A-Za-z_][A-Za-z0-9_]*)|"([^"\\]*)")\s*\}\}`)

// Check says what is wrong with a custom prompt; nil = nothing is.
func Check(text string) error {
	_, err := fill(text, Data{})
	return err
}

// fill puts the variables into a custom prompt.
func fill(text string, d Data) (string, error) {
	if strings.TrimSpace(text) == "" {
		return "", errors.New("a prompt must not be empty")
	}
	known := variables(d)
	var out strings.Builder
	rest := 0
	for _, m := range action.FindAllStringSubmatchIndex(text, -1) {
		if strings.Contains(text[rest:m[0]], "{{") {
			break // which is found below
		}
		out.WriteString(text[rest:m[0]])
		rest = m[1]
		if m[2] < 0 {
			out.WriteString(text[m[4]:m[5]])
			continue
		}
		value, ok := known[text[m[2]:m[3]]]
		if !ok {
			return "", fmt.Errorf("a prompt has no variable %s; there are: %s", text[m[2]:m[3]], strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
		out.WriteString(value)
	}
	if strings.Contains(text[rest:], "{{") {
		return "", errors.New(`only {{.Name}} may stand in double braces; for the braces themselves write {{"{{"}}`)
	}
	return out.String() + text[rest:], nil
}
