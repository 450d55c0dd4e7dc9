// Package circuit decides, for a whole fleet, whether a model may be called. The store keeps one State for each model, which all
// workers share. A circuit breaker counts different conversations: if only one conversation fails while the model answers others,
// the failure is that conversation's own. All times are those of the store's clock.
package circuit

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

const (
	// opensAfter is how many conversations in a row must fail before the circuit opens, or how many calls in a row if no other
	// conversation is active. While it is open, one probe at a time calls the model.
	opensAfter = 3
	// The first probe waits for firstProbe, each later one twice as long, up to lastProbe, or for as long as the
	// provider asks, up to longestPause.
	firstProbe   = 10 * time.Second
	lastProbe    = time.Minute
	longestPause = 10 * time.Minute
	// Claim is how long a probe keeps its place without renewing it. Its worker may have died or may be stalled.
	Claim = 30 * time.Second
	// coldAfter is how long a sign of life counts. A model without one gets at most trials calls within trialWindow, so that not
	// all agents call a dead model at the same time.
	coldAfter   = 10 * time.Minute
	trials      = 3
	trialWindow = 20 * time.Second
	// stamped is how old the last recorded answer may be before another one is recorded.
	stamped = time.Minute
)

// Key names a model at a provider: when one model fails, the provider's others need not.
type Key struct {
	Provider, Model string
}

// String names the model in errors.
func (k Key) String() string { return k.Provider + " (" + k.Model + ")" }

// Compare orders keys.
func (k Key) Compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Provider, other.Provider), cmp.Compare(k.Model, other.Model))
}

// Conversation names an agent's execution, whose calls share one history.
type Conversation struct {
	Investigation string `json:"investigation,omitempty"`
	Execution     string `json:"execution,omitempty"`
}

// State is the fleet's knowledge of a model. The zero value means that nothing is known.
type State struct {
	// Alive is the last sign of life, zero once the circuit opens. Answer is the last recorded answer.
	Alive  time.Time `json:"alive,omitzero"`
	Answer time.Time `json:"answer,omitzero"`
	// Failures counts the calls that failed since the last answer.
	Failures int `json:"failures,omitempty"`
	// Opened is when the circuit opened; zero means that it is closed.
	Opened time.Time `json:"opened,omitzero"`
	// Narrow means that the circuit is open only for the conversations that failed: no others were active.
	Narrow bool `json:"narrow,omitempty"`
	// Next is when the next probe may be made.
	Next time.Time `json:"next,omitzero"`
	// Probe names the probe that is under way. Probes counts those that failed, and Prober made the last of them.
	Probe  string       `json:"probe,omitempty"`
	Probes int          `json:"probes,omitempty"`
	Prober Conversation `json:"prober,omitzero"`
	// Waiting means that another conversation than Prober waits for the next probe.
	Waiting bool `json:"waiting,omitempty"`
	// Tried are the last calls that were let through without a sign of life, the oldest first.
	Tried []time.Time `json:"tried,omitempty"`
	// Last is how the last call failed.
	Last Failure `json:"last,omitzero"`
	// Sick are the conversations whose last call failed, and Answers the last ones that were answered, the oldest first.
	Sick    []Sick   `json:"sick,omitempty"`
	Answers []Answer `json:"answers,omitempty"`
}

// Answer is when a conversation was answered.
type Answer struct {
	By Conversation `json:"by"`
	At time.Time    `json:"at"`
}

// Failure is a call that failed.
type Failure struct {
	ErrorType string `json:"error_type"`
	Error     string `json:"error"`
	// Limited means that the provider answers, but asks the caller to retry later.
	Limited bool `json:"limited,omitempty"`
	// RetryAfter is how long the provider asks callers to wait.
	RetryAfter time.Duration `json:"retry_after,omitempty"`
	// By is the conversation that made the call, and Began is when the call was let through.
	By    Conversation `json:"-"`
	Began time.Time    `json:"-"`
	// Probe names the probe that failed. An empty string means that the call was not a probe.
	Probe string `json:"-"`
}

// Verdict tells a caller whether it may call the model.
type Verdict struct {
	// Wait is how long to wait before asking again; zero means the call may go ahead.
	Wait time.Duration
	// Open is the open circuit that forbids the call. If it is nil and Wait is not zero, others are trying the model.
	Open *State
	// Probe is the name of the caller's probe, if its call is one.
	Probe string
	// Cold means that there is no sign of life. The caller should report the first sign immediately (Heard).
	Cold bool
	Now  time.Time
}

// Open reports whether only probes may call the model. If the circuit is Narrow, this applies only to the conversations that
// failed.
func (s State) Open() bool { return !s.Opened.IsZero() }

// blocks reports whether the circuit is open for a conversation.
func (s State) blocks(by Conversation) bool {
	return s.Open() && (!s.Narrow || s.sick(by) >= 0)
}

// Warm reports whether a conversation may call the model without a reserved trial.
func (s State) Warm(now time.Time, by Conversation) bool {
	return !s.blocks(by) && recent(now, s.Alive, coldAfter)
}

// recent reports whether a time is within the given distance. A time in the future comes from a clock that was set back.
func recent(now, then time.Time, within time.Duration) bool {
	return !then.IsZero() && now.Sub(then).Abs() <= within
}

