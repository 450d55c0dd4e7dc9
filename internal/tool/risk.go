package tool

import (
	"slices"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

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

// For returns a listed tool as it is under another configuration of its server. The server's hints count as far as the list shows them:
// package mcp has the rules for a server that answers.
func (s Spec) For(server plan.Server) Spec {
	_, name := Split(s.Name)
	risk, ok := server.Risk[name]
	switch {
	case ok:
		s.Risk, s.RiskFrom = risk, SourceConfiguration
	case s.RiskFrom == SourceConfiguration: // the server's own hint is not known
		s.Risk, s.RiskFrom = agent.RiskWrite, SourceDefault
	case s.RiskFrom == SourceAnnotation && s.Risk == agent.RiskReadOnly && !server.TrustAnnotations:
		s.Risk, s.RiskFrom = agent.RiskWrite, SourceUntrusted
	case s.RiskFrom == SourceUntrusted && server.TrustAnnotations:
		s.Risk, s.RiskFrom = agent.RiskReadOnly, SourceAnnotation
	}
	s.Idempotent = s.Idempotent && server.TrustAnnotations || slices.Contains(server.Idempotent, name)
	return s
}
