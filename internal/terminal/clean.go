package terminal

import (
	"strings"
	"unicode/utf8"
)

// Clean makes text from outside (models, tools, servers) harmless to print:
// control characters, which could move the cursor, change the terminal's state
// or hide what is there, become visible signs, as do the characters that turn
// the direction of writing; invalid UTF-8 becomes U+FFFD. Line feeds and tabs stay.
func Clean(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Map(visible, strings.ToValidUTF8(text, string(utf8.RuneError)))
}

// controlPictures is where Unicode has a sign for each control character.
const controlPictures = 0x2400

func visible(r rune) rune {
	switch {
	case r == '\n' || r == '\t':
		return r
	case r < 0x20:
		return controlPictures + r
	case r == 0x7f:
		return '␡'
	case r >= 0x80 && r < 0xa0, turns(r), r == 0x2028, r == 0x2029:
		return utf8.RuneError
	}
	return r
}

// turns reports whether a character changes the direction of the text after it.
func turns(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0x061c
}

// CleanLine is Clean for what has to stay on one line.
func CleanLine(text string) string {
	return strings.Join(strings.Fields(Clean(text)), " ")
}

// settled is the part of a growing text that Clean maps the same way whatever
// comes after it: without the first half of a character or of a line's end.
func settled(text string) string {
	text = strings.TrimSuffix(text, "\r")
	for i := len(text) - 1; i >= 0 && i > len(text)-utf8.UTFMax; i-- {
		if utf8.RuneStart(text[i]) {
			if !utf8.FullRuneInString(text[i:]) {
				return text[:i]
			}
			break
		}
	}
	return text
}
