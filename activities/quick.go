package activities

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/internal/tool"
)

// A call that takes milliseconds is made within the workflow task, by CallTool as a local
// activity (docs/adr/0015). Which calls are quick is measured.

// longestQuick bounds how long a call may be allowed to take that is made within a workflow
// task: Temporal keeps a task for half an hour at most.
const longestQuick = 15 * time.Minute

// quick: the tool is known to answer soon, and nothing else keeps the call out of a workflow task.
func (j *job) quick(ctx context.Context, decision tool.Decision) bool {
	under, longest := j.agent.Tools.QuickUnder.D(), decision.Within(j.agent.Timeouts.Tool.D())
	if j.Times == nil || under == 0 || longest == 0 || longest > longestQuick {
		return false
	}
	return j.known.of(ctx, j.Times, decision.Spec.Name).Within(under)
}

// notQuick is how a local attempt ends that leaves the call to a regular one.
func notQuick(why string) error {
	return temporal.NewApplicationErrorWithOptions(why, ErrorNotQuick, temporal.ApplicationErrorOptions{NonRetryable: true, Category: expected})
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
