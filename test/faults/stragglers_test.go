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

// straggler is an attempt that may come to stand still, with its worker, for longer
// than its heartbeats allow: Temporal gives the activity to another attempt, and when
// that is done, or long after, this one goes on as if nothing had happened.
type straggler struct {
	place
	activity string
	until    moment // when it goes on
	cut      context.CancelFunc
	stands   chan struct{} // closed when it stands still
	wake     chan struct{} // closed when it goes on
	over     chan struct{} // closed when it has ended
}

// moment is when a straggler goes on.
type moment string

const (
	againDone moment = "the next attempt is done"
	nextDone  moment = "the next model call is done"
	afterNext moment = "two model calls are done"
	atTheEnd  moment = "all is over"
)

var moments = []moment{againDone, nextDone, afterNext, atTheEnd}

// stalling is where attempts come to stand still, beside where the seed says so.
type stalling struct {
	at     string          // where the first attempt that comes there stands still
	until  moment          // "" = the seed says
	points map[string]bool // that attempts came to
	stood  []*straggler
	asleep []*straggler // those that still stand
}

type stragglerKey struct{}

// stragglerOf is the attempt that ctx is of, and whether it has stood still.
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

// stand has the attempt stand still before an operation, if it is to. Nobody does so
// within a transaction: that would stop all others, too.
func (f *faults) stand(ctx context.Context, operation string, key transcript.Key) {
	s, late := stragglerOf(ctx)
	if s == nil || late || operation == inMemory || !f.toStand(s, operation, key) {
		return
	}
	close(s.stands)
	<-s.wake
	if s.point(operation, key) == afterIntent {
		time.Sleep(1100 * time.Millisecond) // a call that was begun less than a second ago is made
	}
}

// afterIntent is where a call that must not be made twice has begun, and was not made.
const afterIntent = "CallTool: append, after of an intent"

func (f *faults) toStand(s *straggler, operation string, key transcript.Key) bool {
	point := s.point(operation, key)
	f.mu.Lock()
	defer f.mu.Unlock()
	if operation != "blob" { // which of all attempts reads a plan, before it is known, is left to chance
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

// point names an operation of an activity, whosever it is.
func (s *straggler) point(operation string, key transcript.Key) string {
	name, _, _ := strings.Cut(operation, " of ")
	return s.activity + ": " + name + sort(key)
}

// sort says what a row is, by its place.
func sort(key transcript.Key) string {
	switch n := key.CallIndex(); {
	case n >= 0 && key == transcript.CallKey(key.Iteration, n):
		return " of an intent"
	case n >= 0:
		return " of a result"
	}
	return ""
}

// attempted makes an attempt, of which Temporal hears nothing more if it stands still.
func (r *run) attempted(ctx context.Context, at place, activity string, work func(context.Context) (any, error)) (any, error) {
	s := &straggler{place: at, activity: activity, stands: make(chan struct{}), wake: make(chan struct{}), over: make(chan struct{})}
	if s.until = r.until; s.until == "" {
		s.until = moments[pick(len(moments), r.seed, "until", at, activity)]
	}
	own, cut := context.WithCancel(context.WithValue(context.WithoutCancel(ctx), stragglerKey{}, s))
	s.cut = cut
	defer context.AfterFunc(ctx, cut)() // from then on nothing reaches it
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

// follows: the end of that attempt is what the straggler waits for.
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

// wake has stragglers go on, one after the other, to their ends. The seed says which of
// them are told at once that they are too late.
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

// chosen are the points of a run for one of the two tests that are about points: half
// of them, or with -every all.
func (f *faults) chosen(half int) (points []string) {
	for _, at := range slices.Sorted(maps.Keys(f.points)) {
		if *every || pick(2, at) == half {
			points = append(points, at)
		}
	}
	return points
}

// chosen is what is tried at a point: one, or with -every all.
func chosen[T any](all []T, at string) []T {
	if *every {
		return all
	}
	return all[pick(len(all), "of", at):][:1]
}

// Whatever stands still, and whenever it goes on: what was done once stays done once,
// what the model was told is true, and what has ended stays ended.
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
				continue // it is no other one
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

// unknown: the model was told that nobody knows what came of the call. In the other case the
// next attempt has left the call to the one that stood still.
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
