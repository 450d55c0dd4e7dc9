package terminal

import (
	"regexp"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

const longWord = 40 // columns

// Fit shortens a line to a number of columns. It keeps whole words and marks the omission. A word wider than longWord, such as JSON
// without spaces, is cut.
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

// quoted matches a command within a text, alone a line with only a command.
var (
	quoted = regexp.MustCompile("`[^`]*`")
	alone  = regexp.MustCompile("^ +starter ")
)

// Hang wraps a line at spaces outside `commands` to a number of columns; zero means unlimited. It indents all lines but the first. It
// never wraps a line with only a command.
func Hang(line string, width, indent int) string {
	if width == 0 || ansi.StringWidth(line) <= width || alone.MatchString(line) {
		return line
	}
	if width-indent < minRoom {
		indent = 2
	}
	const held = "\u00a0" // a space that must not become a line break
	line = quoted.ReplaceAllStringFunc(line, func(text string) string { return strings.ReplaceAll(text, " ", held) })
	first, rest, _ := cutLine(line, width)
	lines := []string{strings.TrimRight(first, " ")}
	for _, more := range Wrap(strings.TrimLeft(rest, " "), width-indent) {
		lines = append(lines, strings.Repeat(" ", indent)+more)
	}
	return strings.ReplaceAll(strings.Join(lines, "\n"), held, " ")
}

// Fold wraps the lines of a text as Hang does. Continuation lines are indented by two more columns.
func Fold(text string, width int) string {
	lines := strings.Split(text, "\n")
	for n, line := range lines {
		lines[n] = Hang(line, width, len(line)-len(strings.TrimLeft(line, " "))+2)
	}
	return strings.Join(lines, "\n")
}

// Pad fills a text with trailing spaces to a number of columns.
func Pad(text string, width int) string {
	return text + strings.Repeat(" ", max(width-ansi.StringWidth(text), 0))
}
