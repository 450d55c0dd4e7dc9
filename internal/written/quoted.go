package written

import (
	"html"
	"strconv"
	"strings"
	"unicode"
)

// quoted reports whether any step of a reply, a call with its marks, is also in a text that the model was sent. The
// model may then merely quote it, and the quoted text can be an attacker's.
func (o Offer) quoted(steps []string, marked bool) bool {
	keep := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '{' || r == '}' }
	if !marked { // without marks, only the punctuation makes it a call
		keep = func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) }
	}
	folded := make([]string, len(steps))
	for n, step := range steps {
		folded[n] = fold(step, keep)
	}
	for _, source := range o.Sources {
		source = fold(source, keep)
		for _, step := range folded {
			if step != "" && strings.Contains(source, step) {
				return true
			}
		}
	}
	return false
}

// fold undoes the escapes of HTML and JSON, and drops letter case and every character that keep rejects, so that a
// quotation is found regardless of indentation, escaping and decoration.
func fold(text string, keep func(rune) bool) string {
	text = html.UnescapeString(text)
	var out strings.Builder
	out.Grow(len(text))
	add := func(r rune) {
		if r = unicode.ToLower(r); keep(r) {
			out.WriteRune(r)
		}
	}
	for len(text) > 0 {
		before, after, escaped := strings.Cut(text, `\`)
		for _, r := range before {
			add(r)
		}
		if !escaped {
			break
		}
		text = strings.TrimLeft(after, `\`) // an escape of an escape
		switch {
		case text == "":
		case strings.IndexByte("nrtbf", text[0]) >= 0:
			text = text[1:]
		case text[0] == 'u' && len(text) >= 5:
			if code, err := strconv.ParseUint(text[1:5], 16, 16); err == nil {
				add(rune(code))
				text = text[5:]
			}
		}
	}
	return out.String()
}
