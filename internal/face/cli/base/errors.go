package base

import (
	"context"
	"fmt"

	"github.com/inquest-dev/inquest/internal/command"
)

// ErrLeft means that the user left without waiting for the reply.
var ErrLeft = fmt.Errorf("left: %w", context.Canceled)

// Usagef returns an error that the user's input caused.
func Usagef(format string, args ...any) error {
	return &command.UsageError{Err: fmt.Errorf(format, args...)}
}
