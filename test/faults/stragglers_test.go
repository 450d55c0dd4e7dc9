package faults

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/internal/store/storetest"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// straggler is an attempt that may stall, with its worker, for longer than its heartbeat timeout. Temporal then
// starts another attempt. When that one has finished, or long after, the straggler continues as if nothing had
// happened.
type straggler struct {
	place
	activity string
	until    moment // when it continues
	cut      context.CancelFunc
	stands   chan struct{} // closed when it stalls
	wake     chan struct{} // closed when it continues
	over     chan struct{} // closed when it has ended
}

// moment is the time at which a straggler continues.
type moment string

const (
	againDone moment = "the next attempt is done"
	nextDone  moment = "the next model call is done"
	afterNext moment = "two model calls are done"
	atTheEnd  moment = "all is over"
)

var moments = []moment{againDone, nextDone, afterNext, atTheEnd}

// stalling determines where attempts stall, in addition to the stalls that the seed chooses.
type stalling struct {
	at     string          // the point at which the first attempt stalls
	until  moment          // empty means that the seed chooses
	points map[string]bool // all points that attempts reached
	stood  []*straggler
	asleep []*straggler // stragglers that are still stalled
}

type stragglerKey struct{}

// stragglerOf returns the attempt that ctx belongs to, and whether it has stalled.
func stragglerOf(ctx context.Context) (s *straggler, late bool) {
	s, _ = ctx.Value(stragglerKey{}).(*straggler)
	if s == nil {
		return nil, false
	}
	select {
	case <-s.stands:
		return s, true
	default:
		return s, false
	}
}

// stand stalls the attempt before an operation if that is due. No attempt stalls within a transaction, because
// that would block all others.
func (f *faults) stand(ctx context.Context, operation string, key transcript.Key) {
	s, late := stragglerOf(ctx)
	if s == nil || late || operation == inMemory || !f.toStand(s, operation, key) {
		return
	}
	close(s.stands)
	<-s.wake
	if s.point(operation, key) == afterIntent {
		time.Sleep(1100 * time.Millisecond) // a call that started less than a second ago is made
	}
}

// afterIntent is the point after a non-repeatable call's intent was written and before the call is made.
const afterIntent = "CallTool: append, after of an intent"

func (f *faults) toStand(s *straggler, operation string, key transcript.Key) bool {
	point := s.point(operation, key)
	f.mu.Lock()
	defer f.mu.Unlock()
	if operation != "blob" { // the attempt that reads a plan first is random
		f.points[point] = true
	}
	chosen := chance(f.rate(stall), f.seed, s.place, stall, point, key) && s.attempt <= 3
	if !chosen && (point != f.at || len(f.stood) > 0) {
		return false
	}
	f.stood, f.asleep = append(f.stood, s), append(f.asleep, s)
	what := fmt.Sprintf("%s at %s in %d/%d attempt %d until %s", stall, point, s.iteration, s.position, s.attempt, s.until)
	f.hit[s.execution] = append(f.hit[s.execution], what)
	return true
}

// point names an operation of an activity, for any execution.
func (s *straggler) point(operation string, key transcript.Key) string {
	name, _, _ := strings.Cut(operation, " of ")
	return s.activity + ": " + name + sort(key)
}

// sort names the kind of a row by its key.
func sort(key transcript.Key) string {
	switch n := key.CallIndex(); {
	case n >= 0 && key == transcript.CallKey(key.Iteration, n):
		return " of an intent"
	case n >= 0:
		return " of a result"
	}
	return ""
}

// attempted runs an attempt. If it stalls, Temporal receives nothing more from it.
func (r *run) attempted(ctx context.Context, at place, activity string, work func(context.Context) (any, error)) (any, error) {
	s := &straggler{place: at, activity: activity, stands: make(chan struct{}), wake: make(chan struct{}), over: make(chan struct{})}
	if s.until = r.until; s.until == "" {
		s.until = moments[pick(len(moments), r.seed, "until", at, activity)]
	}
	own, cut := context.WithCancel(context.WithValue(context.WithoutCancel(ctx), stragglerKey{}, s))
	s.cut = cut
	defer context.AfterFunc(ctx, cut)() // from then on nothing reaches the attempt
	var out any
	var err error
	go func() {
		defer close(s.over)
		out, err = work(own)
	}()
	select {
	case <-s.over:
		r.wake(func(o *straggler) bool { return o.follows(s) })
		return out, err
	case <-s.stands:
		return nil, temporal.NewHeartbeatTimeoutError()
	}
}

