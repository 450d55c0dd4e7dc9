package learning

import (
	"math"
	"time"
)

// Initial is the confidence of a new learning.
const Initial = 0.7

// HalfLife is the time in which the confidence of a learning halves if no investigation confirms it.
const HalfLife = 90 * 24 * time.Hour

// Forgotten is the confidence below which a learning is no longer used. Without confirmation, a new learning gets there
// after eleven months.
const Forgotten = 0.05

const (
	doubtLeft = 0.75 // part of the doubt that a confirmation leaves
	trustLeft = 0.5  // part of the confidence that a contradiction leaves
)

// Decayed returns a confidence after some time.
func Decayed(confidence float64, age time.Duration) float64 {
	if age <= 0 { // clocks differ
		return confidence
	}
	return confidence * math.Exp2(-float64(age)/float64(HalfLife))
}

// Current returns the confidence in a learning at a time.
func Current(l Learning, now time.Time) float64 { return Decayed(l.Confidence, now.Sub(l.Changed)) }

// Confirm returns the learning after another investigation has confirmed it. That makes up for the decay so far.
func Confirm(l Learning, at time.Time) Learning {
	l.Confidence, l.Confirmed = 1-(1-l.Confidence)*doubtLeft, l.Confirmed+1
	l.Changed = later(l.Changed, at)
	return l
}

// Contradict returns the learning after another investigation has contradicted it.
func Contradict(l Learning, at time.Time) Learning {
	l.Confidence, l.Contradicted = Current(l, at)*trustLeft, l.Contradicted+1
	l.Changed = later(l.Changed, at)
	return l
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Basis is the confidence that a learning had at a time.
type Basis struct {
	Confidence float64   `json:"confidence"`
	At         time.Time `json:"at"`
}

// Judgement is the confirmation or the contradiction of a learning by another investigation.
type Judgement struct {
	Learning      int64
	Investigation string
	At            time.Time
	Confirms      bool // otherwise it contradicts
	Undone        bool // it does not count, because that investigation is wrong
}

// Judge returns the learning after a judgement.
func Judge(l Learning, j Judgement) Learning {
	if j.Confirms {
		return Confirm(l, j.At)
	}
	return Contradict(l, j.At)
}

// Replay returns the learning as if it had only these judgements, which are sorted by time. Judgements from before the basis, which a
// person has set since, are only counted.
func Replay(l Learning, all []Judgement) Learning {
	if l.Basis == (Basis{}) { // stored by an older program
		l.Basis = Basis{Initial, l.Created}
	}
	l.Confidence, l.Changed, l.Confirmed, l.Contradicted = l.Basis.Confidence, l.Basis.At, 0, 0
	for _, j := range all {
		judged := Judge(l, j)
		if j.At.Before(l.Basis.At) {
			judged.Confidence, judged.Changed = l.Confidence, l.Changed
		}
		l = judged
	}
	return l
}
