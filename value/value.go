// Package value defines the types of values in definitions, for YAML and Go.
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

// String formats d as in the configuration.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalJSON writes d as text.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// UnmarshalJSON parses the output of MarshalJSON.
func (d *Duration) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("read duration: %w", err)
	}
	parsed, err := time.ParseDuration(text)
	*d = Duration(parsed)
	return err
}

// Risk is the effect that a tool can have. It decides who may call the tool and whether a call may be repeated after a
// crash.
type Risk string

// The risks of a tool. A person approves calls with high and critical risk. An unknown risk needs full access, but no
// approval. After a crash, only calls of tools that read or are declared idempotent are repeated.
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