// follows reports whether the straggler waits for the end of that attempt.
func (s *straggler) follows(ended *straggler) bool {
	if s.execution != ended.execution {
		return false
	}
	switch s.until {
	case againDone:
		return s.iteration == ended.iteration && s.position == ended.position
	case nextDone:
		return ended.activity == "Generate" && ended.iteration > s.iteration
	case afterNext:
		return ended.activity == "Generate" && ended.iteration > s.iteration+1
	}
	return false
}

// wake lets stragglers run to their end, one after the other. The seed chooses which of them learn at once that
// they are too late.
func (r *run) wake(which func(*straggler) bool) {
	r.faults.mu.Lock()
	due := slices.DeleteFunc(slices.Clone(r.asleep), func(s *straggler) bool { return !which(s) })
	r.asleep = slices.DeleteFunc(r.asleep, which)
	r.faults.mu.Unlock()
	for _, s := range due {
		if r.rate(stall) > 0 && chance(0.5, r.seed, "told", s.place, s.activity) {
			s.cut()
		}
		close(s.wake)
		<-s.over
	}
}

// chosen returns the points of a run for one of the two tests of points: half of them, or all with -every.
func (f *faults) chosen(half int) (points []string) {
	for _, at := range slices.Sorted(maps.Keys(f.points)) {
		if *every || pick(2, at) == half {
			points = append(points, at)
		}
	}
	return points
}

// chosen returns the variants to try at a point: one, or all with -every.
func chosen[T any](all []T, at string) []T {
	if *every {
		return all
	}
	return all[pick(len(all), "of", at):][:1]
}

// Attempts stall at any point and continue at any time: nothing is done twice, the model receives true
// information, and whatever has ended stays ended.
func TestStragglers(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	for _, quick := range []bool{false, true} {
		calm := busy(t, s, fmt.Sprint("calm ", quick), quick)
		calm.play()
		for _, problem := range calm.checkBusy(t.Context()) {
			t.Error(problem)
		}
		for _, at := range calm.chosen(0) {
			if quick && !strings.HasPrefix(at, "CallTool") && !strings.HasPrefix(at, "Generate") {
				continue // not a different case
			}
			t.Run(fmt.Sprintf("%s, quick %t", at, quick), func(t *testing.T) {
				t.Parallel()
				for _, until := range chosen(moments, at) {
					straggle(t, busy(t, s, fmt.Sprint(t.Name(), until), quick), at, until)
				}
			})
		}
	}
}

func straggle(t *testing.T, r *run, at string, until moment) {
	r.at, r.until = at, until
	r.play()
	for _, problem := range r.checkBusy(t.Context()) {
		t.Errorf("until %s: %s", until, r.normal(problem))
	}
	if len(r.stood) != 1 {
		t.Fatalf("until %s: %d attempts stood still", until, len(r.stood))
	}
	s := r.stood[0]
	call := fmt.Sprintf("%s/%s/%d/%d", r.investigation(), s.execution, s.iteration, s.position-1)
	if at == afterIntent && r.lab.done[call] > 0 && r.unknown(t, s.place) {
		t.Errorf("until %s: a call was made of which the model had been told that nobody knows", until)
	}
}

// unknown reports whether the model was told that the call's outcome is unknown. Otherwise the next attempt
// left the call to the stalled one.
func (r *run) unknown(t *testing.T, at place) bool {
	entries, err := r.store.After(t.Context(), r.investigation(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(entries, func(e transcript.Entry) bool {
		return e.Execution == at.execution && e.Key == transcript.ResultKey(at.iteration, at.position-1) &&
			e.ErrorType == tool.ErrorOutcomeUnknown
	})
}
