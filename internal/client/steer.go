package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/api/serviceerror"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/workflows"
)

// Kinds of requests that a workflow did not answer.
var (
	// ErrRefused means that the workflow has refused the request.
	ErrRefused = errors.New("it was refused")
	// ErrTooLate means that the request is no longer needed.
	ErrTooLate = errors.New("too late: it is no longer pending")
	// ErrNotTaken means that no worker has accepted the request in time. One still may.
	ErrNotTaken = errors.New("no worker accepted it in time")
	// ErrPending means that a worker has accepted the request, but its result is delayed, for example by the store. The request counts
	// and must not be repeated.
	ErrPending = errors.New("accepted, but not finished yet: do not repeat it")
)

// UpdateError says why a workflow did not answer an update.
type UpdateError struct {
	Handle Handle // of the investigation
	Kind   error  // ErrRefused, ErrTooLate, ErrNotTaken or ErrPending; nil means that Temporal did not answer
	Err    error
}

func (e *UpdateError) Error() string {
	if e.Kind == nil {
		return fmt.Sprintf("ask %s: %v", e.Handle.ID(), e.Err)
	}
	return fmt.Sprintf("ask %s: %v: %v", e.Handle.ID(), e.Kind, e.Err)
}
func (e *UpdateError) Unwrap() []error { return []error{e.Kind, e.Err} }

// LateError is the reason of a workflow that refused an answer or a decision because nothing waits for it. It wraps ErrTooLate.
type LateError struct{ Reason string }

func (e *LateError) Error() string { return e.Reason }
func (e *LateError) Unwrap() error { return ErrTooLate }

// update sends an update to the investigation's workflow or to the workflow of one of its agents.
func update[Out any](ctx context.Context, h Handle, workflow, name string, in any) (out Out, err error) {
	taking, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	handle, err := h.conn.UpdateWorkflow(taking, sdk.UpdateWorkflowOptions{
		WorkflowID: cmp.Or(workflow, h.Workflow), UpdateName: name, WaitForStage: sdk.WorkflowUpdateStageAccepted, Args: []any{in},
	})
	if err == nil {
		waiting, cancel := context.WithTimeout(ctx, CallTimeout)
		defer cancel()
		if err = handle.Get(waiting, &out); late(err) {
			return out, &UpdateError{h, ErrPending, err}
		}
	}
	if err == nil || ctx.Err() != nil {
		return out, err
	}
	why := &UpdateError{Handle: h, Err: err}
	refused, no := errors.AsType[*temporal.ApplicationError](err)
	_, ended := errors.AsType[*serviceerror.NotFound](err)
	switch {
	case no:
		why.Kind, why.Err = ErrRefused, errors.New(refused.Message())
		if refused.Type() == workflows.ErrorNotPending {
			why.Err = &LateError{refused.Message()}
		}
	case ended:
		why.Kind = ErrTooLate
	case late(err):
		why.Kind = ErrNotTaken
	}
	return out, why
}

// late reports whether the result did not arrive in time. The SDK reports every polling error this way.
func late(err error) bool {
	_, ended := errors.AsType[*serviceerror.NotFound](err)
	_, late := errors.AsType[*sdk.WorkflowUpdateServiceTimeoutOrCanceledError](err)
	return late && !ended
}

// Steered is the outcome of a signal.
type Steered struct {
	Handle
	workflows.Taken
	// Left means that no worker answers and the signal waits in Temporal for one.
	Left bool
	// Was is the status before the signal. An empty string means unknown.
	Was agent.Status
}

// Steer sends a running investigation a signal (such as workflows.SignalGuide) with its input. If a worker answers, Steer sends an update
// instead, which confirms the request. It never does both, because an update without an answer may still be accepted.
func (c *Client) Steer(ctx context.Context, id, name string, in any) (s Steered, err error) {
	if s.Handle, err = c.findRunning(ctx, id); err != nil {
		return s, err
	}
	var before workflows.Status
	if s.Ask(ctx, &before) == nil {
		s.Was = wasBefore(before)
		s.Taken, err = update[workflows.Taken](ctx, s.Handle, "", name, in)
		return s, err
	}
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	s.Left = true
	return s, s.sent(s.conn.SignalWorkflow(ctx, s.Workflow, "", name, in), "send "+name+" to")
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
func (h Handle) sent(err error, what string) error {
	if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
		return &EndedError{ID: h.ID()}
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", what, h.ID(), err)
	}
	return nil
}

// Cancel requests the end of an investigation. Finished work is kept.
func (c *Client) Cancel(ctx context.Context, id string) (Handle, error) {
	h, err := c.findRunning(ctx, id)
	if err != nil {
		return h, err
	}
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	return h, h.sent(h.conn.CancelWorkflow(ctx, h.Workflow, ""), "cancel")
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

// Decided is a tool call that a person has approved or denied.
type Decided struct {
	ID   string `json:"id"`   // the workflow's ID
	Call string `json:"call"` // see record.Approval.Name
	Tool string `json:"tool"`
	activities.Decision
}

// ShortDigest is the number of characters of a digest that identify the call.
const ShortDigest = 12

// Decide approves or denies a pending tool call. d.CallID is its Name, or only the last part if that is unambiguous. The agent has the
// final say, because someone else may have decided meanwhile.
func (c *Client) Decide(ctx context.Context, id string, d workflows.Decide) (out Decided, err error) {
	h, err := c.findRunning(ctx, id)
	if err != nil {
		return out, err
	}
	var status workflows.Status
	if err := c.hear(ctx, h, &status); err != nil {
		return out, err
	}
	a, err := pick(status, d.CallID)
	if err != nil {
		if fate := c.Fate(ctx, h.ID(), d.CallID); fate != "" {
			err = fmt.Errorf("%w: %s", err, fate)
		}
		return out, err
	}
	d.CallID, d.Digest = a.CallID, wholeDigest(d.Digest, a.Digest)
	out = Decided{ID: h.Workflow, Call: a.Name(), Tool: a.Tool}
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
	return workflows.Approval{}, &InputError{fmt.Errorf("%d calls are named %s; %s", len(found), call, choices(found))}
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
	if given == "" || len(given) >= ShortDigest && strings.HasPrefix(waiting, given) {
		return waiting
	}
	return given
}
