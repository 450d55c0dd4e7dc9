// Package command holds what our programs have in common: how they start and end, their exit codes, and where they keep their data.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit codes of all our programs.
const (
	ExitFailed = 1 // the operation failed
	ExitUsage  = 2 // wrong flags, input or configuration
	ExitCut    = 3 // an investigation completed, but a limit cut its chain short or its result is partial

	ExitInterrupted = 130 // Ctrl-C
)

// UsageError is an error that the user can fix on the command line or in a file.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

// Main runs a command until it is done or a signal asks it to stop, and returns the process's exit code. A second signal ends the process
// at once.
func Main(ctx context.Context, cmd *cobra.Command) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &UsageError{err} })
	FitHelp(cmd)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return ExitInterrupted // the command has printed everything
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s: %v\n", cmd.Name(), err)
	if usage, ok := errors.AsType[*UsageError](err); ok && usage != nil {
		return ExitUsage
	}
	return ExitFailed
}

// Serve runs an HTTP server until ctx ends.
func Serve(ctx context.Context, server *http.Server, listener net.Listener) error {
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Loopback reports whether an address (host:port) is unreachable from other hosts.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// Logger writes messages of at least this level to w. It counts repeated warnings and errors instead of writing them all.
func Logger(w io.Writer, level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, &UsageError{fmt.Errorf("--log-level %q: use debug, info, warn or error", level)}
	}
	return slog.New(limitRepeats(slog.NewTextHandler(w, &slog.HandlerOptions{Level: l}))), nil
}

// DefaultData returns the data folder of an installation on one host.
func DefaultData() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the folder for data (give it with a flag): %w", err)
	}
	return filepath.Join(cache, "inquest"), nil
}

// DataFolder returns the requested folder, or the default, as an absolute path.
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

// StorePath returns the path of the SQLite store in a data folder.
func StorePath(data string) string { return filepath.Join(data, "inquest.db") }

// DefaultStore returns the store that dev uses by default.
func DefaultStore() (string, error) {
	data, err := DefaultData()
	return StorePath(data), err
}

// Variables that every configuration may use in addition to the environment.
const (
	// VariableExecutable is the path of this program, which serves the sample incident over MCP.
	VariableExecutable = "INQUEST_EXECUTABLE"

	variableData = "INQUEST_DATA" // the data folder
)

// Env returns the environment for configurations: the process's own, plus the paths of this program and its data.
func Env(data string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		switch name {
		case VariableExecutable:
			path, err := os.Executable()
			return path, err == nil
		case variableData:
			return data, true
		}
		return os.LookupEnv(name)
	}
}

// NoArgs is cobra.NoArgs with a usage error.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &UsageError{fmt.Errorf("unexpected argument %q; see %s --help", args[0], cmd.CommandPath())}
	}
	return nil
}
