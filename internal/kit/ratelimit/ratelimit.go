// Package ratelimit describes how often an agent may call a tool, across all workers
// (spec: tools, "Policy"). The store keeps the places in a window.
package ratelimit

import (
	"errors"
	"fmt"
	"time"
)

// Reservation asks for one place in the sliding window of an agent and a tool.
type Reservation struct {
	Agent string // the definition's name
	Tool  string
	// Key is the call's idempotency key. A repeated request with the same key keeps
	// the place that the first one has.
	Key    string
	Limit  int           // places in the window, at least 1
	Window time.Duration // how long a place is taken, at least a microsecond
}

// Validate returns an error that lists everything that is wrong with the reservation.
func (r Reservation) Validate() error {
	var problems []error
	if r.Agent == "" || r.Tool == "" || r.Key == "" {
		problems = append(problems, errors.New("agent, tool and key must be given"))
	}
	if r.Limit < 1 {
		problems = append(problems, fmt.Errorf("limit is %d, and must be at least 1", r.Limit))
	}
	if r.Window < time.Microsecond {
		problems = append(problems, fmt.Errorf("window is %s, and must be at least 1µs", r.Window))
	}
	return errors.Join(problems...)
}

// String identifies the reservation in errors.
func (r Reservation) String() string {
	return fmt.Sprintf("call %s of %s by %s", r.Key, r.Tool, r.Agent)
}

// Error means that an agent has reached its rate limit for a tool.
type Error struct {
	Agent, Tool string
	PerMinute   int
	RetryAfter  time.Duration
}

func (e *Error) Error() string {
	return fmt.Sprintf("Rate limit of tool %s for %s reached (%d per minute). Try again in %s.",
		e.Tool, e.Agent, e.PerMinute, e.RetryAfter.Round(time.Second/10))
}
