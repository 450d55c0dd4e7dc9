// Package terminal shows investigations to people: on a terminal as they
// happen, in colour and with the replies as they arrive, and elsewhere as plain
// lines. What models and tools say is made harmless before it is printed.
package terminal

import (
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/inquest-dev/inquest/internal/record"
)

// Options say how to print.
type Options struct {
	Out   io.Writer
	Color bool
	// Width is the terminal's, in columns: longer lines are wrapped, and replies
	// are shown while they arrive. 0 = not a terminal: whole lines, when they are final.
	Width int
	// Verbose prints tool calls and results whole, and prompts, instead of their first lines.
	Verbose bool
	// Notices puts what is waited for into lines, which are printed once each; nil = none are.
	Notices func(record.Waits) []Notice
	// Ask asks the person at the terminal what is waited for; nil = nobody is asked, and the
	// notices say it.
	Ask func(record.Waits)
}

// Notice says what is waited for.
type Notice struct {
	Text string
	// Command is what to type; a terminal has it on a line of its own, which is never broken.
	Command string
	// Trouble is the execution whose model's provider is waited for. Its next notice
	// takes the place of this one, and so does the end of the trouble, which the
	// transcript says. Next is when it is asked again, after so many Tries.
	Trouble string
	Next    time.Time
	Tries   int
}

// Lines are a notice behind a mark. A terminal, of so many columns, has the command whole on a line
// of its own; elsewhere (0) all is one line.
func (n Notice) Lines(mark string, width int) string {
	text := mark + CleanLine(n.Text)
	switch {
	case n.Command == "":
		return Hang(text, width, 0)
	case width == 0:
		return text + " " + n.Command
	}
	return Hang(text, width, 0) + "\n  " + n.Command
}

// defaultWidth is used where a terminal does not say how wide it is.
const defaultWidth = 80

// Detect returns the options that suit out. Colours are left out where the
// environment variable NO_COLOR is set or TERM is "dumb".
func Detect(out io.Writer, getenv func(string) string) Options {
	opts := Options{Out: out}
	if !IsTerminal(out) {
		return opts
	}
	opts.Width = defaultWidth
	if width, _, err := term.GetSize(int(out.(*os.File).Fd())); err == nil && width > 0 {
		opts.Width = width
	}
	opts.Color = getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
	return opts
}

// IsTerminal reports whether w writes to a terminal.
func IsTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
