package terminal

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

const longWord = 40 // columns

// Fit is a line in a place of so many columns: whole words of it, and a mark where some are
// missing. A word that is wider than longWord, such as JSON without blanks, is cut.
func Fit(line string, width int) string {
	if ansi.StringWidth(line) <= width {
		return line
	}
	if width < 1 {
		return ""
	}
	start := ansi.Truncate(line, width-1, "")
	if space := strings.LastIndexByte(start, ' '); space > 0 && !strings.HasPrefix(line[len(start):], " ") {
		if word, _, _ := strings.Cut(line[space+1:], " "); ansi.StringWidth(word) <= longWord {
			start = start[:space]
		}
	}
	return strings.TrimRight(start, " ") + "…"
}

// Pad fills a text up to so many columns with blanks behind it.
func Pad(text string, width int) string {
	return text + strings.Repeat(" ", max(width-ansi.StringWidth(text), 0))
}
