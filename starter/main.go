// Command starter is Inquest's command line. It starts investigations, shows them live, lists them and steers them. It needs Temporal
// and, for the conversations, the workers' store. It runs no investigations itself.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"

	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/reveal"
	"github.com/inquest-dev/inquest/internal/terminal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	os.Exit(run(ctx, os.Args[1:], cli{in: os.Stdin, out: os.Stdout, err: os.Stderr, getenv: os.Getenv}))
}

// cli is the state that all commands share during one call of the program.
type cli struct {
	in       io.Reader
	out, err io.Writer
	getenv   func(string) string
	flags
	client func() service    // the system that the flags name
	quiet  bool              // no messages during slow calls
	aside  func(string) bool // prints a message where plain output would garble the screen; nil means plain output
	// Flags that several commands share are one variable each: json and config. root sets the default of config, because commands without
	// the flag read a configuration too.
	json   bool   // output in JSON
	config string // directory or file with the configuration
	// noPager prints long output without a pager.
	noPager bool
}

// run executes the command line and returns the exit code.
func run(ctx context.Context, args []string, c cli) int {
	c.client = sync.OnceValue(c.connect)
	cmd := c.root()
	cmd.SetArgs(args)
	cmd.SetIn(c.in)
	cmd.SetOut(c.out)
	cmd.SetErr(c.err)
	err := cmd.ExecuteContext(ctx)
	return c.exitCode(ctx, errors.Join(err, c.client().Close()))
}

func (c *cli) exitCode(ctx context.Context, err error) int {
	if err == nil {
		return 0
	}
	if ctx.Err() != nil || errors.Is(err, errLeft) {
		if !errors.Is(err, context.Canceled) {
			c.say("%v", err)
		}
		return command.ExitInterrupted
	}
	err = explain(err)
	c.say("starter: %v", err)
	if _, cut := errors.AsType[*cutError](err); cut {
		return command.ExitCut
	}
	if _, wrong := errors.AsType[*command.UsageError](err); wrong {
		return command.ExitUsage
	}
	return command.ExitFailed
}

// explain adds to the client's errors how to fix them on the command line.
func explain(err error) error {
	if folder, ok := errors.AsType[*client.FolderError](err); ok {
		return usagef("--store %s is a folder: give the path of the SQLite file in it", folder.Path)
	}
	if _, wrong := errors.AsType[*client.InputError](err); wrong {
		return usagef("%w", err)
	}
	if _, away := errors.AsType[*client.UnreachableError](err); away {
		return fmt.Errorf("%w\nStart one with `go run ./dev`, or say where yours is with --address or TEMPORAL_ADDRESS.", err)
	}
	return err
}

// say prints a message to people that is not part of the command's output.
func (c *cli) say(format string, args ...any) {
	text := terminal.Clean(fmt.Sprintf(format, args...))
	if c.aside == nil || !c.aside(text) {
		_ = c.printTo(c.err, text)
	}
}

// print prints lines, wrapped between words to the terminal's width.
func (c *cli) print(lines ...string) error { return c.printTo(c.out, lines...) }

func (c *cli) printTo(out io.Writer, lines ...string) error {
	_, err := fmt.Fprintln(out, terminal.Fold(strings.Join(lines, "\n"), terminal.Detect(out, c.getenv).Width))
	return err
}

// printJSON prints v indented, without escaping <, > and &.
func (c *cli) printJSON(v any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(c.out, reveal.Unseen(text.String())) // uses JSON escapes, so the document stays the same
	return err
}

// options returns the terminal options for the output.
func (c *cli) options(verbose bool) terminal.Options {
	opts := terminal.Detect(c.out, c.getenv)
	opts.Verbose = verbose
	return opts
}

// usagef returns an error in the user's input.
func usagef(format string, args ...any) error {
	return &command.UsageError{Err: fmt.Errorf(format, args...)}
}
