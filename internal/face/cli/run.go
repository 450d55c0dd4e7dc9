package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"

	"github.com/inquest-dev/inquest/internal/face/cli/base"
)

// Main runs the program and exits. full is nil in the build for the API alone.
func Main(ctx context.Context, full *base.Full) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	os.Exit(run(ctx, os.Args[1:], base.CLI{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Full: full}))
}

// run executes the command line and returns the exit code.
func run(ctx context.Context, args []string, c base.CLI) int {
	c.Client = sync.OnceValue(c.Connect)
	cmd := root(&c)
	cmd.SetArgs(args)
	cmd.SetIn(c.In)
	cmd.SetOut(c.Out)
	cmd.SetErr(c.Err)
	err := cmd.ExecuteContext(ctx)
	return c.ExitCode(ctx, errors.Join(err, c.Client().Close()))
}
