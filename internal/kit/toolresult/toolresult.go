// Package toolresult is the contract between tools and the readers of their results: one format for success and failure, and a
// conversion from other formats (spec: tools, "Results"). The text that a model gets for a call, with its artifacts, is in
// tool.Result.
package toolresult

import (
	"cmp"
	"errors"
	"fmt"
)

// Result is the return value of a tool.
type Result struct {
	Status Status         `json:"status"`
	Data   map[string]any `json:"data,omitempty"`
	// Error is set if and only if Status is StatusError.
	Error   *Error `json:"error,omitempty"`
	Message string `json:"message,omitempty"` // for people
	Signal  string `json:"signal,omitempty"`  // for the caller
}

// Status says whether a tool succeeded.
type Status string

// The statuses of a result.
const (
	StatusSuccess Status = "success"
	StatusError   Status = "error"
)

func (s Status) valid() bool { return s == StatusSuccess || s == StatusError }

// Success makes a successful result. It keeps data without copying it. Both arguments may be empty.
func Success(data map[string]any, message string) Result {
	return Result{Status: StatusSuccess, Data: data, Message: message}
}

// Failure makes the result of a failed call. message may be empty, because err describes the error.
func Failure(err *Error, message string) Result {
	return Result{Status: StatusError, Error: err, Message: message}
}

// Validate returns the problem of an invalid result.
func (r Result) Validate() error {
	switch {
	case !r.Status.valid():
		return fmt.Errorf("invalid tool status %q: must be success or error", string(r.Status))
	case r.Status == StatusError && r.Error == nil:
		return errors.New("error field is required when status is 'error'")
	case r.Status == StatusSuccess && r.Error != nil:
		return errors.New("error field must be None when status is 'success'")
	}
	return nil
}

// Error says why a call failed. A tool may return it as a Go error, in which case FromError finds it.
type Error struct {
	Type    string         `json:"error_type"`
	Message string         `json:"message"`
	Details map[string]any `json:"details,omitempty"`
	// Recoverable means that another attempt, perhaps with other arguments, may succeed.
	Recoverable bool `json:"recoverable"`
}

const (
	typeTool     = "ToolError" // for errors without a type
	typeNotFound = "NotFoundError"
	unknownError = "Unknown error"
)

func (e *Error) Error() string {
	if e == nil || e.Message == "" {
		return unknownError
	}
	return e.Message
}

// NotFound returns the error for a missing entity: NotFound("pod", "web-1").
func NotFound(entity, id string) *Error {
	return &Error{Type: typeNotFound, Message: fmt.Sprintf("%s '%s' not found", entity, id)}
}

// FromError converts a Go error to an error of a result. If it wraps an *Error, it keeps that error's type, details and
// Recoverable. It does not reveal Go types or stacks, which are useless to a model and tell others too much.
func FromError(err error, recoverable bool) *Error {
	if err == nil {
		return &Error{Type: typeTool, Message: unknownError, Recoverable: recoverable}
	}
	out := Error{Type: typeTool, Recoverable: recoverable}
	if own, ok := errors.AsType[*Error](err); ok && own != nil {
		out = *own
		out.Type = cmp.Or(own.Type, typeTool)
	}
	out.Message = cmp.Or(fmt.Sprint(err), unknownError) // Sprint survives an Error method that panics
	return &out
}
