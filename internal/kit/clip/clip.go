// Package clip cuts texts to a length, never within a character.
package clip

import "unicode/utf8"

const mark = "…" // where text is missing

// Bytes returns at most the first n bytes of a text.
func Bytes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// Runes returns at most the first n characters of a text.
func Runes(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// Text is Bytes for people: a mark at the end, beyond the n bytes, shows that text is missing.
func Text(text string, n int) string { return marked(Bytes(text, n), text) }

// Line is Runes for people: a mark at the end, beyond the n characters, shows that text is missing.
func Line(text string, n int) string { return marked(Runes(text, n), text) }

// Fit is Line for a space of n characters: the mark is one of them.
func Fit(text string, n int) string {
	if len(Runes(text, n)) == len(text) {
		return text
	}
	return Runes(text, n-1) + mark
}

// Ends returns a text with at most n of its characters, from both ends. A mark between them, beyond the n characters, shows that text
// is missing.
func Ends(text string, n int) string {
	all := []rune(text)
	if len(all) <= n {
		return text
	}
	return string(all[:n/3]) + " " + mark + " " + string(all[len(all)-(n-n/3):])
}

func marked(start, text string) string {
	if len(start) < len(text) {
		start += mark
	}
	return start
}
