package workflows

import (
	"errors"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
)

// A workflow that did not complete ends in Temporal with its true status (failed or
// cancelled). Its result travels in the error's details, so the parent keeps it. These
// two functions write and read it.

// The stable types of the errors that workflows end with.
const (
	ErrorFailed   = "Failed"
	ErrorTimedOut = "TimedOut"
)

// ending converts a result to the return values of a workflow function.
func ending[R any](status agent.Status, result R, message, errorType string) (R, error) {
	switch status {
	case agent.StatusCancelled:
		return result, temporal.NewCanceledError(result)
	case agent.StatusTimedOut:
		return result, closing(message, ErrorTimedOut, result)
	case agent.StatusFailed:
		if errorType == "" {
			errorType = ErrorFailed
		}
		return result, closing(message, errorType, result)
	}
	return result, nil
}

func closing(message, errorType string, details any) error {
	return temporal.NewApplicationErrorWithOptions(message, errorType, temporal.ApplicationErrorOptions{
		NonRetryable: true,
		Details:      []any{details},
	})
}

// outcomeOf reads the result of an ended child, even of a failed one. ok is
// false if the child returned none: it was terminated, or never started.
func outcomeOf[R any](ctx workflow.Context, child workflow.Future) (result R, ok bool, err error) {
	err = child.Get(ctx, &result)
	if err == nil {
		return result, true, nil
	}
	var cancelled *temporal.CanceledError
	var failed *temporal.ApplicationError
	switch {
	case errors.As(err, &failed) && failed.HasDetails():
		ok = failed.Details(&result) == nil
	case errors.As(err, &cancelled) && cancelled.HasDetails():
		ok = cancelled.Details(&result) == nil
	}
	return result, ok, err
}

// failure names an activity's error: its stable type, and its text without
// Temporal's wrapping.
func failure(err error) (errorType, message string) {
	var app *temporal.ApplicationError
	var timeout *temporal.TimeoutError
	switch {
	case errors.As(err, &app):
		return app.Type(), app.Message()
	case errors.As(err, &timeout) && timeout.TimeoutType() == enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START:
		return activities.ErrorTimeout, "no worker polls the task queue: the call was not picked up in time"
	case errors.As(err, &timeout):
		return activities.ErrorTimeout, "no answer in time (" + timeout.TimeoutType().String() + ")"
	}
	return ErrorFailed, err.Error()
}
