package activities

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

// The stable types of the errors that activities and agents end with.
const (
	ErrorInvalidRequest    = "InvalidRequest"
	ErrorIterationLimit    = "ToolIterationLimit"
	ErrorEmptyReply        = "EmptyReply"
	ErrorInvalidOutput     = "InvalidOutput"
	ErrorInvalidPlan       = "InvalidPlan" // of tool calls
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
	ErrorStore             = "Store" // the store, or whatever else an activity itself works with, has failed
	// ErrorWorkerCannot: this worker lacks what the work needs, and another may have it.
	ErrorWorkerCannot = "WorkerCannot"
	ErrorWorkerDied   = "WorkerDied" // each worker that has tried it
	ErrorReplaced     = "Replaced"   // Temporal has given the work to another attempt
	ErrorModelTimeout = "ModelTimeout"
	ErrorRateLimited  = "RateLimited"
	// ErrorModelUnavailable is also that of a call that was not made, because the model's circuit is open.
	ErrorModelUnavailable = "ModelUnavailable"
	// ErrorConversation: the provider fails on this conversation again and again, while it answers others.
	ErrorConversation = "ConversationFails"
	// ErrorNotAModel: what answers is no model's server. The base_url of the provider may be wrong.
	ErrorNotAModel = "NotAModel"
	ErrorCancelled = "Cancelled" // of the result of a call that was cut
	ErrorNotQuick  = "NotQuick"  // the call is not one for a workflow task, and was not made there
	// ErrorStoreBehind: the store lacks entries that Temporal's history refers to, so no call is made.
	ErrorStoreBehind = "StoreBehindHistory"
)

// ResultDenied is the error type of the result of a call that was not approved.
const ResultDenied = tool.ErrorPermissionDenied

// ResultUnavailable is the error type of the result of a call whose server was not there.
const ResultUnavailable = tool.ErrorUnavailable

// ResultNotRun is the error type of the result of a call that was not made.
const ResultNotRun = tool.ErrorNotRun

// ResultFailed is the error type of the result of a call that was not carried out as it was asked for.
const ResultFailed = tool.ErrorTool

// errIteration is how a model call ends whose reply was not complete in time.
var errIteration = errors.New("no complete reply within the time of an iteration")

// modelErrors maps the kinds of package llm to stable types, once. tries is how often a
// call is made that fails this way before the next provider is asked. 0 = for as long as
// the plan's timeouts.outage allows, because nothing was paid and nobody is at fault. A
// reply that arrived and is unusable was paid for, so its tries are limited. strike: the
// model is down, or breaks off, so that another one is asked soon if there is one.
var modelErrors = []modelError{
	{errConversation, ErrorConversation, 1, false}, // first: it wraps another kind
	{llm.ErrRateLimited, ErrorRateLimited, 0, false},
	{llm.ErrUnavailable, ErrorModelUnavailable, 0, true},
	{llm.ErrStalled, "StreamStalled", paidTries, true},
	{llm.ErrTruncated, "ReplyTruncated", paidTries, true},
	{llm.ErrMalformed, "ReplyMalformed", paidTries, true},
	{errIteration, ErrorModelTimeout, 2, true},
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

const paidTries = 12

// Tries is how often a model call is made that fails with an error of that type: 0
// = as often as the time allows that an outage is waited for.
func Tries(errorType string) int {
	if row := modelErrorOf(errorType); row.kind != nil {
		return row.tries
	}
	return 1
}

// Strike reports whether a failure of that type is one of those after which, two in a row,
// an agent that has another model asks that.
func Strike(errorType string) bool { return modelErrorOf(errorType).strike }

// modelErrorOf is the row of an error type; zero if it is not about a model.
func modelErrorOf(errorType string) (row modelError) {
	if n := slices.IndexFunc(modelErrors, func(m modelError) bool { return m.name == errorType }); n >= 0 {
		row = modelErrors[n]
	}
	return row
}

// paid: a provider may charge for a call that fails this way, because it had begun to
// work on it. A call that it refused costs nothing.
func paid(errorType string) bool { return Tries(errorType) > 1 && errorType != ErrorNotAModel }

// ModelError reports whether an error type is about the model and not about
// Inquest or a tool.
func ModelError(errorType string) bool {
	return modelErrorOf(errorType).kind != nil || errorType == ErrorEmptyReply
}

// ContentError reports whether an error type is about what the model was told: the same
// words would fail again.
func ContentError(errorType string) bool {
	kinds := []error{errConversation, llm.ErrContextTooLong, llm.ErrContentFiltered, llm.ErrInvalidRequest}
	return slices.Contains(kinds, modelErrorOf(errorType).kind)
}

// modelFailure turns a model's error into Temporal's. The workflow decides whether
// the model is asked again: only it can wait without holding a worker or a clock.
func modelFailure(err error, said Trouble) error {
	name := errorType(err)
	if name == "" {
		return err
	}
	said.RetryAfter = plan.Duration(max(llmError(err).RetryAfter, 0))
	return temporal.NewApplicationErrorWithOptions(err.Error(), name, temporal.ApplicationErrorOptions{
		NonRetryable: true, Details: []any{said}, Category: expected,
	})
}

// expected marks failures that are no mistake of the worker's. A provider's are logged once
// (troubles), and a request's are told to its author. Without the mark, the SDK logs each
// of them as an error of the worker.
const expected = temporal.ApplicationErrorCategoryBenign

// refusal is the failure of a request that cannot be done.
func refusal(err error) error {
	options := temporal.ApplicationErrorOptions{NonRetryable: true, Category: expected}
	return temporal.NewApplicationErrorWithOptions(err.Error(), ErrorInvalidRequest, options)
}

// errorType is the stable type of a model's error; "" = it is none.
func errorType(err error) string {
	for _, row := range modelErrors {
		if errors.Is(err, row.kind) {
			return row.name
		}
	}
	return ""
}

// llmError is what a model's client says besides the kind; the zero one if it is not its error.
func llmError(err error) llm.Error {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return *e
	}
	return llm.Error{}
}

