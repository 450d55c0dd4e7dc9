package terminal

import (
	"regexp"
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

// quoted is a command within a text, alone one that is a line.
var (
	quoted = regexp.MustCompile("`[^`]*`")
	alone  = regexp.MustCompile("^ +starter ")
)

// Hang breaks a line between words, and not within `commands`, so that it fits into so many columns,
// 0 = any number. What stands below its first line is indented. A command that is a line stays one.
func Hang(line string, width, indent int) string {
	if width == 0 || ansi.StringWidth(line) <= width || alone.MatchString(line) {
		return line
	}
	if width-indent < minRoom {
		indent = 2
	}
	const held = "\u00a0" // a blank that is no place to break
	line = quoted.ReplaceAllStringFunc(line, func(text string) string { return strings.ReplaceAll(text, " ", held) })
	first, rest, _ := cutLine(line, width)
	lines := []string{strings.TrimRight(first, " ")}
	for _, more := range Wrap(strings.TrimLeft(rest, " "), width-indent) {
		lines = append(lines, strings.Repeat(" ", indent)+more)
	}
	return strings.ReplaceAll(strings.Join(lines, "\n"), held, " ")
}

// Fold breaks the lines of a text so that they fit, as Hang does; what a line goes on with stands
// two columns within it.
func Fold(text string, width int) string {
	lines := strings.Split(text, "\n")
	for n, line := range lines {
		lines[n] = Hang(line, width, len(line)-len(strings.TrimLeft(line, " "))+2)
	}
	return strings.Join(lines, "\n")
}

// Pad fills a text up to so many columns with blanks behind it.
func Pad(text string, width int) string {
	return text + strings.Repeat(" ", max(width-ansi.StringWidth(text), 0))
}
