package job

import (
	"context"
	"sync"
	"time"

	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
)

// Timing is how long a tool or a model took; zero means that it was not asked or that the time does not count. answered
// reports that it replied.
type Timing struct {
	Took     time.Duration
	Answered bool
}

// Learn records how long a call of a tool or model took. A call that was not answered is ignored, unless it took too
// long for a quick call.
func (j *Job) Learn(ctx context.Context, name string, under plan.Duration, t Timing) {
	if j.Times == nil || under == 0 || t.Took == 0 || !t.Answered && t.Took <= under.D() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timesTimeout)
	defer cancel()
	if err := j.known.add(ctx, j.Times, name, t.Took, under.D()); err != nil {
		j.Logger.Warn("the duration of a call was not recorded", "of", name, "error", err)
	}
}

// maxKnownTimes limits how many names a worker keeps, because requests may name models.
const maxKnownTimes = 1000

// TimesOf returns the key of a model's times, which are stored beside those of tools. It cannot be the name of a tool: those
// contain a dot or no space.
func TimesOf(p *plan.Provider) string { return "model " + p.Name + " " + p.Model }

// knownTimes holds a worker's knowledge of how long tools and models take.
type knownTimes struct {
	mu    sync.Mutex
	tools map[string]*knownTime
}

type knownTime struct {
	all   tool.Times // what the store had, plus what this worker has seen since
	seen  tool.Times // seen by this worker only, and not in the store yet
	calls int        // number of calls in seen
	asked time.Time  // when the store was last asked
}

// of returns the known times of a tool or a model.
func (k *knownTimes) of(ctx context.Context, store Times, name string) tool.Times {
	t, due := k.look(name, nil)
	if !due {
		return t.all
	}
	ctx, cancel := context.WithTimeout(ctx, timesTimeout)
	defer cancel()
	all, _ := k.sync(ctx, store, name, t)
	return all
}

// add records one call. The error explains why the store could not be updated. The next sync tries again.
func (k *knownTimes) add(ctx context.Context, store Times, name string, took, under time.Duration) (err error) {
	t, due := k.look(name, func(t *knownTime) (changed bool) {
		before := t.all.Within(under)
		t.all.Add(took)
		t.seen.Add(took)
		t.calls++
		return before != t.all.Within(under)
	})
	if due {
		_, err = k.sync(ctx, store, name, t)
	}
	return err
}

// look returns the known times, and whether a sync with the store is due. If it is, the caller must do it, because no
// other caller will.
func (k *knownTimes) look(name string, change func(*knownTime) (changed bool)) (t knownTime, due bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	known := k.tools[name]
	if known == nil {
		if k.tools == nil || len(k.tools) >= maxKnownTimes { // times in use come back from the store
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

// sync sends this worker's measurements to the store, if there are any, and reads those of other workers. If the store
// is unavailable, the worker uses its own.
func (k *knownTimes) sync(ctx context.Context, store Times, name string, t knownTime) (all tool.Times, err error) {
	if t.calls > 0 {
		t.all, err = store.AddToolTimes(ctx, name, t.seen, t.calls)
	} else {
		t.all, err = store.ToolTimes(ctx, name)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	known := k.tools[name]
	switch {
	case known == nil: // dropped meanwhile
		return t.all, err
	case err == nil:
		known.all = t.all.Then(known.seen, known.calls) // other calls may have added to seen during the sync
	default:
		known.seen, known.calls = t.seen.Then(known.seen, known.calls), known.calls+t.calls
	}
	return known.all, err
}
