package terminal

import (
	"strings"
	"unicode/utf8"

	"github.com/inquest-dev/inquest/internal/kit/reveal"
)

// Clean makes text from models, tools and servers safe to print. Control characters, which could move the cursor, change the terminal's
// state or hide text, become visible symbols. Invisible characters and those that change the writing direction are shown as code points.
// Invalid UTF-8 becomes U+FFFD. Line feeds and tabs stay.
func Clean(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.Map(sign, strings.ToValidUTF8(text, string(utf8.RuneError)))
	if strings.IndexFunc(text, reveal.Hidden) < 0 {
		return text
	}
	return reveal.Unseen(text)
}

// controlPictures is the start of Unicode's symbols for control characters.
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

// CleanLine is Clean for text that must stay on one line.
func CleanLine(text string) string {
	return strings.Join(strings.Fields(Clean(text)), " ")
}

// stablePrefix returns the part of a growing text that Clean maps the same way whatever follows. It leaves out an incomplete character or
// line end.
func stablePrefix(text string) string {
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
