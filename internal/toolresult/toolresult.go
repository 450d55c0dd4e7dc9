// Package toolresult is the contract between tools and whoever reads what they
// return: one shape for success and failure, and a way to bring into it what
// tools return in shapes of their own (spec: tools, "Results"). What a model is
// shown of a call, with its artifacts, is tool.Result.
package toolresult

import (
	"cmp"
	"errors"
	"fmt"
)

// Result is what a tool returns.
type Result struct {
	Status Status         `json:"status"`
	Data   map[string]any `json:"data,omitempty"`
	// Error is given if and only if Status is StatusError.
	Error   *Error `json:"error,omitempty"`
	Message string `json:"message,omitempty"` // for people
	Signal  string `json:"signal,omitempty"`  // for whoever made the call
}

// Status says whether a tool did what it was asked.
type Status string

// The statuses of a result.
const (
	StatusSuccess Status = "success"
	StatusError   Status = "error"
)

func (s Status) valid() bool { return s == StatusSuccess || s == StatusError }

// Success makes a successful result. It keeps data itself, not a copy; both may
// be empty.
func Success(data map[string]any, message string) Result {
	return Result{Status: StatusSuccess, Data: data, Message: message}
}

// Failure makes the result of a call that failed. message may be empty: what
// went wrong is in err.
func Failure(err *Error, message string) Result {
	return Result{Status: StatusError, Error: err, Message: message}
}

// Validate says what is wrong with a result.
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

// Error says why a call failed. A tool may return it as a Go error: FromError
// finds it again.
type Error struct {
	Type    string         `json:"error_type"`
	Message string         `json:"message"`
	Details map[string]any `json:"details,omitempty"`
	// Recoverable: another attempt, perhaps with other arguments, may succeed.
	Recoverable bool `json:"recoverable"`
}

const (
	typeTool     = "ToolError" // of errors that do not say
	typeNotFound = "NotFoundError"
	unknownError = "Unknown error"
)

func (e *Error) Error() string {
	if e == nil || e.Message == "" {
		return unknownError
	}
	return e.Message
}

// NotFound says that there is no such thing: NotFound("pod", "web-1").
func NotFound(entity, id string) *Error {
	return &Error{Type: typeNotFound, Message: fmt.Sprintf("%s '%s' not found", entity, id)}
}

// FromError turns a Go error into one of a result. An *Error that it wraps keeps
// its type, its details and whether it is recoverable. Neither Go's types nor a
// stack are told: they say nothing to a model, and too much to others.
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
