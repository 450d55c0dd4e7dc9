package record

import (
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
)

// ScheduleRuns are the investigations that a schedule has started.
type ScheduleRuns struct {
	// CostUSD is what those that have started since a given time have cost so far, with their scores and learnings.
	CostUSD float64
	// Last is the newest, and Check the newest that ended with a verdict. Nil means none.
	Last, Check *ScheduleRun
}

// ScheduleRun is an investigation that a schedule has started.
type ScheduleRun struct {
	ID        string       `json:"id"`
	Status    agent.Status `json:"status"`
	StartedAt time.Time    `json:"started_at"`
	EndedAt   *time.Time   `json:"ended_at,omitempty"`
	Check     *agent.Check `json:"check,omitempty"` // its verdict, if it has one
}

// Earlier returns the newest verdict, or nil.
func (r ScheduleRuns) Earlier() *agent.EarlierCheck {
	if r.Check == nil {
		return nil
	}
	c := r.Check.Check
	return &agent.EarlierCheck{Investigation: r.Check.ID, At: *r.Check.EndedAt, Verdict: c.Verdict, Problems: c.Names()}
}

// ScheduleDay is the time within which the cost of a schedule is limited.
const ScheduleDay = 24 * time.Hour
