package toolresult

import (
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
)

// maxDetails bounds the details that are kept, in bytes of JSON. The text that a model is shown has more.
const maxDetails = 16 << 10

// Fault is what programs can read of a failure. retry_after stands in the details or beside the error: seconds, or "1m30s".
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

// seconds reads a number of them, or a duration; 0 = v is neither.
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
