package agent

import "github.com/inquest-dev/inquest/value"

// Risk says what effect a tool can have (spec: tools, "Risk").
type Risk = value.Risk

// The risks of a tool. An unknown risk needs full access, and its calls are never repeated, but they need no approval.
const (
	RiskReadOnly    = value.RiskReadOnly
	RiskWrite       = value.RiskWrite
	RiskDestructive = value.RiskDestructive
	RiskLow         = value.RiskLow
	RiskMedium      = value.RiskMedium
	RiskHigh        = value.RiskHigh
	RiskCritical    = value.RiskCritical
	RiskUnknown     = value.RiskUnknown
)
