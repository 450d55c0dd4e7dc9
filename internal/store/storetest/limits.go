package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/circuit"
	"github.com/inquest-dev/inquest/internal/kit/ratelimit"
	"github.com/inquest-dev/inquest/internal/tool"
)

var deadModel = circuit.Key{Provider: "openai-default", Model: "gpt-4o"}

// testCircuits: all handles see the same state of a model, by one clock, and models have separate states.
func testCircuits(t *testing.T, open opener) {
	handles := []Store{open(), open()}
	state, now, err := handles[0].Circuit(t.Context(), deadModel)
	if diff := cmp.Diff(circuit.State{}, state); err != nil || diff != "" || time.Since(now).Abs() > time.Minute {
		t.Errorf("of a model that nobody has asked: error %v, by a clock that says %s\n%s", err, now, diff)
	}
	fails := func(s *circuit.State, now time.Time) {
		s.Failed(now, circuit.Failure{ErrorType: "ModelUnavailable", Error: "HTTP 503 \x00 <html>", Began: now})
	}
	for n := range 3 {
		if err := handles[n%2].ChangeCircuit(t.Context(), deadModel, fails); err != nil {
			t.Fatal(err)
		}
	}
	if state, now, err = handles[1].Circuit(t.Context(), deadModel); err != nil || !state.Open() || state.Next.Before(now) {
		t.Errorf("after three failures at %s: %+v, error %v", now, state, err)
	}
	for range 100 { // reading and changing use one clock: what is due now is due at once
		var due time.Time
		change := func(_ *circuit.State, now time.Time) { due = now }
		if err := handles[0].ChangeCircuit(t.Context(), deadModel, change); err != nil {
			t.Fatal(err)
		}
		if _, now, err := handles[1].Circuit(t.Context(), deadModel); err != nil || now.Before(due) {
			t.Fatalf("a change at %s, and a look at it at %s, error %v", due, now, err)
		}
	}
	other := circuit.Key{Provider: deadModel.Provider, Model: "gpt\x00-\xff"}
	answers := func(s *circuit.State, now time.Time) { s.Answered(now, circuit.Conversation{}) }
	if err := handles[0].ChangeCircuit(t.Context(), other, answers); err != nil {
		t.Error(err)
	}
	if state, _, err := handles[0].Circuit(t.Context(), other); err != nil || state.Open() || state.Alive.IsZero() {
		t.Errorf("another model of the provider: %+v, error %v", state, err)
	}
}

// When two processes ask concurrently, as many calls pass as a model gets trials, and one is a probe.
func testCircuitAtOnce(t *testing.T, open opener) {
	handles := []Store{open(), open()}
	passing := func() (probes, others int32) {
		var probed, passed atomic.Int32
		together(func(n int) {
			var v circuit.Verdict
			err := handles[n%2].ChangeCircuit(t.Context(), deadModel, func(s *circuit.State, now time.Time) {
				v = s.Ask(now, circuit.Conversation{Execution: fmt.Sprint(n)}, fmt.Sprint(n))
			})
			switch {
			case err != nil:
				t.Error(err)
			case v.Probe != "":
				probed.Add(1)
			case v.Wait == 0:
				passed.Add(1)
			}
		})
		return probed.Load(), passed.Load()
	}
	if probes, trials := passing(); probes != 0 || trials != 3 {
		t.Errorf("%d probes and %d trials of an unknown model", probes, trials)
	}
	failures := 0
	failed := func(s *circuit.State, now time.Time) {
		failures++
		by := circuit.Conversation{Investigation: fmt.Sprint("x\x00", failures)}
		s.Failed(now, circuit.Failure{Error: "HTTP 503", By: by, Began: now})
	}
	due := func(s *circuit.State, now time.Time) { s.Next = now }
	err := errors.Join(handles[0].ChangeCircuit(t.Context(), deadModel, failed), handles[1].ChangeCircuit(t.Context(), deadModel, failed),
		handles[0].ChangeCircuit(t.Context(), deadModel, failed), handles[1].ChangeCircuit(t.Context(), deadModel, due))
	if err != nil {
		t.Fatal(err)
	}
	if probes, others := passing(); probes != 1 || others != 0 {
		t.Errorf("%d probes and %d others of an open circuit", probes, others)
	}
}