// WorkerWait is how long work waits for a worker that can do it, while others cannot:
// longer than any deploy takes.
const WorkerWait = 24 * time.Hour

// cannot is the failure of work that another worker may be able to do.
func cannot(ctx context.Context, err error) error {
	if time.Since(activity.GetInfo(ctx).ScheduledTime) > WorkerWait {
		return final(ErrorWorkerCannot, err)
	}
	return temporal.NewApplicationError(err.Error(), ErrorWorkerCannot)
}

// ErrTakesLong: a plan takes longer to make than a workflow task may.
var ErrTakesLong = errors.New("functions of the workers' program have to be asked")

// notYet is why a request has no plan that may have one yet; nil = it has one, or err refuses it.
func notYet(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, ErrTakesLong):
		return cannot(ctx, err)
	case errors.Is(err, record.ErrUnavailable), err != nil && ctx.Err() != nil:
		return err
	}
	return nil
}

// final makes an error that is not worth another attempt.
func final(errorType string, err error) error {
	return temporal.NewNonRetryableApplicationError(err.Error(), errorType, nil)
}

// ServerAway is what an error of type ErrorServerUnavailable says besides its text.
type ServerAway struct {
	// Why says in words of ours why the server is not there, if it may be back soon. If Why is empty, waiting does not help.
	Why string `json:"why,omitempty"`
}

// serverUnavailable is for a call that may be made again.
func serverUnavailable(away string, err error) error {
	return temporal.NewApplicationErrorWithOptions(err.Error(), ErrorServerUnavailable, temporal.ApplicationErrorOptions{
		NonRetryable: true, Details: []any{ServerAway{away}}, Category: expected,
	})
}

// storeFailure keeps an activity of a run that was replaced from trying again,
// and gives every error that has no type yet a stable one.
func storeFailure(err error) error {
	switch {
	case err == nil, temporal.IsApplicationError(err), temporal.IsCanceledError(err), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, transcript.ErrStaleRun):
		return final(ErrorStaleRun, err)
	case errors.Is(err, record.ErrNotFound):
		text := err.Error() + ": not in this worker's store, which may be another one than the fleet's"
		return temporal.NewApplicationError(text, ErrorWorkerCannot)
	}
	return temporal.NewApplicationError(err.Error(), ErrorStore)
}

// ended says why the context of an activity has ended; err if it has not. Only its cause
// tells: if somebody has cancelled the activity it ends, else Temporal tries it again.
func ended(ctx context.Context, err error) error {
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

// keep writes down what is in hand even if ctx has ended, and tries again while the store
// is away: a reply was paid for, and a call's effect cannot be had a second time.
func (a *Activities) keep(ctx context.Context, write func(context.Context) error) error {
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
		a.Logger.Warn("the store is away; what is in hand is kept", "next_try", wait, "error", err)
		time.Sleep(wait)
	}
}

const (
	keepTry = 30 * time.Second
	keepFor = 50 * time.Minute // within workflows' grace
)
