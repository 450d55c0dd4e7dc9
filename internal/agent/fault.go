package agent

import "encoding/json"

// Fault is the machine-readable part of a failed tool call, besides its error type and text.
type Fault struct {
	// Recoverable means that another attempt, perhaps with other arguments, may succeed.
	Recoverable bool `json:"recoverable,omitempty"`
	// RetryAfter is how long to wait before that attempt, in seconds. Zero means unknown.
	RetryAfter float64 `json:"retry_after,omitempty"`
	// Details are the tool's own details, as a JSON object.
	Details json.RawMessage `json:"details,omitempty"`
}
