// Package circuit says, for a whole fleet, whether a model is asked: its calls are the
// evidence, and the store keeps one State of each model for all workers. All times are
// those of the store's clock.
package circuit

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

const (
	// opensAfter failures in a row the circuit opens: nobody asks the model any more but one probe at a time.
	opensAfter = 3
	// The first probe waits for firstProbe, each later one twice as long, up to lastProbe, or for as long as the
	// provider asks, up to longestPause.
	firstProbe   = 10 * time.Second
	lastProbe    = time.Minute
	longestPause = 10 * time.Minute
	// Claim is how long a probe holds its place without renewing it: its worker may have died, or stand still.
	Claim = 30 * time.Second
	// A model that nobody has heard of for coldAfter, or whose last call has failed, is asked by trials within
	// trialWindow at most, so that a dead one is not asked by everybody at once.
	coldAfter   = 10 * time.Minute
	trials      = 3
	trialWindow = 20 * time.Second
	// stamped is how old the last sign of life may be before it is written anew.
	stamped = time.Minute
)

// Key names a model at a provider: when one model fails, the provider's others need not.
type Key struct {
	Provider, Model string
}

// String names it in errors.
func (k Key) String() string { return k.Provider + " (" + k.Model + ")" }

// Compare orders keys.
func (k Key) Compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Provider, other.Provider), cmp.Compare(k.Model, other.Model))
}

// State is what the fleet knows of a model. The zero value knows nothing.
type State struct {
	// Alive is the last sign of life, zero after a failure, and Answer the last whole one that is known.
	Alive  time.Time `json:"alive,omitzero"`
	Answer time.Time `json:"answer,omitzero"`
	// Failures counts the calls that have failed since the last answer.
	Failures int `json:"failures,omitempty"`
	// Opened is when the circuit opened; zero = it is closed.
	Opened time.Time `json:"opened,omitzero"`
	// Next is when the next probe may be made.
	Next time.Time `json:"next,omitzero"`
	// Probe is the one that is on its way, and Probes counts those that have failed.
	Probe  string `json:"probe,omitempty"`
	Probes int    `json:"probes,omitempty"`
	// Tried are the last calls that were let through without a sign of life, the oldest first.
	Tried []time.Time `json:"tried,omitempty"`
	// Last is how the last call failed.
	Last Failure `json:"last,omitzero"`
}

// Failure is a call that has failed.
type Failure struct {
	ErrorType string `json:"error_type"`
	Error     string `json:"error"`
	// Limited: the provider answers, and wants to be asked later.
	Limited bool `json:"limited,omitempty"`
	// RetryAfter is how long it asks to be left alone.
	RetryAfter time.Duration `json:"retry_after,omitempty"`
	// Probe is the probe that failed; "" = the call was none. Began is when the call was let through.
	Probe string    `json:"-"`
	Began time.Time `json:"-"`
}

// Verdict says to a caller whether it may ask.
type Verdict struct {
	// Wait: it may not, and need not come back sooner. 0 = it may.
	Wait time.Duration
	// Open is the circuit that is in the way; nil = none is, and who waits is one of many who want to find out.
	Open *State
	// Probe is the caller's, if its call is one.
	Probe string
	// Cold: nobody has heard of the model for long, and who does should say so (Heard).
	Cold bool
	Now  time.Time
}

// Open reports whether only probes may ask the model.
func (s State) Open() bool { return !s.Opened.IsZero() }

// Warm reports whether everybody may ask.
func (s State) Warm(now time.Time) bool {
	return !s.Open() && s.Failures == 0 && s.heard(now, coldAfter)
}

// heard: a sign of life is no older than that. One of the future is of a clock that was put back.
func (s State) heard(now time.Time, within time.Duration) bool {
	return !s.Alive.IsZero() && now.Sub(s.Alive).Abs() <= within
}

// Ask decides whether a call may be made. A call that is a probe is known by that name from then on. A refusal changes
// nothing.
func (s *State) Ask(now time.Time, probe string) Verdict {
	switch wait := s.Next.Sub(now); {
	case s.Warm(now):
		return Verdict{Now: now}
	case s.Open() && wait > 0 && wait <= longestPause: // a longer one is of a clock that was put back
		open := *s
		return Verdict{Now: now, Wait: wait, Open: &open}
	case s.Open():
		s.Probe, s.Next = probe, now.Add(Claim)
		return Verdict{Now: now, Probe: probe}
	}
	if len(s.Tried) >= trials {
		if wait := s.Tried[0].Add(trialWindow).Sub(now); wait > 0 && wait <= trialWindow {
			return Verdict{Now: now, Wait: wait}
		}
		s.Tried = s.Tried[1:]
	}
	s.Tried = append(slices.Clip(s.Tried), now)
	return Verdict{Now: now, Cold: s.Failures == 0}
}

// Renew keeps a probe's place while it is on its way.
func (s *State) Renew(now time.Time, probe string) {
	if s.Probe == probe {
		s.Next = now.Add(Claim)
	}
}

// Heard takes in that a reply has begun. It does not close a circuit, because the reply may break off.
func (s *State) Heard(now time.Time) {
	if s.Failures == 0 {
		s.Alive = now
	}
}

// Known reports whether an answer at that time would change nothing.
func (s State) Known(now time.Time) bool { return s.Warm(now) && s.heard(now, stamped) }

// Answered takes in a call that was answered, a probe or not.
func (s *State) Answered(now time.Time) { *s = State{Alive: now, Answer: now} }

// Failed takes in a call that failed. A call that was made before the last answer says nothing. While the circuit is
// open only its probe counts, but a provider that asks to be left alone is left alone.
func (s *State) Failed(now time.Time, f Failure) {
	f.RetryAfter = min(f.RetryAfter, longestPause)
	switch {
	case f.Began.Before(s.Answer):
		return
	case s.Open() && (f.Probe == "" || f.Probe != s.Probe):
		if after := now.Add(f.RetryAfter); after.After(s.Next) {
			s.Next = after
		}
		return
	case s.Open():
		s.Probes++
	}
	s.Failures++
	s.Alive, s.Probe, s.Last = time.Time{}, "", f
	if s.Failures < opensAfter {
		return
	}
	if !s.Open() {
		s.Opened = now
	}
	s.Next = now.Add(s.pause())
}

// pause is how long the next probe waits. Who limits the rate knows best when to come back, the first time.
func (s State) pause() time.Duration {
	if s.Probes == 0 && s.Last.Limited && s.Last.RetryAfter > 0 {
		return s.Last.RetryAfter
	}
	return max(min(firstProbe<<min(s.Probes, 10), lastProbe), s.Last.RetryAfter)
}

// String says it to people.
func (s State) String() string {
	return fmt.Sprintf("not asked since %s, when %d calls in a row had failed; a probe may ask at %s: %s",
		clock(s.Opened), opensAfter, clock(s.Next), s.Last.Error)
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05 MST") }
