// Package braces is the little template language of configurations and prompts.
package braces

import (
	"errors"
	"regexp"
	"strings"
)

// ErrSyntax: what stands in double braces is no Action. Who shows it says what may.
var ErrSyntax = errors.New("this may not stand in double braces")

// Action is {{.NAME}}, {{.NAME.KEY}} or {{"text"}}: all that may stand in double braces.
var Action = regexp.MustCompile(`\{\{\s*(?:\.([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_-]+)?)|"([^"\\]*)")\s*\}\}`)

// Expand puts what value returns in the place of {{.NAME}}, as it is; whole is the
// {{.NAME}} itself. Its first error ends it.
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
