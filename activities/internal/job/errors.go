package job

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// ErrConversation reports that the provider keeps failing for this conversation while it answers others.
var ErrConversation = errors.New("the provider fails for this conversation but not for others")

// The stable error types of activities and agents.
const (
	ErrorInvalidRequest    = "InvalidRequest"
	ErrorIterationLimit    = "ToolIterationLimit"
	ErrorEmptyReply        = "EmptyReply"
	ErrorInvalidOutput     = "InvalidOutput"
	ErrorInvalidPlan       = "InvalidPlan" // a plan of tool calls
	ErrorHook              = "HookFailed"
	ErrorMock              = "MockFailed"
	ErrorPrompt            = "PromptFailed"
	ErrorMasking           = "MaskingFailed"
	ErrorTimeout           = "Timeout"
	ErrorStaleRun          = "StaleRun"
	ErrorNotFound          = "NotFound"
	ErrorConfiguration     = "Configuration"
	ErrorWorkerStopping    = "WorkerStopping"
	ErrorServerUnavailable = "ServerUnavailable"
	ErrorStore             = "Store" // the store, or another dependency of the activity, has failed
	// ErrorWorkerCannot: this worker lacks a requirement of the work; another may have it.
	ErrorWorkerCannot = "WorkerCannot"
	ErrorWorkerDied   = "WorkerDied" // every worker that has tried it
	ErrorReplaced     = "Replaced"   // Temporal has given the work to another attempt
	ErrorModelTimeout = "ModelTimeout"
	ErrorRateLimited  = "RateLimited"
	// ErrorModelUnavailable also covers a call that was not made because the model's circuit is open.
	ErrorModelUnavailable = "ModelUnavailable"
	// ErrorConversation: the provider keeps failing for this conversation while it answers others.
	ErrorConversation = "ConversationFails"
	// ErrorNotAModel: the response is not from a model's server. The provider's base_url may be wrong.
	ErrorNotAModel = "NotAModel"
	ErrorCancelled = "Cancelled" // for the result of a call that was cut
	ErrorNotQuick  = "NotQuick"  // the call does not belong in a workflow task and was not made there
	// ErrorStoreBehind: the store lacks entries that Temporal's history refers to, so no call is made.
	ErrorStoreBehind = "StoreBehindHistory"
	// ErrorFailedBefore: the agent had failed, or was stopped, in the investigation that this one was forked from.
	ErrorFailedBefore = "FailedBeforeTheFork"
)

// ResultDenied is the error type of a call that was not approved.
const ResultDenied = tool.ErrorPermissionDenied

// ResultUnavailable is the error type of a call whose server was unavailable.
const ResultUnavailable = tool.ErrorUnavailable

// ResultNotRun is the error type of a call that was not made.
const ResultNotRun = tool.ErrorNotRun

// ResultFailed is the error type of a call that was not carried out as requested.
const ResultFailed = tool.ErrorTool

// ErrIteration is the error of a model call whose reply was not complete in time.
var ErrIteration = errors.New("no complete reply within the iteration timeout")

// modelErrors maps the error kinds of package llm to stable types. tries is how often a call that fails this way is made
// before the next provider is asked. Zero means for as long as the plan's timeouts.outage allows, because nothing was paid
// and nothing is misconfigured. A reply that arrived but is unusable was paid for, so its tries are limited. strike means
// that the model is down or cuts off its replies, so another model is asked soon if there is one.
var modelErrors = []modelError{
	{ErrConversation, ErrorConversation, 1, false}, // must be first: it wraps another kind
	{llm.ErrRateLimited, ErrorRateLimited, 0, false},
	{llm.ErrUnavailable, ErrorModelUnavailable, 0, true},
	{llm.ErrStalled, "StreamStalled", PaidTries, true},
	{llm.ErrTruncated, "ReplyTruncated", PaidTries, true},
	{llm.ErrMalformed, "ReplyMalformed", PaidTries, true},
	{ErrIteration, ErrorModelTimeout, 2, true},
	{llm.ErrNoKey, ErrorWorkerCannot, 0, false},
	{llm.ErrAuth, "CredentialsRefused", 1, false},
	{llm.ErrInvalidRequest, "ModelRequestRefused", 1, false},
	{llm.ErrContextTooLong, "ContextTooLong", 1, false},
	{llm.ErrContentFiltered, "ContentFiltered", 1, false},
	{llm.ErrQuotaExhausted, "QuotaExhausted", 1, false},
	{llm.ErrNotAModel, ErrorNotAModel, 3, true}, // a proxy may be restarting
}

type modelError struct {
	kind   error
	name   string
	tries  int
	strike bool
}

// PaidTries bounds the tries of a call whose replies are paid for but unusable.
const PaidTries = 12

// Tries returns how often a model call that fails with this error type is made. Zero means as often as the outage
// timeout allows.
func Tries(errorType string) int {
	if row := modelErrorOf(errorType); row.kind != nil {
		return row.tries
	}
	return 1
}

// Strike reports whether a failure of this type counts toward switching models: after two in a row, an agent that has
// another model uses that.
func Strike(errorType string) bool { return modelErrorOf(errorType).strike }

// modelErrorOf returns the row of an error type; zero if the error is not about a model.
func modelErrorOf(errorType string) (row modelError) {
	if n := slices.IndexFunc(modelErrors, func(m modelError) bool { return m.name == errorType }); n >= 0 {
		row = modelErrors[n]
	}
	return row
}

// Paid reports whether a provider may charge for a call that fails this way, because it had begun to work on it. A call
// that it refused costs nothing.
func Paid(errorType string) bool { return Tries(errorType) > 1 && errorType != ErrorNotAModel }

