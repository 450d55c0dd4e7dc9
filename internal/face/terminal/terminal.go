// Package terminal shows investigations to people: on a terminal live, with colours and with replies as they arrive; elsewhere as plain
// lines. It sanitizes text from models and tools before printing it.
package terminal

import (
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/inquest-dev/inquest/internal/record"
)

// Options configures the output.
type Options struct {
	Out   io.Writer
	Color bool
	// Width is the terminal's width in columns, to wrap longer lines and show replies as they arrive. Zero means no terminal: lines are
	// printed whole, once they are final.
	Width int
	// Verbose prints prompts, tool calls and results in full instead of their first lines.
	Verbose bool
	// Notices describes everything that the investigation is waiting for. Each notice is printed once; nil means none.
	Notices func(record.Waits) []Notice
	// Ask asks the user about pending items. If Ask is nil, the notices mention them.
	Ask func(record.Waits)
}

// Notice describes something that the investigation is waiting for.
type Notice struct {
	Text string
	// Command is the command to type. A terminal shows it on its own line, which is never broken.
	Command string
	// Trouble is the execution that is waiting for its model's provider or, if Server is set, for a tool server. The execution's next
	// notice, or the end of the outage in the transcript, replaces this one. Next is the time of the next attempt, after so many
	// Tries. Zero tries of a server mean that it is starting.
	Trouble string
	Server  bool
	Next    time.Time
	Tries   int
}

// Lines formats a notice after a mark. With a width, the command gets its own line and is never broken. With width 0, everything is on
// one line.
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

// defaultWidth is used if the terminal does not report its width.
const defaultWidth = 80

// Detect returns the options that suit out. It turns colours off if the environment variable NO_COLOR is set or TERM is "dumb".
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
