package inquest

import (
	"context"
	"encoding/json"

	"github.com/inquest-dev/inquest/internal/toolresult"
)

// Result is what a tool returns if it wants to say more than data: a message, or
// that it failed. One that is only a message is shown to the model as plain text.
type Result struct {
	Status string // "success", or "error" if and only if Error is given
	Data   map[string]any
	Error  *ToolError
	// Message is for people, Signal for whoever made the call.
	Message, Signal string
}

// ToolError is an error of a tool that says what kind it is, and whether trying
// again may help.
type ToolError struct {
	Type    string // "" = ToolError
	Message string
	Details map[string]any
	// Recoverable: another attempt, perhaps with other arguments, may succeed.
	Recoverable bool
}

// Success makes a successful result; data and message may be empty.
func Success(data map[string]any, message string) Result {
	return Result{Status: string(toolresult.StatusSuccess), Data: data, Message: message}
}

// NotFound is the error of a tool that did not find what it was asked for:
// NotFound("pod", "web-1").
func NotFound(entity, id string) *ToolError { return (*ToolError)(toolresult.NotFound(entity, id)) }

func (e *ToolError) Error() string { return (*toolresult.Error)(e).Error() }

// As lets Inquest find the error in those that wrap it.
func (e *ToolError) As(target any) bool {
	own, ok := target.(**toolresult.Error)
	if ok {
		*own = (*toolresult.Error)(e)
	}
	return ok
}

// internal is the result as the rest of Inquest knows it.
func (r Result) internal() toolresult.Result {
	return toolresult.Result{
		Status: toolresult.Status(r.Status), Data: r.Data, Error: (*toolresult.Error)(r.Error), Message: r.Message, Signal: r.Signal,
	}
}

// run is the tool's Run for the worker.
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
