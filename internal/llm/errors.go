package llm

import (
	"errors"
	"fmt"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
)

// The kinds of error. Callers branch on them with errors.Is; activities/errors.go
// maps each to a stable Temporal error type, once.
var (
	ErrRateLimited     = errors.New("rate limited")                     // 429: again, after RetryAfter
	ErrUnavailable     = errors.New("provider unavailable")             // 5xx, connection refused or lost: again
	ErrStalled         = errors.New("stream stalled")                   // nothing came for the idle timeout: again
	ErrTruncated       = errors.New("reply cut off")                    // the stream ended without a finish reason: again
	ErrMalformed       = errors.New("reply not understood")             // not the wire format: again
	ErrNoKey           = errors.New("no credentials")                   // this process has none: another may
	ErrAuth            = errors.New("credentials refused")              // 401, 403, or a key that cannot be one: never again
	ErrInvalidRequest  = errors.New("request refused")                  // 400, 404, 422: never again
	ErrContextTooLong  = errors.New("context too long")                 // larger than the model's window: never again
	ErrContentFiltered = errors.New("reply withheld by content filter") // never again
	ErrQuotaExhausted  = errors.New("quota exhausted")                  // 429 insufficient_quota, 402: never again
	// ErrNotAModel is an answer that no model's server gives: a web page, a redirect, an unknown path. Nothing
	// was generated, and the same address answers the next request in the same way.
	ErrNotAModel = errors.New("the answer is not a model's reply; base_url may be wrong")
)

// Error is what a model call failed with. Its text never holds a credential.
type Error struct {
	Kind       error // one of the kinds above
	Provider   string
	Status     int           // HTTP status, 0 if there was none
	RetryAfter time.Duration // what the provider asked for, 0 if nothing
	Message    string        // the provider's own words, cleaned
	Usage      agent.Usage   // what the provider had counted by then; zero = it has not said
}

// Error says who failed, how, and the provider's own words.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s: %v", e.Provider, e.Kind)
	if e.Status != 0 {
		text += fmt.Sprintf(" (HTTP %d)", e.Status)
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// Unwrap makes errors.Is work on the kind.
func (e *Error) Unwrap() error { return e.Kind }
