package job

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// A call that takes milliseconds is made within the workflow task, by CallTool or Generate as a local activity
// (docs/adr/0015, 0028). Which calls are quick is measured, for tools that only read and for models whose entry asks for
// it. A call that may change something is always a regular activity.

// Quick reports whether the tool, or the model (TimesOf), is known to answer within that time; zero means none is quick.
func (j *Job) Quick(ctx context.Context, name string, under plan.Duration) bool {
	return j.Times != nil && under > 0 && j.known.of(ctx, j.Times, name).Within(under.D())
}

// errNotQuick is the cause of every NotQuick error. It says nothing about the call, so a regular attempt does not treat
// it as the call's end.
var errNotQuick = errors.New("left to a regular attempt")

// NotQuick is the error of a local attempt that leaves the call to a regular one.
func NotQuick(errorType, why string) error {
	return temporal.NewApplicationErrorWithOptions(why, errorType, temporal.ApplicationErrorOptions{
		NonRetryable: true, Category: expected, Cause: errNotQuick,
	})
}

// MakeCall makes a call in the current activity. A local activity hands the call over after a second. A regular one
// first checks whether this worker is still making the call, and if so takes it over. key identifies a call within a
// run. known is false if another worker may still be making the call.
func MakeCall[Out any](
	ctx context.Context, a *Worker, key string, call func(ctx context.Context, known bool) (Out, error),
) (out Out, err error) {
	info := activity.GetInfo(ctx)
	key = info.WorkflowExecution.RunID + "/" + key
	if info.IsLocalActivity {
		return quickly(ctx, a, key, func(ctx context.Context) (Out, error) { return call(ctx, true) })
	}
	r := a.underway.find(key)
	if r != nil {
		if said, first, err := r.attend(ctx); first && !errors.Is(err, errNotQuick) {
			out, _ = said.(Out)
			return out, err
		}
	}
	return call(ctx, r != nil)
}

// quickly makes a call within a workflow task. If the call takes long, it continues without the task, until a regular
// attempt attends to it.
func quickly[Out any](ctx context.Context, a *Worker, key string, call func(context.Context) (Out, error)) (out Out, err error) {
	alone, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	r := &running{cut: cut, over: make(chan struct{}), waits: func() bool { return waits(alone) != "" }}
	a.underway.made.Go(func() {
		defer cut(nil)
		defer a.underway.end(key, r, cmp.Or(a.Abandoned, Abandoned))
		r.err = errors.New("the call's goroutine exited") // kept if the goroutine is ended
		defer func() {
			if p := recover(); p != nil { // the SDK recovers panics only in its own goroutines
				activity.GetLogger(ctx).Error("a call panicked", "kind", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
				r.err = fmt.Errorf("the call panicked: %T", p)
			}
		}()
		r.out, r.err = call(alone)
	})
	select {
	case <-r.over:
		out, _ = r.out.(Out)
		return out, r.err
	case <-ctx.Done():
		cut(context.Cause(ctx))
		return out, ctx.Err()
	case <-time.After(cmp.Or(a.Quick, quickTime)):
	}
	if !a.underway.begin(key, r) {
		out, _ = r.out.(Out)
		return out, r.err
	}
	time.AfterFunc(cmp.Or(a.Abandoned, Abandoned), func() {
		if !r.attended.Load() { // by now, other attempts decide the outcome
			cut(errReplaced{errors.New("no activity is waiting for the call")})
		}
	})
	return out, NotQuick(ErrorReplaced, "the call takes too long for a local activity and continues as a regular one")
}

// LeaveTrace refuses a call that another attempt has begun within a workflow task, because it may have crashed that
// attempt's worker. After 20 ms it writes an empty live tail, which warns the next attempt in the same way.
func (a *Worker) LeaveTrace(ctx context.Context, in GenerateIn) (stop func(), err error) {
	if !activity.GetInfo(ctx).IsLocalActivity {
		return func() {}, nil
	}
	begun, err := a.Transcripts.HasLive(ctx, in.Trace(ctx))
	switch {
	case err != nil:
		return nil, StoreFailure(err)
	case begun:
		return nil, NotQuick(ErrorNotQuick, "another attempt has started the call")
	case a.underway.deserted(): // the models have become slow, and regular activities wait for a slot
		return nil, NotQuick(ErrorNotQuick, "an earlier slow call is waiting for its regular activity")
	}
	late := time.AfterFunc(ShowAfterInTask, func() {
		// The end of the call does not interrupt it: PostgreSQL's driver would close the connection, and a new one costs much more than
		// the write. The store ignores a trace that comes after the reply.
		writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), Abandoned)
		defer cancel()
		if err := a.Transcripts.SetLive(writing, in.Trace(ctx)); err != nil && ctx.Err() == nil {
			a.Logger.Warn("the start of a model call was not recorded: if the call crashes the worker, the crash is not counted",
				"execution", in.Ref.Execution, "error", err)
		}
	})
	return func() { late.Stop() }, nil
}

// Trace returns an empty live tail of the attempt.
func (in GenerateIn) Trace(ctx context.Context) transcript.Live {
	return transcript.Live{Scope: in.Ref.Scope(), Iteration: in.Iteration, Attempt: in.Attempt(ctx)}
}

// Attempt numbers the attempts at an iteration's reply. A local attempt comes before the regular attempts of its try.
func (in GenerateIn) Attempt(ctx context.Context) int {
	n := in.Try << 16
	if info := activity.GetInfo(ctx); !info.IsLocalActivity {
		n += int(info.Attempt)
	}
	return n
}

// A regular attempt gets its input from the workflow's history. A local attempt does not: if its workflow task is lost,
// the next one may have other input, because messages or time have passed, while the reply is in the journal. So the
// writer of a local attempt's reply identifies its input.

const localWriter = "local/"

// Writer returns the writer of this input's rows. For a local attempt it identifies the input.
func (in GenerateIn) Writer(w transcript.Writer) transcript.Writer {
	if attempt, local := strings.CutPrefix(w.ActivityID, localWriter); local {
		w.ActivityID = localWriter + in.Question() + "/" + attempt
	}
	return w
}

// IsOther reports whether the stored reply answers other input.
func (in GenerateIn) IsOther(stored transcript.Entry) bool {
	attempt, local := strings.CutPrefix(stored.Writer.ActivityID, localWriter)
	question, _, _ := strings.Cut(attempt, "/")
	return local && question != in.Question()
}

// Question is a digest of the input that may differ.
func (in GenerateIn) Question() string {
	asked, err := json.Marshal(GenerateIn{Conclude: in.Conclude, Inputs: in.Inputs})
	if err != nil {
		return "" // nothing in it can fail to encode
	}
	digest := sha256.Sum256(asked)
	return hex.EncodeToString(digest[:8])
}

// UnderWayElsewhere is the error of a regular attempt while the call may be running on another worker.
func UnderWayElsewhere() error {
	options := temporal.ApplicationErrorOptions{NextRetryDelay: time.Second, Category: expected}
	return temporal.NewApplicationErrorWithOptions("the call may be under way on another worker", ErrorReplaced, options)
}
