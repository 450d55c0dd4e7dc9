// Package braces is the small template language of configurations and prompts.
package braces

import (
	"errors"
	"regexp"
	"strings"
)

// ErrSyntax means that the text in double braces is not an Action. Callers that show it add the allowed forms.
var ErrSyntax = errors.New("this is not allowed in double braces")

// Action matches everything that is allowed in double braces: {{.NAME}}, {{.NAME.KEY}} or {{"text"}}.
var Action = regexp.MustCompile(`\{\{\s*(?:\.([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_-]+)?)|"([^"\\]*)")\s*\}\}`)

// Expand replaces {{.NAME}} with the unmodified result of value; whole is the {{.NAME}} itself. It stops at the first error of value.
func Expand(text string, value func(name, whole string) (string, error)) (string, error) {
	var out strings.Builder
	rest := 0
	for _, m := range Action.FindAllStringSubmatchIndex(text, -1) {
		if strings.Contains(text[rest:m[0]], "{{") {
			return "", ErrSyntax
		}
		out.WriteString(text[rest:m[0]])
		rest = m[1]
		if m[2] < 0 {
			out.WriteString(text[m[4]:m[5]])
			continue
		}
		filled, err := value(text[m[2]:m[3]], text[m[0]:m[1]])
		if err != nil {
			return "", err
		}
		out.WriteString(filled)
	}
	if strings.Contains(text[rest:], "{{") {
		return "", ErrSyntax
	}
	return out.String() + text[rest:], nil
}
