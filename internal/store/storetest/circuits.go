package storetest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/circuit"
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
		t.Errorf("%d probes and %d trials of a model that nobody knows", probes, trials)
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
