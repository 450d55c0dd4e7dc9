package tool

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/inquest-dev/inquest/internal/kit/clip"
)

// maxPatternsShown limits the patterns that a refusal names, in bytes.
const maxPatternsShown = 300

// allow returns a refusal if a parameter's value is not allowed, or nil. Some servers ignore the case of names, so
// every spelling of a parameter is checked.
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

// absent reports whether a value is empty, which a server may interpret as "all".
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
	return slices.ContainsFunc(patterns, func(pattern string) bool { return Glob(pattern, text) })
}

// Glob reports whether the whole text matches a pattern, in which * matches any text with any characters, and ? matches
// one character. It takes time in proportion to the product of the lengths.
func Glob(pattern, text string) bool {
	p, t := 0, 0
	star, after := -1, 0 // the last *, and where the text continues if it matches one more character
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

// Narrower reports whether one of the patterns of matches everything that pattern matches. If both have wildcards it
// may wrongly return false, but never wrongly true.
func Narrower(pattern string, of []string) bool {
	return slices.ContainsFunc(of, func(wide string) bool {
		// As text, a * in the pattern is one character, which a ? in the wider pattern would match.
		return Glob(wide, pattern) && !(strings.Contains(pattern, "*") && strings.Contains(wide, "?"))
	})
}

func width(text string) int {
	_, size := utf8.DecodeRuneInString(text)
	return size
}
