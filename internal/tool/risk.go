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

// Class is the idempotency class of a tool. A call is made again only if somebody
// said that it may: that the tool only reads, or that a repetition does no more.
// A risk that is not in the table counts as the worst.
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

// Source is whose word the risk of a tool is.
type Source string

// The sources of a risk.
const (
	SourceConfiguration Source = "configuration"
	SourceAnnotation    Source = "annotation"
	SourceUntrusted     Source = "default, annotation not trusted"
	SourceDefault       Source = "default"
	SourceProgram       Source = "program" // Inquest's own tools, and those in Go
)
