package base

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/dial"
	"github.com/inquest-dev/inquest/internal/system"
)

// ExitCode prints the error of a command and returns the exit code of the program.
func (c *CLI) ExitCode(ctx context.Context, err error) int {
	if err == nil {
		return 0
	}
	if ctx.Err() != nil || errors.Is(err, ErrLeft) {
		if !errors.Is(err, context.Canceled) {
			c.Say("%v", err)
		}
		return command.ExitInterrupted
	}
	err = Explain(err)
	c.Say("starter: %v", err)
	if _, cut := errors.AsType[*cutError](err); cut {
		return command.ExitCut
	}
	if _, wrong := errors.AsType[*command.UsageError](err); wrong {
		return command.ExitUsage
	}
	return command.ExitFailed
}

// Explain adds advice for the command line to the client's errors, and puts those of Temporal into words for people.
func Explain(err error) error {
	err = dial.Plain(err)
	if folder, ok := errors.AsType[*system.FolderError](err); ok {
		return Usagef("--store %s is a directory: give the path of the SQLite file in it", folder.Path)
	}
	if _, wrong := errors.AsType[*system.InputError](err); wrong {
		return Usagef("%w", err)
	}
	if _, away := errors.AsType[*system.UnreachableError](err); away {
		return fmt.Errorf("%w\nStart Temporal with `go run ./dev`, or give the address of your own with --address or "+
			"TEMPORAL_ADDRESS.", err)
	}
	return err
}

// cutError means that an investigation completed with partial results.
type cutError struct {
	id     string
	reason agent.EndReason
}

func (e *cutError) Error() string {
	if e.reason == agent.EndPartial {
		return fmt.Sprintf("investigation %s is partial: an agent worked without one of its tool servers, or its output does "+
			"not meet its contract. The report has the details.", e.id)
	}
	return fmt.Sprintf("investigation %s reached a limit (%s) before its chain was complete. The report contains the findings so far.",
		e.id, e.reason)
}

// Verdict returns an error for an investigation that failed or completed only part of its chain.
func Verdict(id string, status agent.Status, reason agent.EndReason, message string) error {
	switch {
	case status == agent.StatusCompleted && (reason.Cut() || reason == agent.EndPartial):
		return &cutError{id, reason}
	case status == agent.StatusCompleted:
		return nil
	case status == agent.StatusRefused:
		return Usagef("%s", strings.TrimSuffix("the request was refused: "+message, ": "))
	case message == "":
		return fmt.Errorf("investigation %s: %s", id, status)
	}
	return fmt.Errorf("investigation %s: %s: %s", id, status, message)
}
