package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
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

// quickTime is how long a workflow task waits for a call, and with it all who signal the workflow.
const quickTime = time.Second

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
	time.AfterFunc(cmp.Or(a.Abandoned, abandoned), func() {
		if !r.attended.Load() { // others decide by now what became of it
			cut(errReplaced{errors.New("nobody attends to the call")})
		}
	})
	return CallToolOut{}, notQuick(ErrorReplaced, "the call takes long, and goes on as a regular activity")
}

// running is a call that has outlived its local attempt.
type running struct {
	cut   context.CancelCauseFunc
	waits func() bool // for the store
	// attended: a regular attempt has found it.
	attended atomic.Bool
	over     chan struct{} // closed when the fields below are set
	out      CallToolOut
	err      error
}

// attend does for the call what a regular attempt does: it waits, cuts it when it is cancelled,
// and says what it waits for.
func (r *running) attend(ctx context.Context) (CallToolOut, error) {
	r.attended.Store(true)
	ticker := time.NewTicker(beatEvery)
	defer ticker.Stop()
	for ended := ctx.Done(); ; {
		select {
		case <-r.over:
			return r.out, r.err
		case <-ended:
			r.cut(context.Cause(ctx))
			ended = nil // but it is waited for what it still writes
		case <-ticker.C:
			setWaiting(ctx, r.waits())
		}
	}
}

// underway is this worker's calls that have outlived their local attempts.
type underway struct {
	mu    sync.Mutex
	calls map[string]*running
}

func (u *underway) key(ctx context.Context, in CallToolIn) string {
	return fmt.Sprint(activity.GetInfo(ctx).WorkflowExecution.RunID, "/", in.Ref.Execution, "/", in.Iteration, "/", in.Call)
}

func (u *underway) begin(ctx context.Context, in CallToolIn, r *running) {
	u.mu.Lock()
	defer u.mu.Unlock()
	select {
	case <-r.over:
		return // meanwhile; the journal has its result
	default:
	}
	if u.calls == nil {
		u.calls = map[string]*running{}
	}
	u.calls[u.key(ctx, in)] = r
}

func (u *underway) end(ctx context.Context, in CallToolIn, r *running) {
	u.mu.Lock()
	defer u.mu.Unlock()
	close(r.over)
	if key := u.key(ctx, in); u.calls[key] == r {
		delete(u.calls, key)
	}
}

func (u *underway) find(ctx context.Context, in CallToolIn) *running {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.calls[u.key(ctx, in)]
}

// ready: this worker can make the call at once. To open a session takes long at times.
func (c *toolCall) ready(name string) bool {
	server, _ := tool.Split(name)
	return server == "" || c.Sessions == nil || c.Sessions.Open(server, c.ref.session())
}

// learn takes in how long the call took.
func (c *toolCall) learn(ctx context.Context) {
	under := c.agent.Tools.QuickUnder.D()
	if c.Times == nil || under == 0 || c.took == 0 || c.call.Queue != "" || c.call.Own {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timesTimeout)
	defer cancel()
	c.known.add(ctx, c.Times, c.call.Name, c.took, under)
}

const (
	timesTimeout = 2 * time.Second
	// timesEvery is how often a worker compares what it knows of a tool with the store: by the
	// way, when the tool is called. What changes the verdict is told sooner.
	timesEvery, verdictEvery = 10 * time.Second, time.Second
)

// knownTimes is what a worker knows of how long tools take.
type knownTimes struct {
	mu    sync.Mutex
	tools map[string]*knownTime
}

type knownTime struct {
	all   tool.Times // what the store had, and what this worker has seen since
	seen  tool.Times // by this worker alone, and not in the store yet
	calls int        // in seen
	asked time.Time  // the store
}

// of is what is known of a tool.
func (k *knownTimes) of(ctx context.Context, store Times, name string) tool.Times {
	t, due := k.look(name, nil)
	if !due {
		return t.all
	}
	ctx, cancel := context.WithTimeout(ctx, timesTimeout)
	defer cancel()
	return k.sync(ctx, store, name, t)
}

// add takes in one call.
func (k *knownTimes) add(ctx context.Context, store Times, name string, took, under time.Duration) {
	t, due := k.look(name, func(t *knownTime) (changed bool) {
		before := t.all.Within(under)
		t.all.Add(took)
		t.seen.Add(took)
		t.calls++
		return before != t.all.Within(under)
	})
	if due {
		k.sync(ctx, store, name, t)
	}
}

// look returns what is known, and whether it is time to compare that with the store, which
// the caller then has to do: nobody else does.
func (k *knownTimes) look(name string, change func(*knownTime) (changed bool)) (t knownTime, due bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	known := k.tools[name]
	if known == nil {
		if k.tools == nil {
			k.tools = map[string]*knownTime{}
		}
		known = &knownTime{}
		k.tools[name] = known
	}
	every := timesEvery
	if change != nil && change(known) {
		every = verdictEvery
	}
	t, due = *known, time.Since(known.asked) >= every
	if due {
		known.asked, known.seen, known.calls = time.Now(), tool.Times{}, 0
	}
	return t, due
}

// sync tells the store what this worker has seen, if it has seen anything, and takes in what
// others have. If the store is away, the worker goes by what it knows.
func (k *knownTimes) sync(ctx context.Context, store Times, name string, t knownTime) tool.Times {
	var err error
	if t.calls > 0 {
		t.all, err = store.AddToolTimes(ctx, name, t.seen, t.calls)
	} else {
		t.all, err = store.ToolTimes(ctx, name)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	known := k.tools[name]
	if err == nil {
		known.all = t.all.Then(known.seen, known.calls) // which others have seen meanwhile
	} else {
		known.seen, known.calls = t.seen.Then(known.seen, known.calls), known.calls+t.calls
	}
	return known.all
}
