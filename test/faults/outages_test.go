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

// outage is a part of the world that is away for a while, from a point on.
type outage struct {
	what  string
	lasts time.Duration
	of    func(k kind, operation string) bool
	at    string // the point that the first attempt comes to when it begins

	began [2]time.Time // by the clock of workflows, and by that of activities; zero = not yet
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

// ofTools are the operations of a server that cannot be reached, or is lost in a call.
func ofTools(_ kind, operation string) bool {
	return slices.Contains([]string{"list", "gone before", "gone after"}, operation)
}

// away is the failure of an operation of what is away.
type away struct{ failure }

// Unwrap makes it what the store says when it cannot be reached.
func (away) Unwrap() error { return record.ErrUnavailable }

// away fails an operation of what is away.
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
	// The clock of workflows stands still while an activity waits, and jumps when none does.
	if o.began[0].IsZero() || !o.of(k, operation) || f.now().Sub(o.began[0])+time.Since(o.began[1]) > o.lasts {
		return nil
	}
	o.hits++
	return away{failure{fmt.Sprintf("%s: %s is away", operation, o.what)}}
}

// Whatever is away, and since whenever: it is waited for, or the model is told, what
// was done once is not done twice, and all ends well. The clock is a false one, so that
// what is kept in hand for ten minutes takes no time.
func TestOutages(t *testing.T) {
	t.Parallel()
	for _, quick := range []bool{false, true} {
		calm := busy(t, storetest.Open(t), "calm", quick)
		calm.play()
		for _, at := range calm.chosen(1) {
			if quick && !strings.HasPrefix(at, "CallTool") && !strings.HasPrefix(at, "Generate") {
				continue // it is no other one
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
