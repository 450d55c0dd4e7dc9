package system

import (
	"errors"
	"fmt"

	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/virtual"
	"github.com/inquest-dev/inquest/workflows"
)

// Errors of operations, besides those of record and virtual.
var (
	// ErrNoStore means that the operation needs the workers' store, which is not available here.
	ErrNoStore = errors.New("this needs the workers' store, and no store was found here")
	// ErrUnanswered means that a workflow cannot be queried for its status.
	ErrUnanswered = errors.New("no worker is responding")
	// ErrEnded means that an ended workflow cannot be steered.
	ErrEnded = errors.New("it has already ended")
	// ErrReused means that the ID was already used for a different request.
	ErrReused = errors.New("it was already used for a different request")
	// ErrNeedsApproval means that a tool call needs a person's approval.
	ErrNeedsApproval = errors.New("the call needs approval")

	// ErrRefused means that the workflow has refused the request.
	ErrRefused = errors.New("it was refused")
	// ErrTooLate means that the request is no longer needed.
	ErrTooLate = errors.New("too late: it is no longer pending")
	// ErrNotTaken means that no worker has accepted the request in time. One still may.
	ErrNotTaken = errors.New("no worker accepted it in time")
	// ErrPending means that a worker has accepted the request, but its result is delayed, for example by the store. The request counts
	// and must not be repeated.
	ErrPending = errors.New("accepted, but not finished yet; do not send it again")
)

// Beginnings of the types of problems (RFC 9457).
const (
	ProblemType = "urn:inquest:" // of all that have one
	RefusedCall = "call:"        // behind it, if the policy refuses a tool call: the error type of the call follows
)

// Problems are the errors that users of the API recognise by the type of the problem.
var Problems = []struct {
	Err  error
	Name string // end of the type
}{
	{virtual.ErrTaken, "taken"},
	{virtual.ErrChanged, "changed"},
	{record.ErrReviewState, "review-state"},
	{ErrEnded, "ended"},
	{ErrRefused, "refused"},
	{ErrTooLate, "too-late"},
	{ErrNeedsApproval, "needs-approval"},
	{ErrPending, "pending"},
	{ErrNotTaken, "not-taken"},
	{plan.ErrNewer, "newer-plan"},
}

// ProblemName returns the end of the problem type of an error. An empty string means that it has none.
func ProblemName(err error) string {
	for _, p := range Problems {
		if errors.Is(err, p.Err) {
			return p.Name
		}
	}
	return ""
}

// ProblemOf returns the error of a problem type. Nil means that it is none of Problems.
func ProblemOf(name string) error {
	for _, p := range Problems {
		if p.Name == name {
			return p.Err
		}
	}
	return nil
}

// WrongDefinition is the detail of a problem that lists the faults in an agent's definition.
const WrongDefinition = "the definition of the agent is wrong"

// InputError means that the input is wrong and the caller can correct it.
type InputError struct{ Err error }

func (e *InputError) Error() string { return e.Err.Error() }
func (e *InputError) Unwrap() error { return e.Err }

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

// FolderError is the path of a folder where a store's file should be.
type FolderError struct{ Path string }

func (e *FolderError) Error() string {
	return e.Path + " is a directory, not a SQLite store file"
}

// UnreachableError means that Temporal does not answer.
type UnreachableError struct {
	Address string
	Err     error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("Temporal at %s cannot be used: %v", e.Address, e.Err)
}
func (e *UnreachableError) Unwrap() error { return e.Err }

// ScoringError means that an investigation is being judged already.
type ScoringError struct{ ID string }

func (e *ScoringError) Error() string {
	return fmt.Sprintf("investigation %s is already being scored, by workflow %s", e.ID, workflows.ScoringID(e.ID))
}

// TakenError means that an investigation with this workflow ID is running.
type TakenError struct{ Workflow string }

func (e *TakenError) Error() string {
	return fmt.Sprintf("an investigation with the workflow ID %s is already running", e.Workflow)
}