// ModelError reports whether an error type is about the model rather than Inquest or a tool.
func ModelError(errorType string) bool {
	return modelErrorOf(errorType).kind != nil || errorType == ErrorEmptyReply
}

// ContentError reports whether an error type is about the content sent to the model, so that the same content would fail
// again.
func ContentError(errorType string) bool {
	kinds := []error{ErrConversation, llm.ErrContextTooLong, llm.ErrContentFiltered, llm.ErrInvalidRequest}
	return slices.Contains(kinds, modelErrorOf(errorType).kind)
}

// ModelFailure turns a model's error into a Temporal error. The workflow decides whether to call the model again,
// because only it can wait without holding a worker or a clock.
func ModelFailure(err error, said Trouble) error {
	name := ErrorType(err)
	if name == "" {
		return err
	}
	said.RetryAfter = plan.Duration(max(LLMError(err).RetryAfter, 0))
	return temporal.NewApplicationErrorWithOptions(err.Error(), name, temporal.ApplicationErrorOptions{
		NonRetryable: true, Details: []any{said}, Category: expected,
	})
}

// expected marks failures that are not the worker's fault. A provider's failures are logged once (troubles), and a
// request's failures go to its author. Without the mark, the SDK logs each of them as an error of the worker.
const expected = temporal.ApplicationErrorCategoryBenign

// ErrorType returns the stable type of a model's error; "" if it is not a model's error.
func ErrorType(err error) string {
	for _, row := range modelErrors {
		if errors.Is(err, row.kind) {
			return row.name
		}
	}
	return ""
}

// LLMError returns the details that a model's client gave; zero if it is not a client's error.
func LLMError(err error) llm.Error {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return *e
	}
	return llm.Error{}
}

// WorkerWait is how long work waits for a worker that can do it while others cannot. It is longer than any deployment
// takes.
const WorkerWait = 24 * time.Hour

// Cannot is the failure of work that another worker may be able to do.
func Cannot(ctx context.Context, err error) error {
	if time.Since(activity.GetInfo(ctx).ScheduledTime) > WorkerWait {
		return Final(ErrorWorkerCannot, err)
	}
	return temporal.NewApplicationError(err.Error(), ErrorWorkerCannot)
}

// Final makes an error that must not be retried.
func Final(errorType string, err error) error {
	return temporal.NewNonRetryableApplicationError(err.Error(), errorType, nil)
}

// ServerAway holds the details of an error of type ErrorServerUnavailable.
type ServerAway struct {
	// Why explains in our own words why the server is unavailable, if it may be back soon. If Why is empty, waiting does not
	// help.
	Why string `json:"why,omitempty"`
	// Pending and Running: see tool.ServerError. Output is the last line of its standard error, masked.
	Pending plan.Duration `json:"pending,omitempty"`
	Running bool          `json:"running,omitempty"`
	Output  string        `json:"output,omitempty"`
	// Sent is how many requests of a call may have reached the server, in this attempt and earlier ones.
	Sent int `json:"sent,omitempty"`
}

// ServerUnavailable is the error of a call that may be made again.
func ServerUnavailable(away ServerAway, err error) error {
	return temporal.NewApplicationErrorWithOptions(err.Error(), ErrorServerUnavailable, temporal.ApplicationErrorOptions{
		NonRetryable: true, Details: []any{away}, Category: expected,
	})
}

// StoreFailure stops retries of an activity whose run was replaced, and gives every untyped error a stable type.
func StoreFailure(err error) error {
	if behind, ok := errors.AsType[*transcript.BehindError](err); ok {
		return lostEntries(behind)
	}
	switch {
	case err == nil, temporal.IsApplicationError(err), temporal.IsCanceledError(err), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, transcript.ErrStaleRun):
		return Final(ErrorStaleRun, err)
	case errors.Is(err, record.ErrNotFound):
		text := err.Error() + ": not in this worker's store. Check that all workers use the same store"
		return temporal.NewApplicationError(text, ErrorWorkerCannot)
	}
	return temporal.NewApplicationError(err.Error(), ErrorStore)
}

// Refused reports whether the store refuses to write for the run, however often it is asked.
func Refused(err error) bool {
	_, behind := errors.AsType[*transcript.BehindError](err)
	return behind || errors.Is(err, transcript.ErrStaleRun)
}

// Ended returns why an activity's context has ended, or err if it has not. Only the cause tells whether the activity was
// cancelled, which ends it, or whether Temporal should retry it.
func Ended(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	cause := context.Cause(ctx)
	if temporal.IsCanceledError(cause) {
		return temporal.NewCanceledError()
	}
	if _, replaced := errors.AsType[errReplaced](cause); replaced {
		return temporal.NewApplicationError("another attempt has taken over: "+cause.Error(), ErrorReplaced)
	}
	select {
	case <-activity.GetWorkerStopChannel(ctx):
		return temporal.NewApplicationError("the worker is stopping", ErrorWorkerStopping)
	default:
		return ctx.Err()
	}
}

// Keep writes a result even if ctx has ended, and retries while the store is unavailable: a reply was paid for, and a
// call's effect cannot be repeated.
func (a *Worker) Keep(ctx context.Context, write func(context.Context) error) error {
	until := time.Now().Add(keepFor)
	defer setWaiting(ctx, false)
	for wait := time.Second; ; wait = min(2*wait, keepTry) {
		trying, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTry)
		err := write(trying)
		cancel()
		away := errors.Is(err, record.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded)
		if !away || time.Now().Add(wait).After(until) {
			return err
		}
		setWaiting(ctx, true)
		a.Logger.Warn("the store is unavailable; the worker keeps the result and retries", "next_try", wait, "error", err)
		time.Sleep(wait)
	}
}

const (
	keepTry = 30 * time.Second
	keepFor = 50 * time.Minute // within the workflows' grace period
)
