package toolresult

import (
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
)

// maxDetails is the maximum size of the stored details, in bytes of JSON. The text for a model has more.
const maxDetails = 16 << 10

// Fault returns the machine-readable part of a failure. retry_after is in the details or beside the error: seconds, or "1m30s".
func (r Result) Fault() agent.Fault {
	if r.Error == nil {
		return agent.Fault{}
	}
	fault := agent.Fault{Recoverable: r.Error.Recoverable, RetryAfter: seconds(r.Error.Details["retry_after"])}
	if fault.RetryAfter == 0 {
		fault.RetryAfter = seconds(r.Data["retry_after"])
	}
	if plain, err := copyMap(r.Error.Details, 0); err == nil && len(plain) > 0 {
		if text, err := encode(plain); err == nil && len(text) <= maxDetails {
			fault.Details = json.RawMessage(text)
		}
	}
	return fault
}

// seconds parses a number of seconds or a duration; 0 means that v is neither.
func seconds(v any) float64 {
	text := printed(v)
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		d, _ := time.ParseDuration(text)
		n = d.Seconds()
	}
	if n > 0 && !math.IsInf(n, 0) {
		return n
	}
	return 0
}
