package terminal

import (
	"strings"
	"unicode/utf8"

	"github.com/inquest-dev/inquest/internal/reveal"
)

// Clean makes text from outside (models, tools, servers) harmless to print:
// control characters, which could move the cursor, change the terminal's state
// or hide what is there, become visible signs; of those that nobody sees or that turn
// the direction of writing, the code points are shown; invalid UTF-8 becomes U+FFFD.
// Line feeds and tabs stay.
func Clean(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.Map(sign, strings.ToValidUTF8(text, string(utf8.RuneError)))
	if strings.IndexFunc(text, reveal.Hidden) < 0 {
		return text
	}
	return reveal.Unseen(text)
}

// controlPictures is where Unicode has a sign for each control character.
const controlPictures = 0x2400

func sign(r rune) rune {
	switch {
	case r == '\n' || r == '\t':
		return r
	case r < 0x20:
		return controlPictures + r
	case r == 0x7f:
		return '␡'
	}
	return r
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
