package toolresult

import (
	"cmp"
	"errors"
	"fmt"
)

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
