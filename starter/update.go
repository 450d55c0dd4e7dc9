package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/terminal"
)

// asked says what became of something that people have asked for; look is the command that
// says how things stand. answered: there is a result.
func (c *cli) asked(ctx context.Context, err error, what, look string, asJSON bool) (answered bool, _ error) {
	var why *client.UpdateError
	if !errors.As(err, &why) {
		return err == nil, err
	}
	switch why.Kind {
	case client.ErrPending:
		return false, errors.Join(c.printPending(why.Handle, what, look, asJSON), ctx.Err())
	case client.ErrRefused:
		return false, fmt.Errorf("%s was refused: %w", what, why.Err)
	case client.ErrTooLate:
		return false, fmt.Errorf("%s comes too late: nobody waits for it any more", what)
	case client.ErrNotTaken:
		return false, fmt.Errorf("no worker has taken %s within %s; `%s` says how things stand", what, client.CallTimeout, look)
	}
	return false, fmt.Errorf("%s: %w", what, why.Err)
}

// printPending says that a request was taken and has no result yet.
func (c *cli) printPending(h client.Handle, what, look string, asJSON bool) error {
	if asJSON {
		return c.printJSON(struct {
			ID    string `json:"id"`
			Waits bool   `json:"waits"`
		}{h.Workflow, true})
	}
	line := fmt.Sprintf("%s: %s is taken by the worker, which waits (for the store, it may be); do not repeat it: `%s` says how things stand",
		h.ID(), what, look)
	_, err := fmt.Fprintln(c.out, terminal.CleanLine(line))
	return err
}
