package inquest

import (
	"context"
	"encoding/json"

	"github.com/inquest-dev/inquest/internal/kit/toolresult"
)

// Result is for tools that return more than data: a message, or a failure. A Result with only a message is shown to the
// model as plain text.
type Result struct {
	Status string // "success", or "error" if and only if Error is set
	Data   map[string]any
	Error  *ToolError
	// Message is for people, Signal for the caller.
	Message, Signal string
}

// ToolError is a tool's error with its type and whether a retry may help.
type ToolError struct {
	Type    string // empty means ToolError
	Message string
	Details map[string]any
	// Recoverable means that another attempt, perhaps with other arguments, may succeed.
	Recoverable bool
}

// Success returns a successful result. Data and message may be empty.
func Success(data map[string]any, message string) Result {
	return Result{Status: string(toolresult.StatusSuccess), Data: data, Message: message}
}

// NotFound returns the error of a tool for a missing entity, as in NotFound("pod", "web-1").
func NotFound(entity, id string) *ToolError { return (*ToolError)(toolresult.NotFound(entity, id)) }

func (e *ToolError) Error() string { return (*toolresult.Error)(e).Error() }

// As lets Inquest find the error among wrapped errors.
func (e *ToolError) As(target any) bool {
	own, ok := target.(**toolresult.Error)
	if ok {
		*own = (*toolresult.Error)(e)
	}
	return ok
}

// internal converts the result to the internal type.
func (r Result) internal() toolresult.Result {
	return toolresult.Result{
		Status: toolresult.Status(r.Status), Data: r.Data, Error: (*toolresult.Error)(r.Error), Message: r.Message, Signal: r.Signal,
	}
}

// run calls Run and converts a Result.
func (t Tool) run(ctx context.Context, arguments json.RawMessage) (any, error) {
	value, err := t.Run(ctx, arguments)
	switch r := value.(type) {
	case Result:
		value = r.internal()
	case *Result:
		if r != nil {
			value = r.internal()
		}
	}
	return value, err
}
