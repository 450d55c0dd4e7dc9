// Command starter is Inquest's command line: it starts investigations, shows
// them live, lists what there is, and steers what runs. It needs a Temporal and,
// for the conversations, the store of the workers; it runs nothing itself.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/payload"
	"github.com/inquest-dev/inquest/internal/terminal"
)

// exitInterrupted is the exit code after Ctrl-C, as shells have it.
const exitInterrupted = 130

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	os.Exit(run(ctx, os.Args[1:], cli{in: os.Stdin, out: os.Stdout, err: os.Stderr, getenv: os.Getenv}))
}

// cli is one call of the program.
type cli struct {
	in       io.Reader
	out, err io.Writer
	getenv   func(string) string
	keys     payload.Keys // of the last dial
	flags
}

// run executes the command line and returns the exit code.
func run(ctx context.Context, args []string, c cli) int {
	cmd := c.root()
	cmd.SetArgs(args)
	cmd.SetIn(c.in)
	cmd.SetOut(c.out)
	cmd.SetErr(c.err)
	return c.exitCode(ctx, cmd.ExecuteContext(ctx))
}

func (c *cli) exitCode(ctx context.Context, err error) int {
	if err == nil {
		return 0
	}
	if ctx.Err() != nil || errors.Is(err, errLeft) {
		if !errors.Is(err, context.Canceled) {
			c.say("%v", err)
		}
		return exitInterrupted
	}
	c.say("starter: %v", err)
	if _, wrong := errors.AsType[*command.UsageError](err); wrong {
		return command.ExitUsage
	}
	return command.ExitFailed
}

// say tells people something that is not the command's output.
func (c *cli) say(format string, args ...any) {
	fmt.Fprintln(c.err, terminal.Clean(fmt.Sprintf(format, args...)))
}

// usagef is an error in what the user wrote.
func usagef(format string, args ...any) error {
	return &command.UsageError{Err: fmt.Errorf(format, args...)}
}
