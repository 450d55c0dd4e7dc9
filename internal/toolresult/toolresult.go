// Package toolresult is the contract between tools and whoever reads what they
// return: one shape for success and failure, and a way to bring into it what
// tools return in shapes of their own (spec: tools, "Results"). What a model is
// shown of a call, with its artifacts, is tool.Result.
package toolresult

import (
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
