package live

import (
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/inquest-dev/inquest/internal/face/terminal"
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

// fitEnd is terminal.Fit for a text whose end matters most.
func fitEnd(line string, width int) string {
	if ansi.StringWidth(line) <= width {
		return line
	}
	for end := line; ; {
		_, words, ok := strings.Cut(strings.TrimLeft(end, " "), " ")
		if !ok { // a word wider than the column
			return terminal.Fit(strings.TrimLeft(end, " "), width)
		}
		if end = words; ansi.StringWidth(end) < width {
			return "…" + end
		}
	}
}

// cell fits a text into a table column.
func cell(text string, width int) string {
	return terminal.Pad(terminal.Fit(text, width), width)
}

// right is cell with the text aligned to the right, for numbers.
func right(text string, width int) string {
	text = terminal.Fit(text, width)
	return strings.Repeat(" ", max(width-ansi.StringWidth(text), 0)) + text
}
