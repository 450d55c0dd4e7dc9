package activities

import (
	"context"
	"time"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/record"
)

// SaveExecutionIn records how a dispatched execution ended.
type SaveExecutionIn struct {
	Execution ExecutionSummary `json:"execution"`
	Started   time.Time        `json:"started"`
	Ended     time.Time        `json:"ended"`
}

// SaveExecution records how a dispatched execution ended.
func (a *Activities) SaveExecution(ctx context.Context, in SaveExecutionIn) error {
	ctx, stop := a.worker().Attend(ctx)
	defer stop()
	execution, err := recorder{a.worker()}.execution(ctx, in.Execution, record.Stage{StartedAt: in.Started, EndedAt: &in.Ended})
	if err == nil {
		err = a.Records.SaveExecution(ctx, execution)
	}
	if err == nil && a.Sessions != nil {
		a.Sessions.End(in.Execution.Ref.Session())
	}
	return job.StoreFailure(job.Ended(ctx, err))
}
