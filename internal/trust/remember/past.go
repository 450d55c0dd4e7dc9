package remember

import "time"

// Fate is the outcome of a call.
type Fate string

// The outcomes of calls.
const (
	Denied    Fate = "denied"    // by a person
	Undecided Fate = "undecided" // the decision timed out
	Approved  Fate = "approved"  // by a person or a rule
	Made      Fate = "made"      // no decision was needed
)

// Past is a call that an agent has asked for.
type Past struct {
	Investigation string    `json:"investigation"`
	Execution     string    `json:"execution"`
	Call          string    `json:"call"`
	Arguments     string    `json:"arguments"`
	Fate          Fate      `json:"fate"`
	Decision      string    `json:"decision,omitempty"`
	At            time.Time `json:"at"`
}

// Preview holds the past calls that a rule would have let through.
type Preview struct {
	// Looked is how many of the tool's latest calls were examined.
	Looked int          `json:"looked_at"`
	Fits   map[Fate]int `json:"fits"`
	// Examples are some of the matching calls, starting with those that a person denied.
	Examples []Past `json:"examples"`
}

// Count returns how many calls the rule would have let through.
func (p Preview) Count() (n int) {
	for _, count := range p.Fits {
		n += count
	}
	return n
}
