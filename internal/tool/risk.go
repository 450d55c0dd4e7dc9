package tool

import "github.com/inquest-dev/inquest/internal/agent"

// Idempotency says whether a call may be made again after a crash.
type Idempotency string

// The classes (spec: tools, "Risk → idempotency → retry").
const (
	Safe          Idempotency = "safe"
	Idempotent    Idempotency = "idempotent"
	NonIdempotent Idempotency = "non_idempotent"
)

// Class is the idempotency class of a tool. Low, medium, high, critical and
// unknown say nothing of repeating, and so the call is made at most once; a risk
// that is not in the table counts as the worst.
func (s Spec) Class() Idempotency {
	switch s.Risk {
	case agent.RiskReadOnly:
		return Safe
	case agent.RiskDestructive:
		return Idempotent
	case agent.RiskWrite:
		if s.Idempotent {
			return Idempotent
		}
	}
	return NonIdempotent
}
