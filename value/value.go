// Package value has the values that definitions are written in, in YAML and in Go.
package value

import (
	"encoding/json"
	"fmt"
	"time"
)

// Duration is a time.Duration that is written as text ("90s") in JSON.
type Duration time.Duration

// D returns d as a time.Duration.
func (d Duration) D() time.Duration { return time.Duration(d) }

// String writes d the way that configuration spells it.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalJSON writes d as text.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// UnmarshalJSON reads what MarshalJSON wrote.
func (d *Duration) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("read duration: %w", err)
	}
	parsed, err := time.ParseDuration(text)
	*d = Duration(parsed)
	return err
}

// Risk says what a tool may do to the world, and with that who may call it and
// whether a call may be made again after a crash.
type Risk string

// The risks of a tool. A person approves calls of high and critical ones; an unknown risk
// is treated as the worst. After a crash, only calls of tools that read, or say that
// they are idempotent, are made again.
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
