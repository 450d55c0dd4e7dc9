package llm

import (
	"errors"
	"fmt"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
)

// The kinds of errors. Callers compare them with errors.Is; activities/internal/job/errors.go maps each to a stable
// Temporal error type.
var (
	ErrRateLimited     = errors.New("rate limited")                     // 429: retried after RetryAfter
	ErrUnavailable     = errors.New("provider unavailable")             // 5xx, connection refused or lost: retried
	ErrStalled         = errors.New("stream stalled")                   // nothing arrived within the idle timeout: retried
	ErrTruncated       = errors.New("reply cut off")                    // the stream ended without a finish reason: retried
	ErrMalformed       = errors.New("reply not understood")             // not the wire format: retried
	ErrNoKey           = errors.New("no credentials")                   // this process has none; another one may
	ErrAuth            = errors.New("credentials refused")              // 401, 403, or an invalid key: not retried
	ErrInvalidRequest  = errors.New("request refused")                  // 400, 404, 422: not retried
	ErrContextTooLong  = errors.New("context too long")                 // larger than the model's window: not retried
	ErrContentFiltered = errors.New("reply withheld by content filter") // not retried
	ErrQuotaExhausted  = errors.New("quota exhausted")                  // 429 insufficient_quota, 402: not retried
	// ErrNotAModel means that the answer does not come from a model's server: a web page, a redirect, an unknown path.
	// Nothing was generated, and the same address would answer the next request the same way.
	ErrNotAModel = errors.New("the response is not a model reply; check base_url")
)

// Error is the error of a model call. Its text never contains a credential.
type Error struct {
	Kind       error // one of the kinds above
	Provider   string
	Status     int           // HTTP status, or 0
	RetryAfter time.Duration // requested by the provider, or 0
	Message    string        // the provider's text, cleaned
	RequestID  string        // by which the provider finds the request; the guard adds it to Message
	// Window and Prompt are what the provider says about a request that is too long: how many tokens it accepts, and how many
	// it has counted. Zero means that it does not say.
	Window, Prompt int
	Usage          agent.Usage // counted by the provider so far; zero if unknown
}

// Error returns the provider, the kind and the provider's text.
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

// Unwrap returns the kind, for errors.Is.
func (e *Error) Unwrap() error { return e.Kind }
