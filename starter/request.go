package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/internal/terminal"
)

// request is an update that people have a workflow take.
type request struct {
	workflow   string // "" = the investigation's
	name       string
	what, look string // what it is to people, and the command that says how things stand
	in         any
	asJSON     bool
}

// send has a workflow take a request, which may be refused; done: the result is in out.
// A request that was taken counts even if its result waits for the store: people who
// took it for lost would send it twice.
func (c *cli) send(ctx context.Context, t target, r request, out any) (done bool, err error) {
	taking, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	handle, err := t.client.UpdateWorkflow(taking, client.UpdateWorkflowOptions{
		WorkflowID: cmp.Or(r.workflow, t.workflow), UpdateName: r.name, WaitForStage: client.WorkflowUpdateStageAccepted, Args: []any{r.in},
	})
	if err == nil {
		waiting, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		if err = handle.Get(waiting, out); late(err) {
			return false, errors.Join(c.printWaits(t, r), ctx.Err())
		}
	}
	if err != nil && ctx.Err() == nil {
		err = notTaken(r.what, r.look, err)
	}
	return err == nil, err
}

// late: Temporal has not told the result in time. The SDK puts every error of a poll so.
func late(err error) bool {
	_, ended := errors.AsType[*serviceerror.NotFound](err)
	_, late := errors.AsType[*client.WorkflowUpdateServiceTimeoutOrCanceledError](err)
	return late && !ended
}

// printWaits says that a request was taken and has no result yet.
func (c *cli) printWaits(t target, r request) error {
	if r.asJSON {
		return c.printJSON(struct {
			ID    string `json:"id"`
			Waits bool   `json:"waits"`
		}{t.workflow, true})
	}
	line := fmt.Sprintf("%s: %s is taken by the worker, which waits (for the store, it may be); do not repeat it: `%s` says how things stand",
		t.id(), r.what, r.look)
	_, err := fmt.Fprintln(c.out, terminal.CleanLine(line))
	return err
}

// notTaken says why an update was not taken; look is the command that says how
// things stand.
func notTaken(what, look string, err error) error {
	if refused, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return fmt.Errorf("%s was refused: %s", what, refused.Message())
	}
	if _, ended := errors.AsType[*serviceerror.NotFound](err); ended {
		return fmt.Errorf("%s comes too late: nobody waits for it any more", what)
	}
	if late(err) {
		return fmt.Errorf("no worker has taken %s within %s; `%s` says how things stand", what, callTimeout, look)
	}
	return fmt.Errorf("%s: %w", what, err)
}
