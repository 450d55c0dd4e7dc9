package tool

import (
	"math"
	"time"
)

// Times holds the durations of the last calls of a tool or a model: the number of calls up to each of TimeBounds, and
// the number of slower ones. Older calls count less, so that a tool that has become slow is recognised after one call,
// and one that is quick again after about eight.
type Times [13]float64

// TimeBounds are the upper bounds of the classes of Times.
var TimeBounds = [len(Times{}) - 1]time.Duration{
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second,
}

const (
	// kept is the weight that earlier calls keep after each call.
	kept = 0.9
	// enough is the weight of three calls, 1 + 0.9 + 0.81: a tool is known from the fourth call on.
	enough = 1 + kept + kept*kept
	// slow is the share of calls above the 95th percentile.
	slow = 0.05
)

// Add counts a call.
func (t *Times) Add(took time.Duration) {
	n := 0
	for n < len(TimeBounds) && took > TimeBounds[n] {
		n++
	}
	one := Times{}
	one[n] = 1
	*t = t.Then(one, 1)
}

// Then returns the times after later calls.
func (t Times) Then(later Times, calls int) Times {
	old := Kept(calls)
	for n := range t {
		t[n] = t[n]*old + later[n]
	}
	return t
}

// Kept is the remaining weight of an earlier call after a number of calls.
func Kept(calls int) float64 {
	part := math.Pow(kept, float64(calls))
	if part < 1e-9 {
		return 0
	}
	return part
}

// Within reports whether 95 of 100 calls are known to take no longer than limit.
func (t Times) Within(limit time.Duration) bool {
	all, over := 0.0, 0.0
	for n, calls := range t {
		all += calls
		if n == len(TimeBounds) || TimeBounds[n] > limit {
			over += calls
		}
	}
	return all > enough && over < slow*all
}