// Ask decides whether a conversation may make a call. If the call becomes a probe, probe is its name from then on. A refusal
// changes nothing.
func (s *State) Ask(now time.Time, by Conversation, probe string) Verdict {
	if s.Warm(now, by) {
		return Verdict{Now: now}
	}
	if s.blocks(by) {
		wait := s.Next.Sub(now)
		if wait > longestPause { // the clock was set back
			wait = 0
		} else if s.Waiting && by == s.Prober {
			wait += s.pause() // other conversations probe first
		}
		if wait > 0 {
			open := *s
			return Verdict{Now: now, Wait: wait, Open: &open}
		}
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
	return Verdict{Now: now, Cold: true}
}

// Waits reports whether Await must record that a refused conversation waits for the next probe.
func (s State) Waits(by Conversation) bool {
	return s.Open() && !s.Waiting && s.Prober != (Conversation{}) && s.Prober != by
}

// Await records that a conversation waits for the next probe, so that the last prober does not make that one, too.
func (s *State) Await(by Conversation) { s.Waiting = s.Waiting || s.Waits(by) }

// Renew keeps a probe's place while the probe is running.
func (s *State) Renew(now time.Time, probe string) {
	if s.Probe == probe {
		s.Next = now.Add(Claim)
	}
}

// Heard records that a reply has begun. It does not close a circuit, because the reply may be cut off.
func (s *State) Heard(now time.Time) {
	if !s.Open() || s.Narrow {
		s.Alive = now
	}
}

// Known reports whether recording an answer at that time would change nothing.
func (s State) Known(now time.Time, by Conversation) bool {
	if s.Open() || s.Failures > 0 || !s.Warm(now, by) || !recent(now, s.Answer, stamped) {
		return false
	}
	for _, c := range s.Sick {
		if c.By == by || c.Since < maxBeside {
			return false
		}
	}
	stale := func(a Answer) bool { return !recent(now, a.At, stamped) }
	known := slices.DeleteFunc(slices.Clone(s.Answers), stale)
	return len(known) >= 2 || slices.ContainsFunc(known, func(a Answer) bool { return a.By == by })
}

// Answered records that a call was answered, whether it was a probe or not. It closes the circuit.
func (s *State) Answered(now time.Time, by Conversation) {
	var sick []Sick
	for _, c := range s.Sick {
		if c.By != by && recent(now, c.Last, forgetAfter) {
			sick = append(sick, c.beside(by))
		}
	}
	answers := slices.DeleteFunc(slices.Clone(s.Answers), func(a Answer) bool { return a.By == by })
	answers = append(answers, Answer{By: by, At: now})
	*s = State{Alive: now, Answer: now, Sick: sick, Answers: answers[max(len(answers)-maxAnswers, 0):]}
}

// Failed records that a call failed, and reports whether the failure is the conversation's own: the model answers others meanwhile,
// and another attempt would fail, too. Only calls that began after the model's last answer count. While the circuit is open, only
// its probe counts, but a provider's request to wait is always respected.
func (s *State) Failed(now time.Time, f Failure) (own bool) {
	f.RetryAfter = min(f.RetryAfter, longestPause)
	s.sicken(now, f)
	if own = s.own(now, f); own {
		defer func() { s.Sick = slices.DeleteFunc(s.Sick, func(c Sick) bool { return c.By == f.By }) }()
	}
	_, wide := s.opens(now)
	switch {
	case s.Open() && (f.Probe == "" || f.Probe != s.Probe):
		s.Narrow = s.Narrow && !wide
		if after := now.Add(f.RetryAfter); after.After(s.Next) {
			s.Next = after
		}
		return own
	case s.Open():
		s.Failures++
		s.Probes++
		s.Narrow = s.Narrow && !wide
		s.Prober, s.Waiting = f.By, false
	case own, f.Began.Before(s.Answer):
		return own
	default:
		s.Failures++
		open, wide := s.opens(now)
		if !open {
			s.Last = f
			return false
		}
		s.Opened, s.Narrow, s.Alive, s.Tried = now, !wide, time.Time{}, nil
	}
	s.Probe, s.Last = "", f
	s.Next = now.Add(s.pause())
	return own
}

// sick returns the index of a conversation in Sick, or -1.
func (s State) sick(by Conversation) int {
	return slices.IndexFunc(s.Sick, func(c Sick) bool { return c.By == by })
}

// opens reports whether the failures since the last answer open the circuit, and whether for all conversations. It opens for all if
// enough conversations failed, unless they belong to one investigation and others are currently answered. If no others are active,
// it opens for those that failed.
func (s State) opens(now time.Time) (open, wide bool) {
	failing := slices.DeleteFunc(slices.Clone(s.Sick), func(c Sick) bool {
		return c.Since > 0 || c.Beside >= suspicious && recent(now, s.Answer, silence)
	})
	another := func(c Sick) bool { return c.By.Investigation != failing[0].By.Investigation }
	alone := !s.othersAnswered(now, coldAfter, failing)
	wide = len(failing) >= opensAfter && (slices.ContainsFunc(failing, another) || !s.othersAnswered(now, silence, failing))
	return wide || alone && s.Failures >= opensAfter, wide
}

// othersAnswered reports whether the model has recently answered a conversation that is not in failing.
func (s State) othersAnswered(now time.Time, within time.Duration, failing []Sick) bool {
	return slices.ContainsFunc(s.Answers, func(a Answer) bool {
		return recent(now, a.At, within) && !slices.ContainsFunc(failing, func(c Sick) bool { return c.By == a.By })
	})
}

// pause returns how long the next probe waits. The first time, a rate-limited provider's RetryAfter applies.
func (s State) pause() time.Duration {
	if s.Probes == 0 && s.Last.Limited && s.Last.RetryAfter > 0 {
		return s.Last.RetryAfter
	}
	return max(min(firstProbe<<min(s.Probes, 10), lastProbe), s.Last.RetryAfter)
}

// String tells people why the model is not called.
func (s State) String() string {
	return fmt.Sprintf("not called since %s, after %d failures in a row; the next probe is at %s: %s",
		clock(s.Opened), opensAfter, clock(s.Next), s.Last.Error)
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05 MST") }
