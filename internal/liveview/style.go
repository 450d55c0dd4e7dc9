package liveview

import (
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

var (
	plain  = lipgloss.NewStyle()
	bold   = lipgloss.NewStyle().Bold(true)
	faint  = lipgloss.NewStyle().Faint(true)
	red    = lipgloss.NewStyle().Foreground(lipgloss.Red)
	green  = lipgloss.NewStyle().Foreground(lipgloss.Green)
	yellow = lipgloss.NewStyle().Foreground(lipgloss.Yellow)
	cyan   = lipgloss.NewStyle().Foreground(lipgloss.Cyan)
	alert  = lipgloss.NewStyle().Foreground(lipgloss.Yellow).Bold(true)
	chosen = lipgloss.NewStyle().Bold(true)
)

const longWord = 40 // columns

// fit is a line in a place of so many columns: whole words of it, and a mark where some are
// missing. What is no word, such as JSON without blanks, is cut.
func fit(line string, width int) string {
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

// fitEnd is fit for a text whose end is what matters.
func fitEnd(line string, width int) string {
	if ansi.StringWidth(line) <= width {
		return line
	}
	for end := line; ; {
		_, words, ok := strings.Cut(strings.TrimLeft(end, " "), " ")
		if !ok { // a word that is wider than the place
			return fit(strings.TrimLeft(end, " "), width)
		}
		if end = words; ansi.StringWidth(end) < width {
			return "…" + end
		}
	}
}

// cell is a text in a column of a table.
func cell(text string, width int) string {
	text = fit(text, width)
	return text + strings.Repeat(" ", max(width-ansi.StringWidth(text), 0))
}

// right is cell for numbers.
func right(text string, width int) string {
	text = fit(text, width)
	return strings.Repeat(" ", max(width-ansi.StringWidth(text), 0)) + text
}
