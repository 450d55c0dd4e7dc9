// Package base holds what all commands of the command line share: the system that they use, messages, tables, questions and errors.
package base

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/inquest-dev/inquest/internal/dial"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
)

// CLI is the state that all commands share during one call of the program.
type CLI struct {
	In       io.Reader
	Out, Err io.Writer
	Getenv   func(string) string
	Flags
	Full   *Full             // nil in the build for the API alone
	Client func() Service    // the system that the flags name
	Quiet  bool              // no messages during slow calls
	Aside  func(string) bool // prints a message where plain output would garble the screen; nil means plain output
	// Flags that several commands share are one variable each: json and config. root sets the default of config, because commands without
	// the flag read a configuration too.
	JSON   bool   // output in JSON
	Config string // directory or file with the configuration
	// NoPager prints long output without a pager.
	NoPager bool
}

// Interactive reports whether the user has a terminal that supports the live view.
func (c *CLI) Interactive() bool {
	return terminal.IsTerminal(c.Out) && c.Typed() && c.Getenv("TERM") != "dumb" && c.Getenv("CI") == ""
}

// Typed reports whether standard input is a terminal.
func (c *CLI) Typed() bool {
	file, ok := c.In.(*os.File)
	return ok && terminal.IsTerminal(file)
}

// Say prints a message to people that is not part of the command's output. Errors of Temporal are in words for people.
func (c *CLI) Say(format string, args ...any) {
	for n, arg := range args {
		if err, ok := arg.(error); ok {
			args[n] = dial.Plain(err)
		}
	}
	text := terminal.Clean(fmt.Sprintf(format, args...))
	if c.Aside == nil || !c.Aside(text) {
		_ = c.PrintTo(c.Err, text)
	}
}

// Print prints lines, wrapped between words to the terminal's width.
func (c *CLI) Print(lines ...string) error { return c.PrintTo(c.Out, lines...) }

// PrintTo prints lines to out, as Print does.
func (c *CLI) PrintTo(out io.Writer, lines ...string) error {
	_, err := fmt.Fprintln(out, terminal.Fold(strings.Join(lines, "\n"), terminal.Detect(out, c.Getenv).Width))
	return err
}

// PrintJSON prints v indented, without escaping <, > and &.
func (c *CLI) PrintJSON(v any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(c.Out, reveal.Unseen(text.String())) // uses JSON escapes, so the document stays the same
	return err
}

// Options returns the terminal options for the output.
func (c *CLI) Options(verbose bool) terminal.Options {
	opts := terminal.Detect(c.Out, c.Getenv)
	opts.Verbose = verbose
	return opts
}
