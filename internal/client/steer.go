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

// What became of a request that a workflow has not answered.
var (
	// ErrRefused: the workflow has said no.
	ErrRefused = errors.New("it was refused")
	// ErrTooLate: nobody waits for it any more.
	ErrTooLate = errors.New("it comes too late: nobody waits for it any more")
	// ErrNotTaken: no worker has taken it in time. One may yet.
	ErrNotTaken = errors.New("no worker has taken it in time")
	// ErrPending: a worker has taken it, and the result waits, for the store it may be. It
	// counts: who took it for lost would send it twice.
	ErrPending = errors.New("it was taken, and has no result yet: do not repeat it")
)

// UpdateError says why a workflow did not answer an update.
type UpdateError struct {
	Handle Handle // of the investigation
	Kind   error  // ErrRefused, ErrTooLate, ErrNotTaken or ErrPending; nil = Temporal could not be asked
	Err    error
}

func (e *UpdateError) Error() string {
	if e.Kind == nil {
		return fmt.Sprintf("ask %s: %v", e.Handle.ID(), e.Err)
	}
	return fmt.Sprintf("ask %s: %v: %v", e.Handle.ID(), e.Kind, e.Err)
}
func (e *UpdateError) Unwrap() []error { return []error{e.Kind, e.Err} }

// update has a workflow take a request: the investigation's, or that of one of its agents.
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
	case ended:
		why.Kind = ErrTooLate
	case late(err):
		why.Kind = ErrNotTaken
	}
	return out, why
}

// late: Temporal has not told the result in time. The SDK puts every error of a poll so.
func late(err error) bool {
	_, ended := errors.AsType[*serviceerror.NotFound](err)
	_, late := errors.AsType[*sdk.WorkflowUpdateServiceTimeoutOrCanceledError](err)
	return late && !ended
}

// Steered says what became of a signal.
type Steered struct {
	Handle
	workflows.Taken
	// Left: no worker answers now, and the signal waits with Temporal for one.
	Left bool
	// Was is how things stood before; "" = nobody could say.
	Was agent.Status
}

// Steer has a running investigation take in a signal (workflows.SignalGuide …) and its input. If a worker is there, it
// is asked by an update and answers; without one, the signal waits for it. It is never sent both ways: an update that
// nobody has answered may yet be taken.
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

// wasBefore is how things stood. What is paused may wait for people, too; nothing expires then.
func wasBefore(s workflows.Status) agent.Status {
	if slices.ContainsFunc(s.Waiting, func(a workflows.Approval) bool { return a.Expires.IsZero() }) ||
		slices.ContainsFunc(s.Questions, func(q workflows.Interrupt) bool { return q.Expires.IsZero() }) {
		return agent.StatusPaused
	}
	return s.Status
}

// sent is the error of what was sent to a workflow without an answer.
func (h Handle) sent(err error, what string) error {
	if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
		return &EndedError{ID: h.ID()}
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", what, h.ID(), err)
	}
	return nil
}

// Cancel asks for the end of an investigation; what it has finished is kept.
func (c *Client) Cancel(ctx context.Context, id string) (Handle, error) {
	h, err := c.findRunning(ctx, id)
	if err != nil {
		return h, err
	}
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	return h, h.sent(h.conn.CancelWorkflow(ctx, h.Workflow, ""), "cancel")
}

// Answer answers a question that an investigation has put to people.
func (c *Client) Answer(ctx context.Context, id string, a workflows.Answer) (workflows.Interrupt, error) {
	return updateRunning[workflows.Interrupt](ctx, c, id, workflows.UpdateAnswer, a)
}

// Extend raises the bounds of an investigation.
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

// Decided is a tool call that somebody has approved or denied.
type Decided struct {
	ID   string `json:"id"`   // the workflow's
	Call string `json:"call"` // see record.Approval.Name
	Tool string `json:"tool"`
	activities.Decision
}

// ShortDigest is how much of a digest is enough to name the call, in characters.
const ShortDigest = 12

// Decide approves or denies a tool call that waits; d.CallID is its Name, or its last part
// alone if only one has it. The agent has the last word: somebody else may have decided meanwhile.
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

// NotWaitingError: the call to be decided on does not wait for anybody.
type NotWaitingError struct{ Call, ID, others string }

func (e *NotWaitingError) Error() string {
	return fmt.Sprintf("no call %q of %s waits for a decision; %s", e.Call, e.ID, e.others)
}

// pick finds the call among those that wait, by its whole name or by its id.
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
	return workflows.Approval{}, &InputError{fmt.Errorf("%d calls are called %s; %s", len(found), call, choices(found))}
}

// choices lists calls as Decide takes them.
func choices(waiting []workflows.Approval) string {
	if len(waiting) == 0 {
		return "none does"
	}
	var names []string
	for _, a := range waiting {
		names = append(names, fmt.Sprintf("%s (%s)", a.Name(), a.Tool))
	}
	return "there are: " + strings.Join(names, ", ")
}

// wholeDigest is the digest that is meant: of what waits now if the beginning of it is
// given, or nothing.
func wholeDigest(given, waiting string) string {
	if given == "" || len(given) >= ShortDigest && strings.HasPrefix(waiting, given) {
		return waiting
	}
	return given
}
