package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/api/serviceerror"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/workflows"
)

// update sends an update to the investigation's workflow or to the workflow of one of its agents.
func update[Out any](ctx context.Context, h handle, workflow, name string, in any) (out Out, err error) {
	taking, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	options := sdk.UpdateWorkflowOptions{
		UpdateID: cmp.Or(system.KeyOf(ctx), rand.Text()), WorkflowID: cmp.Or(workflow, h.Workflow), UpdateName: name,
		WaitForStage: sdk.WorkflowUpdateStageAccepted, Args: []any{in},
	}
	handle, err := h.conn.UpdateWorkflow(taking, options)
	for notReady(err) && wait(taking, lookEvery) { // another worker may be able to continue the workflow
		handle, err = h.conn.UpdateWorkflow(taking, options)
	}
	if err == nil {
		waiting, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		if err = handle.Get(waiting, &out); late(err) {
			return out, &system.UpdateError{Handle: h.Handle, Kind: system.ErrPending, Err: err}
		}
	}
	if err == nil || ctx.Err() != nil {
		return out, err
	}
	why := &system.UpdateError{Handle: h.Handle, Err: err}
	refused, no := errors.AsType[*temporal.ApplicationError](err)
	_, ended := errors.AsType[*serviceerror.NotFound](err)
	switch {
	case no:
		why.Kind, why.Err = system.ErrRefused, errors.New(refused.Message())
		if refused.Type() == workflows.ErrorNotPending {
			why.Err = &system.LateError{Reason: refused.Message()}
		}
	case ended:
		why.Kind = system.ErrTooLate
	case late(err), notReady(err):
		why.Kind = system.ErrNotTaken
	}
	return out, why
}

// notReady reports whether Temporal rejected an update because the workflow's tasks fail, for example on workers of an older release.
// The workflow has not received the update.
func notReady(err error) bool {
	_, failing := errors.AsType[*serviceerror.WorkflowNotReady](err)
	return failing
}

// late reports whether the result did not arrive in time. The SDK reports every polling error this way.
func late(err error) bool {
	_, ended := errors.AsType[*serviceerror.NotFound](err)
	_, late := errors.AsType[*sdk.WorkflowUpdateServiceTimeoutOrCanceledError](err)
	return late && !ended
}

// Steer sends a running investigation a signal (such as workflows.SignalGuide) with its input. If a worker answers, Steer sends an update
// instead, which confirms the request. It never does both, because an update without an answer may still be accepted.
func (c *Client) Steer(ctx context.Context, id, name string, in any) (s system.Steered, err error) {
	h, err := c.findRunning(ctx, id)
	if err != nil {
		return s, err
	}
	s.ID = h.ID()
	var before workflows.Status
	if h.ask(ctx, queryTimeout, &before) == nil {
		s.Was = wasBefore(before)
		taken, err := update[workflows.Taken](ctx, h, "", name, in)
		s.For = taken.For
		return s, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	s.Signal = true
	return s, h.sent(h.conn.SignalWorkflow(ctx, h.Workflow, "", name, in), "send "+name+" to")
}

// wasBefore returns the status before the signal. A paused investigation may also wait for people; nothing in it expires.
func wasBefore(s workflows.Status) agent.Status {
	if slices.ContainsFunc(s.Waiting, func(a workflows.Approval) bool { return a.Expires.IsZero() }) ||
		slices.ContainsFunc(s.Questions, func(q workflows.Interrupt) bool { return q.Expires.IsZero() }) {
		return agent.StatusPaused
	}
	return s.Status
}

// sent converts the error of a message to a workflow.
func (h handle) sent(err error, what string) error {
	if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
		return &EndedError{ID: h.ID()}
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", what, h.ID(), err)
	}
	return nil
}

// Cancel requests the end of an investigation. Finished work is kept.
func (c *Client) Cancel(ctx context.Context, id string) (system.Handle, error) {
	h, err := c.findRunning(ctx, id)
	if err != nil {
		return h.Handle, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return h.Handle, h.sent(h.conn.CancelWorkflow(ctx, h.Workflow, ""), "cancel")
}

// Answer answers a question from an investigation.
func (c *Client) Answer(ctx context.Context, id string, a workflows.Answer) (workflows.Interrupt, error) {
	return updateRunning[workflows.Interrupt](ctx, c, id, workflows.UpdateAnswer, a)
}

// Extend raises the limits of an investigation.
func (c *Client) Extend(ctx context.Context, id string, e workflows.ExtendBudget) (workflows.Budget, error) {
	return updateRunning[workflows.Budget](ctx, c, id, workflows.UpdateExtendBudget, e)
}

func updateRunning[Out any](ctx context.Context, c *Client, id, name string, in any) (out Out, err error) {
	h, err := c.findRunning(ctx, id)
	if err != nil {
		return out, err
	}
	return update[Out](ctx, h, "", name, in)
}

// Decide approves or denies a pending tool call. d.CallID is its Name, or only the last part if that is unambiguous. The agent has the
// final say, because someone else may have decided meanwhile.
func (c *Client) Decide(ctx context.Context, id string, d workflows.Decide) (out system.Decided, err error) {
	h, err := c.findRunning(ctx, id)
	if err != nil {
		return out, err
	}
	var status workflows.Status
	if err := c.askTwice(ctx, h, &status); err != nil {
		return out, err
	}
	a, err := pick(status, d.CallID)
	if err != nil {
		if outcome := c.Fate(ctx, h.ID(), d.CallID); outcome != "" {
			err = fmt.Errorf("%w: %s", err, outcome)
		}
		return out, err
	}
	d.CallID, d.Digest = a.CallID, wholeDigest(d.Digest, a.Digest)
	out = system.Decided{ID: h.Workflow, Call: a.Name(), Tool: a.Tool}
	out.Decision, err = update[activities.Decision](ctx, h, a.WorkflowID, workflows.UpdateDecide, d)
	return out, err
}

// NotWaitingError means that the call is not pending.
type NotWaitingError struct{ Call, ID, others string }

func (e *NotWaitingError) Error() string {
	return fmt.Sprintf("no pending call %q in %s; %s", e.Call, e.ID, e.others)
}

// pick finds a pending call by its full name or by its ID.
func pick(status workflows.Status, call string) (workflows.Approval, error) {
	var found []workflows.Approval
	for _, a := range status.Waiting {
		if a.Name() == call {
			return a, nil
		}
		if a.CallID == call {
			found = append(found, a)
		}
	}
	switch len(found) {
	case 0:
		return workflows.Approval{}, &NotWaitingError{call, status.ID, choices(status.Waiting)}
	case 1:
		return found[0], nil
	}
	return workflows.Approval{}, &system.InputError{Err: fmt.Errorf("%d calls are named %s; %s", len(found), call, choices(found))}
}

// choices lists the calls with names that Decide accepts.
func choices(waiting []workflows.Approval) string {
	if len(waiting) == 0 {
		return "none is pending"
	}
	var names []string
	for _, a := range waiting {
		names = append(names, fmt.Sprintf("%s (%s)", a.Name(), a.Tool))
	}
	return "pending: " + strings.Join(names, ", ")
}

// wholeDigest completes a digest: if it is empty or a prefix of the pending call's digest, the result is the latter.
func wholeDigest(given, waiting string) string {
	if given == "" || len(given) >= system.ShortDigest && strings.HasPrefix(waiting, given) {
		return waiting
	}
	return given
}
