package activities

import (
	"cmp"
	"context"
	"errors"
	rand "math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
)

// Reopen repairs the state for a run that a Temporal reset has created. It marks the investigation's record as running
// again, and cancels the children that the run does not know.
func (a *Activities) Reopen(ctx context.Context, in ReopenIn) error {
	ctx, stop := a.worker().Attend(ctx)
	defer stop()
	info := activity.GetInfo(ctx)
	if in.Investigation != "" {
		if err := a.Records.ReopenInvestigation(ctx, in.Investigation, info.WorkflowExecution.RunID); err != nil {
			return job.StoreFailure(err)
		}
	}
	run := info.WorkflowExecution
	return job.StoreFailure(a.Runs.CancelChildren(ctx, run.ID, run.RunID, cmp.Or(in.Investigation, run.ID), in.Children))
}

// reconcileGrace is how long ago a workflow must have ended before its record is corrected. A workflow that has just
// ended may be about to update the record itself.
const reconcileGrace = 10 * time.Second

const (
	reconcileTime = 45 * time.Second // of one turn, within the activity's timeout
	reconcileSide = 8                // how many are checked in parallel
)

// Reconcile closes the records of investigations whose workflow ended without recording it, because it was terminated or
// Temporal lost it. It also anchors the audit trail and deletes old alerts.
func (a *Activities) Reconcile(ctx context.Context) (out ReconcileOut, err error) {
	ctx, stop := a.worker().Attend(ctx)
	defer stop()
	if _, err := a.Records.Anchor(ctx); err != nil {
		return out, job.StoreFailure(job.Ended(ctx, err))
	}
	silent, err := recorder{a.worker()}.silent(ctx)
	if err != nil {
		return out, job.StoreFailure(job.Ended(ctx, err))
	}
	working, cancel := context.WithTimeout(ctx, reconcileTime)
	defer cancel()
	var group sync.WaitGroup
	var closed, next atomic.Int64
	for range reconcileSide {
		group.Go(func() {
			for n := next.Add(1); n <= int64(len(silent)) && working.Err() == nil; n = next.Add(1) {
				done, err := recorder{a.worker()}.reconcile(working, silent[n-1])
				if done {
					closed.Add(1)
				}
				if err != nil { // it is retried next time, and does not hold up the others
					a.Logger.Warn("the record of an investigation could not be corrected", "investigation", silent[n-1].ID, "error", err)
				}
			}
		})
	}
	group.Wait()
	alertIntake{a.worker()}.forgetAlerts(working)
	alertIntake{a.worker()}.makeRoom(ctx, "")
	return ReconcileOut{Closed: int(closed.Load())}, job.Ended(ctx, nil)
}

// silent returns the investigations that are recorded as running but that Temporal does not list, or lists with another
// run. They are shuffled, so that each gets its turn even if one turn of Reconcile is too short for all.
func (a recorder) silent(ctx context.Context) ([]record.Investigation, error) {
	recorded, err := a.Records.Running(ctx)
	if err != nil || len(recorded) == 0 {
		return nil, err
	}
	if a.Belongs != nil { // checked after the list is read: investigations that another namespace adds later are not on it
		if err := a.Belongs(ctx); err != nil {
			return nil, job.Cannot(ctx, err)
		}
	}
	open, err := a.Runs.Open(ctx)
	if err != nil { // then each one is checked
		a.Logger.Warn("the running investigations could not be listed", "error", err)
	}
	silent := slices.DeleteFunc(recorded, func(r record.Investigation) bool { return open[r.WorkflowID] == r.RunID && r.RunID != "" })
	rand.Shuffle(len(silent), func(i, j int) { silent[i], silent[j] = silent[j], silent[i] })
	return silent, nil
}

func (a recorder) reconcile(ctx context.Context, r record.Investigation) (closed bool, err error) {
	end, err := a.Runs.Ending(ctx, r.WorkflowID, r.RunID)
	now := a.Now(ctx)
	switch {
	case errors.Is(err, record.ErrNotFound):
		end.Status, end.EndReason, end.EndedAt = agent.StatusTerminated, agent.EndTerminated, &now
		end.Error = "Temporal no longer has its workflow"
		if now.Sub(r.StartedAt) < reconcileGrace {
			return false, nil
		}
	case err != nil:
		return false, err
	case end.EndedAt == nil || now.Sub(*end.EndedAt) < reconcileGrace:
		return false, nil
	}
	if err := a.Runs.CancelChildren(ctx, r.WorkflowID, "", r.ID, nil); err != nil {
		return false, err
	}
	r.Status, r.EndReason, r.Error, r.EndedAt = end.Status, end.EndReason, end.Error, end.EndedAt
	if closed, err = a.Records.CloseInvestigation(ctx, r); !closed {
		return false, err
	}
	job.Count(ctx, job.MetricEnded, "status", string(r.Status))
	a.Logger.Info("closed the record of an investigation whose workflow had ended",
		"investigation", r.ID, "status", r.Status, "error", r.Error)
	return true, nil
}
