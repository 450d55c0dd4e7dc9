package base

import (
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/kit/clip"
)

// YesNo is how tables show booleans.
var YesNo = map[bool]string{true: "yes", false: "no"}

// maxShown is the longest text in a table, in characters.
const maxShown = 60

// Shorten shortens a text to fit into a table.
func Shorten(text string) string {
	return clip.Fit(terminal.CleanLine(text), maxShown)
}

// Dash returns a text, or - for an empty one.
func Dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// First returns the ID argument of a command. An empty string means that there is none.
func First(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// Texts converts words to strings.
func Texts[S ~string](words []S) (out []string) {
	for _, word := range words {
		out = append(out, string(word))
	}
	return out
}

// DateTime is a time format with the zone.
const DateTime = time.DateTime + " MST"

// Pairs parses KEY=VALUE.
func Pairs(flag string, given []string) (map[string]string, error) {
	out := map[string]string{}
	for _, one := range given {
		key, value, ok := strings.Cut(one, "=")
		if !ok || key == "" {
			return nil, Usagef("%s %q: expected KEY=VALUE", flag, one)
		}
		if _, twice := out[key]; twice {
			return nil, Usagef("%s: %q is given twice", flag, key)
		}
		out[key] = value
	}
	return out, nil
}

// Present removes empty and repeated words.
func Present(words []string) []string {
	var out []string
	for _, word := range words {
		if word != "" && (len(out) == 0 || out[len(out)-1] != word) {
			out = append(out, word)
		}
	}
	return out
}
