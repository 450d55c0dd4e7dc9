package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/sample"
)

// Exit codes of all our programs.
const (
	ExitFailed = 1 // it was tried and did not work
	ExitUsage  = 2 // flags, input or configuration are wrong
)

// UsageError is an error that the user can mend in the command line or a file.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

// Main runs a command until it is done or a signal asks it to stop, and returns
// the process's exit code. A second signal ends the process at once.
func Main(cmd *cobra.Command) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &UsageError{err} })
	cmd.AddCommand(sampleCommand())
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s: %v\n", cmd.Name(), err)
	if usage, ok := errors.AsType[*UsageError](err); ok && usage != nil {
		return ExitUsage
	}
	return ExitFailed
}

// sampleCommand serves the sample incident over MCP on stdin and stdout: it is
// what the built-in server "incident" runs.
func sampleCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: SampleCommand, Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return sample.ServeMCP(cmd.Context(), dir) },
	}
	cmd.Flags().StringVar(&dir, "dir", "", "folder of the sample incident")
	return cmd
}

// Logger writes to w what is at least at the level.
func Logger(w io.Writer, level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, &UsageError{fmt.Errorf("--log-level %q: use debug, info, warn or error", level)}
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: l})), nil
}

// DataFolder is the folder that was asked for, or the default, as an absolute path.
func DataFolder(asked string) (string, error) {
	if asked == "" {
		return DefaultData()
	}
	dir, err := filepath.Abs(asked)
	if err != nil {
		return "", &UsageError{fmt.Errorf("--data %s: %w", asked, err)}
	}
	return dir, nil
}
