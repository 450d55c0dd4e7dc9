package faults

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store/storetest"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// outage makes a part of the world unavailable for a while, from a point on.
type outage struct {
	what  string
	lasts time.Duration
	of    func(k kind, operation string) bool
	at    string // the outage starts when the first attempt reaches this point

	began [2]time.Time // by the clocks of workflows and of activities; zero means not yet
	hits  int
}

var outages = []outage{
	{what: "the store", lasts: 10 * time.Second, of: ofStore},
	{what: "the store", lasts: 10 * time.Minute, of: ofStore},
	{what: "the providers", lasts: time.Hour, of: func(k kind, _ string) bool { return k == modelFails }},
	{what: "the tools", lasts: 10 * time.Second, of: ofTools},
	{what: "the tools", lasts: 10 * time.Minute, of: ofTools},
}

func ofStore(k kind, _ string) bool { return k == readFails || k == writeFails || k == memoryFails }

// ofTools matches the operations of a server that is unreachable, or is lost during a call.
func ofTools(_ kind, operation string) bool {
	return slices.Contains([]string{"list", "gone before", "gone after"}, operation)
}

// away is the failure of an operation during an outage.
type away struct{ failure }

// Unwrap returns the store's error for an unreachable database.
func (away) Unwrap() error { return record.ErrUnavailable }

// away fails an operation that the outage affects.
func (f *faults) away(ctx context.Context, k kind, operation string, key transcript.Key) error {
	o := f.outage
	s, _ := stragglerOf(ctx)
	if o == nil || s == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if o.began[0].IsZero() && s.point(operation, key) == o.at {
		o.began = [2]time.Time{f.now(), time.Now()}
	}
	// The clock of workflows stops while an activity waits, and jumps when none does.
	if o.began[0].IsZero() || !o.of(k, operation) || f.now().Sub(o.began[0])+time.Since(o.began[1]) > o.lasts {
		return nil
	}
	o.hits++
	return away{failure{fmt.Sprintf("%s: %s is away", operation, o.what)}}
}

// For an outage of any part at any time, the run waits or tells the model, nothing is done twice, and all ends
// well. The clock is simulated, so retries that last ten minutes take no time.
func TestOutages(t *testing.T) {
	t.Parallel()
	for _, quick := range []bool{false, true} {
		calm := busy(t, storetest.Open(t), "calm", quick)
		calm.play()
		for _, at := range calm.chosen(1) {
			if quick && !strings.HasPrefix(at, "CallTool") && !strings.HasPrefix(at, "Generate") {
				continue // not a different case
			}
			t.Run(fmt.Sprintf("%s, quick %t", at, quick), func(t *testing.T) {
				t.Parallel()
				for _, o := range chosen(outages, at) {
					o.at = at
					synctest.Test(t, func(t *testing.T) { sitOut(t, o, quick) })
				}
			})
		}
	}
}

func sitOut(t *testing.T, o outage, quick bool) {
	r := busy(t, storetest.Open(t), "out", quick)
	r.outage = &o
	r.play()
	for _, problem := range r.checkBusy(t.Context()) {
		t.Errorf("%s, for %s: %s", o.what, o.lasts, r.normal(problem))
	}
	if o.began[0].IsZero() {
		t.Errorf("%s was never away", o.what)
	}
	t.Logf("%s, for %s: %d failures", o.what, o.lasts, o.hits)
}
