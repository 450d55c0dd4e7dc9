package circuit

import (
	"slices"
	"time"
)

// Thresholds for a failure that is the conversation's own.
const (
	// A provider in trouble fails everyone's calls. To blame a conversation, compare it with a provider that fails it as often as
	// the others. The probability that such a provider causes all its failures must be below unlikely. If only failures count
	// between which others were answered, the probability must be below doubtful, because an outage may have begun after the others
	// ended. If at least enoughOthers other conversations were answered meanwhile and no call of others failed, rare replaces
	// unlikely.
	unlikely     = 1e-7
	rare         = 2.5e-4
	doubtful     = 0.02
	enoughOthers = 3
	// ownAfter is the minimum number of consecutive failed calls.
	ownAfter = 5
	// maxBeside bounds the recorded answers to others after each failure, so that a healthy fleet writes little.
	maxBeside = 8
	// A conversation that failed suspicious times while others were answered no longer opens a circuit, unless no call was answered
	// for silence.
	suspicious = 2
	silence    = time.Minute
	// forgetAfter is longer than any pause between two attempts of an agent. maxSick and maxAnswers bound the row.
	forgetAfter = 15 * time.Minute
	maxSick     = 32
	maxAnswers  = 4
)

// Sick is a conversation whose last call failed.
type Sick struct {
	By Conversation `json:"by"`
	// Failures counts its consecutive calls that failed with ErrorType, except rate limits.
	Failures  int       `json:"failures,omitempty"`
	ErrorType string    `json:"error_type,omitempty"`
	Last      time.Time `json:"last"`
	// Beside counts the failures after which the model answered another conversation.
	Beside int `json:"beside,omitempty"`
	// Answered and Failed count the calls of others since the first failure, except rate limits. After each failure, both count
	// until there are maxBeside answers. Since counts the answers after the last failure.
	Answered int `json:"answered,omitempty"`
	Failed   int `json:"failed,omitempty"`
	Since    int `json:"since,omitempty"`
	// Others are conversations that the model answered since the first failure, at most enoughOthers. Shared means that it failed
	// calls of others.
	Others []Conversation `json:"others,omitempty"`
	Shared bool           `json:"shared,omitempty"`
}

// own reports whether a failure is its conversation's own: the conversation has repeatedly failed in the same way, the model has
// answered others between its failures, and others fail too rarely to explain it.
func (s State) own(now time.Time, f Failure) bool {
	n := s.sick(f.By)
	if n < 0 || f.Limited || s.Sick[n].Failures < ownAfter || !s.othersAnswered(now, coldAfter, s.Sick[n:n+1]) {
		return false
	}
	c, bound := s.Sick[n], unlikely
	if !c.Shared && len(c.Others) >= enoughOthers {
		bound = rare
	}
	if c.chance(c.Failures) > bound || c.chance(c.between()) > doubtful {
		return false
	}
	return !slices.ContainsFunc(s.Sick, func(c Sick) bool {
		return c.By != f.By && c.Failures > 1 && c.Beside < suspicious && recent(now, c.Last, 2*lastProbe)
	})
}

// between counts the failures between which the model answered others, the last failure included.
func (c Sick) between() int {
	if c.Since > 0 {
		return c.Beside
	}
	return c.Beside + 1
}

// sicken counts the failure of a conversation.
func (s *State) sicken(now time.Time, f Failure) {
	c := Sick{By: f.By}
	if n := s.sick(f.By); n >= 0 {
		c = s.Sick[n]
	}
	switch {
	case f.Limited: // says nothing about the conversation
	case c.ErrorType != f.ErrorType:
		c = Sick{By: f.By, ErrorType: f.ErrorType, Failures: 1}
	default:
		c.Failures++
	}
	c.Last, c.Since = now, 0
	if slices.ContainsFunc(s.Answers, func(a Answer) bool { return a.By != f.By && a.At.After(f.Began) }) {
		c.Since, c.Beside = 1, c.Beside+1 // its call took long
	}
	drop := func(other Sick) bool { return other.By == f.By || !recent(now, other.Last, forgetAfter) }
	s.Sick = slices.DeleteFunc(slices.Clone(s.Sick), drop)
	for n := range s.Sick {
		s.Sick[n].Shared = s.Sick[n].Shared || !f.Limited
		if !f.Limited && s.Sick[n].Since < maxBeside {
			s.Sick[n].Failed++
		}
	}
	s.Sick = append(s.Sick, c)
	s.Sick = s.Sick[max(len(s.Sick)-maxSick, 0):]
}

// beside returns the conversation after the model answered another one.
func (c Sick) beside(other Conversation) Sick {
	if len(c.Others) < enoughOthers && !slices.Contains(c.Others, other) {
		c.Others = append(slices.Clip(c.Others), other)
	}
	if c.Since == 0 {
		c.Beside++
	}
	if c.Since < maxBeside {
		c.Since, c.Answered = c.Since+1, c.Answered+1
	}
	return c
}

// chance returns the probability that the provider fails n consecutive calls of the conversation if it fails all conversations
// equally, at the rate of the others. If nothing is known about others, each failure rate is equally likely.
func (c Sick) chance(n int) float64 {
	p := 1.0
	for i := range n {
		p *= float64(c.Failed+1+i) / float64(c.Failed+c.Answered+2+i)
	}
	return p
}
