package agent

import "encoding/json"

// Fault is what programs can read of a tool call that failed, beside its error type and its text.
type Fault struct {
	// Recoverable: another attempt, perhaps with other arguments, may succeed.
	Recoverable bool `json:"recoverable,omitempty"`
	// RetryAfter is how long that attempt should wait, in seconds; 0 = nobody says.
	RetryAfter float64 `json:"retry_after,omitempty"`
	// Details are what else the tool says of it, a JSON object.
	Details json.RawMessage `json:"details,omitempty"`
}
