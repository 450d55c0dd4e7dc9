// Package activities holds every side effect of an investigation, one call each. An activity may run more than once.
// Its writes form a journal, so a second run finds the first run's results (design: durability rules 1–3).
package activities

import (
	"time"

	"github.com/inquest-dev/inquest/activities/internal/job"
)

// Activities are the activities of a worker with these dependencies. Workflows use a nil pointer to it to name them.
type Activities job.Worker

func (a *Activities) worker() *job.Worker { return (*job.Worker)(a) }

// Drain waits until the calls begun within workflow tasks have ended, or until the time has passed. The caller must
// ensure that no more calls begin.
func Drain(a *Activities, within time.Duration) { a.worker().Drain(within) }
