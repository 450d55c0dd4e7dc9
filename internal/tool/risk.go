package tool

import "github.com/inquest-dev/inquest/internal/agent"

// Idempotency says whether a call may be repeated after a crash.
type Idempotency string

// The classes (spec: tools, "Risk → idempotency → retry").
const (
	Safe          Idempotency = "safe"
	Idempotent    Idempotency = "idempotent"
	NonIdempotent Idempotency = "non_idempotent"
)

// Class returns the idempotency class of a tool. A call is repeated only if the tool is declared to only read, or to be
// idempotent. An unknown risk is treated like the worst.
func (s Spec) Class() Idempotency {
	switch s.Risk {
	case agent.RiskReadOnly:
		return Safe
	case agent.RiskWrite, agent.RiskDestructive:
		if s.Idempotent {
			return Idempotent
		}
	}
	return NonIdempotent
}

// Source is the origin of a tool's risk.
type Source string

// The sources of a risk.
const (
	SourceConfiguration Source = "configuration"
	SourceAnnotation    Source = "annotation"
	SourceUntrusted     Source = "default, annotation not trusted"
	SourceDefault       Source = "default"
	SourceProgram       Source = "program" // Inquest's own tools, and tools in Go
)
