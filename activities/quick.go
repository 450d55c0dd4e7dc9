package activities

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// A call that takes milliseconds is made within the workflow task, by CallTool or Generate as a
// local activity (docs/adr/0015, 0028). Which calls are quick is measured: calls of tools that only read, and
// calls of models whose entry asks for it. A call that may change something is always a regular activity.

// quick: the tool, or the model (timesOf), is known to answer within that time; 0 = none is quick.
func (j *job) quick(ctx context.Context, name string, under plan.Duration) bool {
	return j.Times != nil && under > 0 && j.known.of(ctx, j.Times, name).Within(under.D())
}

// errNotQuick is the cause of every notQuick: it says nothing about the call, so a regular
// attempt does not take it for the call's end.
var errNotQuick = errors.New("left to a regular attempt")

// notQuick is how a local attempt ends that leaves the call to a regular one.
func notQuick(errorType, why string) error {
	return temporal.NewApplicationErrorWithOptions(why, errorType, temporal.ApplicationErrorOptions{
		NonRetryable: true, Category: expected, Cause: errNotQuick,
	})
}

// makeCall makes a call as the activity that it runs as. A local one leaves it after a second; a regular
// one first looks whether this worker is still at it, and attends to that. key tells the calls of
// a run apart. known is false where another worker may still be at it.
func makeCall[Out any](
	ctx context.Context, a *Activities, key string, call func(ctx context.Context, known bool) (Out, error),
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

// quickly makes a call within a workflow task. If the call takes long, it goes on without
// the task, until a regular attempt attends to it.
func quickly[Out any](ctx context.Context, a *Activities, key string, call func(context.Context) (Out, error)) (out Out, err error) {
	alone, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	r := &running{cut: cut, over: make(chan struct{}), waits: func() bool { return waits(alone) != "" }}
	a.underway.made.Go(func() {
		defer cut(nil)
		defer a.underway.end(key, r, cmp.Or(a.Abandoned, Abandoned))
		r.err = errors.New("the call's goroutine was ended") // which stands if it is
		defer func() {
			if p := recover(); p != nil { // the SDK sees to panics of its own goroutines alone
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
		if !r.attended.Load() { // others decide by now what became of it
			cut(errReplaced{errors.New("nobody attends to the call")})
		}
	})
	return out, notQuick(ErrorReplaced, "the call takes long, and goes on as a regular activity")
}

// leaveTrace refuses a call that another attempt has begun within a workflow task: its worker may
// have died of it. After 20 ms it writes an empty live tail, which tells the next attempt the same.
func (a *Activities) leaveTrace(ctx context.Context, in GenerateIn) (stop func(), err error) {
	if !activity.GetInfo(ctx).IsLocalActivity {
		return func() {}, nil
	}
	begun, err := a.Transcripts.HasLive(ctx, in.trace(ctx))
	switch {
	case err != nil:
		return nil, storeFailure(err)
	case begun:
		return nil, notQuick(ErrorNotQuick, "another attempt has begun the call")
	case a.underway.deserted(): // the models have become slow, and regular activities wait for a place
		return nil, notQuick(ErrorNotQuick, "a call that has become slow waits for its regular activity")
	}
	late := time.AfterFunc(toldLocally, func() {
		if err := a.Transcripts.SetLive(ctx, in.trace(ctx)); err != nil && ctx.Err() == nil {
			a.Logger.Warn("a model call has left no trace: if its worker dies of it, nobody counts that",
				"execution", in.Ref.Execution, "error", err)
		}
	})
	return func() { late.Stop() }, nil
}

// trace is an empty live tail of the attempt.
func (in GenerateIn) trace(ctx context.Context) transcript.Live {
	return transcript.Live{Scope: in.Ref.scope(), Iteration: in.Iteration, Attempt: in.attempt(ctx)}
}

// attempt numbers the attempts at an iteration's reply. A local one comes before the regular ones of its try.
func (in GenerateIn) attempt(ctx context.Context) int {
	n := in.Try << 16
	if info := activity.GetInfo(ctx); !info.IsLocalActivity {
		n += int(info.Attempt)
	}
	return n
}

// awaited: an attempt on another worker may still bring the reply. Temporal's clock alone says how long it has been
// waited for: attempts that only wait are a second apart.
func (g *generation) awaited(ctx context.Context, log []transcript.Entry) bool {
	failed := func(e transcript.Entry) bool { return e.Key == transcript.TryKey(g.in.Iteration, g.in.Try) }
	info := activity.GetInfo(ctx)
	waited := max(info.StartedTime.Sub(info.ScheduledTime), time.Duration(info.Attempt-1)*time.Second)
	return g.in.Begun && waited < cmp.Or(g.Abandoned, Abandoned) &&
		!slices.ContainsFunc(log, failed)
}

// A regular attempt is asked what its workflow's history holds. A local one is not: if its workflow
// task is lost, the next one may ask something else, because people have spoken or time has passed,
// while the reply is in the journal. So a reply of a local attempt says by its writer what was asked.

const localWriter = "local/"

func (in GenerateIn) writer(w transcript.Writer) transcript.Writer {
	if attempt, local := strings.CutPrefix(w.ActivityID, localWriter); local {
		w.ActivityID = localWriter + in.question() + "/" + attempt
	}
	return w
}

// isOther reports whether what is stored answers another question.
func (in GenerateIn) isOther(stored transcript.Entry) bool {
	attempt, local := strings.CutPrefix(stored.Writer.ActivityID, localWriter)
	question, _, _ := strings.Cut(attempt, "/")
	return local && question != in.question()
}

// question is a digest of what may differ.
func (in GenerateIn) question() string {
	asked, err := json.Marshal(GenerateIn{Conclude: in.Conclude, Inputs: in.Inputs})
	if err != nil {
		return "" // there is nothing in it that could not be encoded
	}
	digest := sha256.Sum256(asked)
	return hex.EncodeToString(digest[:8])
}

// underWayElsewhere is how a regular attempt ends while the call may be under way on another worker.
func underWayElsewhere() error {
	options := temporal.ApplicationErrorOptions{NextRetryDelay: time.Second, Category: expected}
	return temporal.NewApplicationErrorWithOptions("the call may be under way on another worker", ErrorReplaced, options)
}

// ready: this worker can make the call at once. To open a session takes long at times.
func (c *toolCall) ready(name string) bool {
	server, _ := tool.Split(name)
	return server == "" || c.Sessions == nil || c.Sessions.Open(server, c.ref.session())
}
