package tool

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/inquest-dev/inquest/internal/clip"
)

// maxPatternsShown bounds the patterns that a refusal names, in bytes.
const maxPatternsShown = 300

// allow says why a parameter's value is not one of those that are allowed; nil
// = it is one. Servers are known to ignore the case of names, so that another
// spelling has to be allowed as well.
func allow(tool string, args map[string]any, parameter string, patterns []string) *Refusal {
	shown := clip.Bytes(strings.Join(patterns, ", "), maxPatternsShown)
	if absent(args[parameter]) {
		return denied("Tool %s needs the parameter %q, which must match one of: %s", tool, parameter, shown)
	}
	for _, key := range slices.Sorted(maps.Keys(args)) {
		if strings.EqualFold(key, parameter) && !allowed(args[key], patterns) {
			return denied("Tool %s is not allowed with this value of the parameter %q, which must match one of: %s",
				tool, clip.Bytes(key, maxNameShown), shown)
		}
	}
	return nil
}

// absent reports whether a value says nothing: a server may take any of these
// for "all".
func absent(value any) bool {
	list, isList := value.([]any)
	return value == nil || isList && len(list) == 0
}

// allowed reports whether a value, or every element of a list, matches a pattern.
func allowed(value any, patterns []string) bool {
	var text string
	switch value := value.(type) {
	case string:
		text = value
	case json.Number:
		text = value.String()
	case bool:
		text = fmt.Sprint(value)
	case []any:
		return len(value) > 0 && !slices.ContainsFunc(value, func(item any) bool { return !allowed(item, patterns) })
	default:
		return false // null and objects match nothing
	}
	return slices.ContainsFunc(patterns, func(pattern string) bool { return glob(pattern, text) })
}

// glob reports whether the whole text matches a pattern, in which * is any
// text, with any characters in it, and ? is one character. It needs no more
// than the product of the lengths.
func glob(pattern, text string) bool {
	p, t := 0, 0
	star, after := -1, 0 // the last *, and where in the text we go on if it takes one more character
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, after = p, t
			p++
		case p < len(pattern) && pattern[p] == '?':
			p, t = p+1, t+width(text[t:])
		case p < len(pattern) && pattern[p] == text[t]:
			p, t = p+1, t+1
		case star >= 0:
			after += width(text[after:])
			p, t = star+1, after
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// Narrower reports whether one of some patterns matches all that another pattern does. It may miss that, where both have
// wildcards, and is never wrong in saying so.
func Narrower(pattern string, of []string) bool {
	return slices.ContainsFunc(of, func(wide string) bool {
		// As a text, a * of the pattern is one character, which a ? of the wider one would take for it.
		return glob(wide, pattern) && !(strings.Contains(pattern, "*") && strings.Contains(wide, "?"))
	})
}

func width(text string) int {
	_, size := utf8.DecodeRuneInString(text)
	return size
}
