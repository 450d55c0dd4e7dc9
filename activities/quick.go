package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/internal/tool"
)

// A call that takes milliseconds is made within the workflow task, by CallTool as a local
// activity (docs/adr/0015). Which calls are quick is measured.

// quick: the tool is known to answer soon.
func (j *job) quick(ctx context.Context, name string) bool {
	under := j.agent.Tools.QuickUnder.D()
	return j.Times != nil && under > 0 && j.known.of(ctx, j.Times, name).Within(under)
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

// callQuickly makes a call within a workflow task. If the call takes long, it goes on without
// the task, until a regular attempt attends to it.
func (a *Activities) callQuickly(ctx context.Context, in CallToolIn) (CallToolOut, error) {
	alone, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	r := &running{cut: cut, over: make(chan struct{}), waits: func() bool { return waits(alone) != "" }}
	go func() {
		defer cut(nil)
		defer a.underway.end(ctx, in, r)
		r.err = errors.New("the call's goroutine was ended") // which stands if it is
		defer func() {
			if p := recover(); p != nil { // the SDK sees to panics of its own goroutines alone
				activity.GetLogger(ctx).Error("a call panicked", "kind", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
				r.err = fmt.Errorf("the call panicked: %T", p)
			}
		}()
		r.out, r.err = a.callTool(alone, in)
	}()
	select {
	case <-r.over:
		return r.out, r.err
	case <-ctx.Done():
		cut(context.Cause(ctx))
		return CallToolOut{}, ctx.Err()
	case <-time.After(cmp.Or(a.Quick, quickTime)):
	}
	a.underway.begin(ctx, in, r)
	time.AfterFunc(cmp.Or(a.Abandoned, Abandoned), func() {
		if !r.attended.Load() { // others decide by now what became of it
			cut(errReplaced{errors.New("nobody attends to the call")})
		}
	})
	return CallToolOut{}, notQuick(ErrorReplaced, "the call takes long, and goes on as a regular activity")
}

// ready: this worker can make the call at once. To open a session takes long at times.
func (c *toolCall) ready(name string) bool {
	server, _ := tool.Split(name)
	return server == "" || c.Sessions == nil || c.Sessions.Open(server, c.ref.session())
}
