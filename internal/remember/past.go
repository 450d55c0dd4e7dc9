package remember

import "time"

// Fate is what became of a call.
type Fate string

// The fates of calls.
const (
	Denied    Fate = "denied"    // by a person
	Undecided Fate = "undecided" // nobody has decided in time
	Approved  Fate = "approved"  // by a person, or let through by a rule
	Made      Fate = "made"      // nobody had to decide
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

// Preview is what a rule would have let through.
type Preview struct {
	// Looked is how many calls of the tool were looked at: the last ones.
	Looked int          `json:"looked_at"`
	Fits   map[Fate]int `json:"fits"`
	// Examples are some that it fits, those first that a person denied.
	Examples []Past `json:"examples"`
}

// Count is how many calls it would have let through.
func (p Preview) Count() (n int) {
	for _, count := range p.Fits {
		n += count
	}
	return n
}