// testToolTimes: the measurements of concurrent workers add up.
func testToolTimes(t *testing.T, open opener) {
	workers := []Store{open(), open()}
	if got := must(workers[0].ToolTimes(t.Context(), "lab.read"))(t); got != (tool.Times{}) {
		t.Errorf("times of a tool without calls: %v", got)
	}
	var want tool.Times
	for n := range 6 {
		var seen tool.Times
		seen.Add(time.Duration(n) * 100 * time.Millisecond)
		want.Add(time.Duration(n) * 100 * time.Millisecond)
		got := must(workers[n%2].AddToolTimes(t.Context(), "lab.read", seen, 1))(t)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("after call %d (-want +got):\n%s", n, diff)
		}
	}
	if diff := cmp.Diff(want, must(workers[1].ToolTimes(t.Context(), "lab.read"))(t)); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	slow, ten := tool.Times{}, tool.Times{6.5}
	slow.Add(time.Minute)
	must(workers[0].AddToolTimes(t.Context(), "lab.once", slow, 1))(t)
	for n := range 1000 { // the weight of the slow call becomes too small for a float
		if _, err := workers[0].AddToolTimes(t.Context(), "lab.once", ten, 10); err != nil {
			t.Fatalf("after %d quick calls: %v", 10*n, err)
		}
	}
	var all sync.WaitGroup
	for n := range 20 {
		all.Go(func() {
			if _, err := workers[n%2].AddToolTimes(t.Context(), "lab.set", tool.Times{1}, 0); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := must(workers[0].ToolTimes(t.Context(), "lab.set"))(t); got != (tool.Times{20}) {
		t.Errorf("of twenty at once: %v", got)
	}
}

// windowTests test the state that all workers share by the store's clock.
var windowTests = map[string]func(*testing.T, opener){
	"reserve":                      testReserve,
	"reserve at once":              testReserveAtOnce,
	"reserve for one call at once": testReserveOneCall,
	"reserve as a window slides":   testReserveSlides,
	"circuits":                     testCircuits,
	"circuit at once":              testCircuitAtOnce,
}

// asks is a reservation for the n-th call of a tool, in a long window.
func asks(n, limit int) ratelimit.Reservation {
	return ratelimit.Reservation{
		Agent: "sre", Tool: "loki.query", Key: fmt.Sprintf("inv/run/triage/sre/%d/0", n), Limit: limit, Window: time.Hour,
	}
}

// reserved reports whether the store granted a place. Otherwise it must return a wait within the window.
func reserved(t *testing.T, s Store, r ratelimit.Reservation) bool {
	t.Helper()
	wait, err := s.Reserve(t.Context(), r)
	if err != nil || wait < 0 || wait > r.Window {
		t.Errorf("%s: wait %s, error %v", r, wait, err)
	}
	return wait == 0
}

func testReserve(t *testing.T, open opener) {
	s := open()
	other, tool := asks(3, 2), asks(3, 2)
	other.Agent, tool.Tool = "dba", "loki.labels"
	for _, step := range []struct {
		name string
		r    ratelimit.Reservation
		want bool
	}{
		{"first", asks(1, 2), true},
		{"second", asks(2, 2), true},
		{"third", asks(3, 2), false},
		{"third again", asks(3, 2), false},
		{"first, made again", asks(1, 2), true},
		{"another agent", other, true},
		{"another tool", tool, true},
		{"a higher limit, refusals not counted", asks(4, 3), true},
		{"as high", asks(5, 3), false},
		{"a lower limit", asks(6, 1), false},
		{"second, with a lower limit", asks(2, 1), true},
	} {
		if got := reserved(t, s, step.r); got != step.want {
			t.Errorf("%s: passes: %t", step.name, got)
		}
	}
	if _, err := s.Reserve(t.Context(), asks(7, 0)); err == nil {
		t.Error("no limit: no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Reserve(ctx, asks(7, 9)); !errors.Is(err, context.Canceled) {
		t.Errorf("with a canceled context: %v", err)
	}
}

// When two processes make many requests concurrently, as many pass as there are places.
func testReserveAtOnce(t *testing.T, open opener) {
	const asking, limit = 50, 10
	handles := []Store{open(), open()}
	if n := passing(t, handles, asking, func(n int) ratelimit.Reservation { return asks(n, limit) }); n != limit {
		t.Errorf("%d of %d pass, and there are %d places", n, asking, limit)
	}
	if n := passing(t, handles, asking, func(n int) ratelimit.Reservation { return asks(n, limit+1) }); n != limit+1 {
		t.Errorf("%d of the same %d pass with one more place", n, asking)
	}
}

// A call that is retried while its first attempt still runs takes one place.
func testReserveOneCall(t *testing.T, open opener) {
	handles := []Store{open(), open()}
	if n := passing(t, handles, goroutines, func(int) ratelimit.Reservation { return asks(1, 2) }); n != goroutines {
		t.Errorf("%d of %d pass", n, goroutines)
	}
	if !reserved(t, handles[0], asks(2, 2)) || reserved(t, handles[0], asks(3, 2)) {
		t.Error("they did not take one place")
	}
}

// passing counts how many of n concurrent requests pass.
func passing(t *testing.T, handles []Store, n int, r func(int) ratelimit.Reservation) (passed int) {
	var all sync.WaitGroup
	results := make([]bool, n)
	start := make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-start
			results[i] = reserved(t, handles[i%len(handles)], r(i))
		})
	}
	close(start)
	all.Wait()
	for _, pass := range results {
		if pass {
			passed++
		}
	}
	return passed
}

// span is the interval in which a reservation was made.
type span struct{ from, to time.Time }

// A caller that waits as told eventually gets a place, and no window has more places than allowed.
func testReserveSlides(t *testing.T, open opener) {
	const limit, each, window = 5, 2, 50 * time.Millisecond
	handles := []Store{open(), open()}
	ctx := patient(t)
	spans := make([]span, goroutines*each)
	together(func(n int) {
		for i := range each {
			r := asks(n*each+i, limit)
			r.Window = window
			s, err := waitForPlace(ctx, handles[n%2], r)
			if err != nil {
				t.Error(err)
			}
			spans[n*each+i] = s
		}
	})
	slices.SortFunc(spans, func(a, b span) int { return a.to.Compare(b.to) })
	for i := limit; i < len(spans); i++ {
		first := slices.MinFunc(spans[i-limit:i+1], func(a, b span) int { return a.from.Compare(b.from) })
		if within := spans[i].to.Sub(first.from); within < window {
			t.Errorf("%d places were taken within %s", limit+1, within)
		}
	}
}

// waitForPlace asks for a place, and retries after each wait.
func waitForPlace(ctx context.Context, s Store, r ratelimit.Reservation) (span, error) {
	for {
		asked := time.Now()
		wait, err := s.Reserve(ctx, r)
		if err != nil || wait == 0 {
			return span{asked, time.Now()}, err
		}
		if wait > r.Window {
			return span{}, fmt.Errorf("%s: wait %s", r, wait)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return span{}, ctx.Err()
		}
	}
}
