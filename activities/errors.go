package activities

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// The stable types of the errors that activities and agents end with.
const (
	ErrorInvalidRequest    = "InvalidRequest"
	ErrorIterationLimit    = "ToolIterationLimit"
	ErrorEmptyReply        = "EmptyReply"
	ErrorInvalidOutput     = "InvalidOutput"
	ErrorInvalidPlan       = "InvalidPlan" // of tool calls
	ErrorHook              = "HookFailed"
	ErrorMock              = "MockFailed"
	ErrorMasking           = "MaskingFailed"
	ErrorTimeout           = "Timeout"
	ErrorStaleRun          = "StaleRun"
	ErrorNotFound          = "NotFound"
	ErrorConfiguration     = "Configuration"
	ErrorWorkerStopping    = "WorkerStopping"
	ErrorServerUnavailable = "ServerUnavailable"
	ErrorStore             = "Store" // the store, or whatever else an activity itself works with, has failed
)

// ResultDenied is the error type of the result of a call that was not approved.
const ResultDenied = tool.ErrorPermissionDenied

// ResultNotRun is the error type of the result of a call that was not made.
const ResultNotRun = tool.ErrorNotRun

// modelErrors maps the kinds of package llm to stable types, once. Final kinds
// are not tried again: the next provider's turn has come.
var modelErrors = []struct {
	kind  error
	name  string
	final bool
}{
	{llm.ErrRateLimited, "RateLimited", false},
	{llm.ErrUnavailable, "ModelUnavailable", false},
	{llm.ErrStalled, "StreamStalled", false},
	{llm.ErrTruncated, "ReplyTruncated", false},
	{llm.ErrMalformed, "ReplyMalformed", false},
	{llm.ErrAuth, "CredentialsRefused", true},
	{llm.ErrInvalidRequest, "ModelRequestRefused", true},
	{llm.ErrContextTooLong, "ContextTooLong", true},
	{llm.ErrContentFiltered, "ContentFiltered", true},
	{llm.ErrQuotaExhausted, "QuotaExhausted", true},
}

// ModelError reports whether an error type is about the model and not about
// Inquest or a tool.
func ModelError(errorType string) bool {
	for _, row := range modelErrors {
		if row.name == errorType {
			return true
		}
	}
	return errorType == ErrorEmptyReply
}

// ContentError reports whether an error type is about what a model was told: it
// would be the same for the same words again.
func ContentError(errorType string) bool {
	for _, row := range modelErrors {
		if row.name == errorType {
			return errors.Is(row.kind, llm.ErrContextTooLong) || errors.Is(row.kind, llm.ErrContentFiltered) || errors.Is(row.kind, llm.ErrInvalidRequest)
		}
	}
	return false
}

// modelFailure turns a model's error into Temporal's.
func modelFailure(err error) error {
	for _, row := range modelErrors {
		if errors.Is(err, row.kind) {
			return temporal.NewApplicationErrorWithOptions(err.Error(), row.name, temporal.ApplicationErrorOptions{
				NonRetryable: row.final, NextRetryDelay: retryAfter(err),
			})
		}
	}
	return err
}

// longestWait bounds what a provider may ask us to wait.
const longestWait = 10 * time.Minute

func retryAfter(err error) time.Duration {
	var e *llm.Error
	if errors.As(err, &e) {
		return min(e.RetryAfter, longestWait)
	}
	return 0
}

// final makes an error that is not worth another attempt.
func final(errorType string, err error) error {
	return temporal.NewNonRetryableApplicationError(err.Error(), errorType, nil)
}

// storeFailure keeps an activity of a run that was replaced from trying again,
// and gives every error that has no type yet a stable one.
func storeFailure(err error) error {
	switch {
	case err == nil, temporal.IsApplicationError(err), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, transcript.ErrStaleRun):
		return final(ErrorStaleRun, err)
	case errors.Is(err, record.ErrNotFound):
		return final(ErrorNotFound, err)
	}
	return temporal.NewApplicationError(err.Error(), ErrorStore)
}

// ended tells a call that was cancelled from one that failed. A worker that
// stops makes an attempt fail, not the activity: another worker goes on.
func ended(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	select {
	case <-activity.GetWorkerStopChannel(ctx):
		return temporal.NewApplicationError("the worker is stopping", ErrorWorkerStopping)
	default:
		return ctx.Err()
	}
}
