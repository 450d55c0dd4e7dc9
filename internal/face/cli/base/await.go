package base

import (
	"context"
	"errors"
	"fmt"

	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/system"
)

// Await waits for the end.
func Await(ctx context.Context, c *CLI, h system.Handle) (system.Result, error) {
	out, err := c.Client().Await(ctx, h)
	return out, NotWatching(ctx, h, err)
}

// LeftText says how to come back.
func LeftText(id string) string {
	id = command.ShellWord(id)
	return fmt.Sprintf("Stopped watching. The investigation continues. To watch or cancel it:\n"+
		"  starter watch %[1]s\n  starter cancel %[1]s", id)
}

// NotWatching tells a user who presses Ctrl-C how to come back.
func NotWatching(ctx context.Context, h system.Handle, err error) error {
	if ctx.Err() != nil {
		return errors.New("\n" + LeftText(h.ID()))
	}
	return err
}
