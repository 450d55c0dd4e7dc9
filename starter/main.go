// Command starter is Inquest's command line: it starts investigations, shows
// them live, lists what there is, and steers what runs. It needs a Temporal and,
// for the conversations, the store of the workers; it runs nothing itself.
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

// cli is one call of the program: what all its commands share.
type cli struct {
	in       io.Reader
	out, err io.Writer
	getenv   func(string) string
	flags
	client func() service    // the system that the flags name
	quiet  bool              // nothing is said while a call takes long
	aside  func(string) bool // says it where printing would garble the screen; nil = print
	// The flags of all commands that have them are one variable each: json, and config, whose
	// default root sets, for commands without the flag read a configuration as well.
	json   bool   // the answer is to be JSON
	config string // directory or file with the configuration
	// noPager prints what is longer than the screen at once.
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

// explain says how errors of the client are mended on the command line.
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

// say tells people something that is not the command's output.
func (c *cli) say(format string, args ...any) {
	text := terminal.Clean(fmt.Sprintf(format, args...))
	if c.aside == nil || !c.aside(text) {
		_ = c.printTo(c.err, text)
	}
}

// print prints lines. Those that a terminal is too narrow for are broken between words.
func (c *cli) print(lines ...string) error { return c.printTo(c.out, lines...) }

func (c *cli) printTo(out io.Writer, lines ...string) error {
	_, err := fmt.Fprintln(out, terminal.Fold(strings.Join(lines, "\n"), terminal.Detect(out, c.getenv).Width))
	return err
}

// printJSON prints v, indented, without spelling out <, > and &.
func (c *cli) printJSON(v any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(c.out, reveal.Unseen(text.String())) // as JSON escapes: the same document
	return err
}

// options are those of what is shown on this terminal.
func (c *cli) options(verbose bool) terminal.Options {
	opts := terminal.Detect(c.out, c.getenv)
	opts.Verbose = verbose
	return opts
}

// usagef is an error in what the user wrote.
func usagef(format string, args ...any) error {
	return &command.UsageError{Err: fmt.Errorf(format, args...)}
}
