package agent

// Risk says what a tool may do to the world (spec: tools, "Risk").
type Risk string

// The risks of a tool. An unknown risk is treated as the worst.
const (
	RiskReadOnly    Risk = "read_only"
	RiskWrite       Risk = "write"
	RiskDestructive Risk = "destructive"
	RiskLow         Risk = "low"
	RiskMedium      Risk = "medium"
	RiskHigh        Risk = "high"
	RiskCritical    Risk = "critical"
	RiskUnknown     Risk = "unknown"
)
