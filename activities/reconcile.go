package activities

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
)

// Runs are the workflows in Temporal.
type Runs interface {
	// Open are the investigations that run, by workflow id, with the id of their last run:
	// as far as Temporal's list knows, which is late by a moment.
	Open(ctx context.Context) (runs map[string]string, err error)
	// Ending says how a workflow ended that began with a first run, without the
	// record's usage and report; EndedAt nil = it runs. One that Temporal does not
	// know is record.ErrNotFound.
	Ending(ctx context.Context, workflowID, firstRunID string) (record.Investigation, error)
	// CancelChildren asks the running children of a workflow to end whose ids begin with
	// the prefix and a slash, whichever of the workflow's runs started them, but for those to
	// keep and those of the run that asks; "" = the workflow has ended. A run that was
	// replaced asks in vain.
	CancelChildren(ctx context.Context, workflowID, run, prefix string, keep []string) error
}

// Reopen puts things right for a run that a Temporal reset has made: the investigation's
// record says that it runs again, and children that the run does not know are cancelled.
func (a *Activities) Reopen(ctx context.Context, in ReopenIn) error {
	ctx, stop := a.attend(ctx)
	defer stop()
	info := activity.GetInfo(ctx)
	if in.Investigation != "" {
		if err := a.Records.ReopenInvestigation(ctx, in.Investigation, info.WorkflowExecution.RunID); err != nil {
			return storeFailure(err)
		}
	}
	run := info.WorkflowExecution
	return storeFailure(a.Runs.CancelChildren(ctx, run.ID, run.RunID, cmp.Or(in.Investigation, run.ID), in.Children))
}

// reconcileGrace is how long ago a workflow must have ended for its record to be
// put right: one that has just ended may be about to do it.
const reconcileGrace = 10 * time.Second

const (
	reconcileTime = 45 * time.Second // of one turn, within the activity's timeout
	reconcileSide = 8                // how many are asked about side by side
)

// Reconcile closes the records of investigations whose workflow has ended without saying so:
// somebody terminated it, or Temporal has lost it. It also anchors the audit trail, and deletes alerts
// that are over for long.
func (a *Activities) Reconcile(ctx context.Context) (out ReconcileOut, err error) {
	ctx, stop := a.attend(ctx)
	defer stop()
	if _, err := a.Records.Anchor(ctx); err != nil {
		return out, storeFailure(ended(ctx, err))
	}
	silent, err := a.silent(ctx)
	if err != nil {
		return out, storeFailure(ended(ctx, err))
	}
	working, cancel := context.WithTimeout(ctx, reconcileTime)
	defer cancel()
	var group sync.WaitGroup
	var closed, next atomic.Int64
	for range reconcileSide {
		group.Go(func() {
			for n := next.Add(1); n <= int64(len(silent)) && working.Err() == nil; n = next.Add(1) {
				done, err := a.reconcile(working, silent[n-1])
				if done {
					closed.Add(1)
				}
				if err != nil { // it has its turn again at the next time, and the others now
					a.Logger.Warn("the record of an investigation could not be put right", "investigation", silent[n-1].ID, "error", err)
				}
			}
		})
	}
	group.Wait()
	a.forgetAlerts(working)
	a.makeRoom(ctx, "")
	return ReconcileOut{Closed: int(closed.Load())}, ended(ctx, nil)
}

// silent are the investigations that are recorded as running, but that Temporal does not
// list, or not with the run that began them. They are shuffled, so that each has its turn
// some time even if one turn of Reconcile is too short for all.
func (a *Activities) silent(ctx context.Context) ([]record.Investigation, error) {
	recorded, err := a.Records.Running(ctx)
	if err != nil || len(recorded) == 0 {
		return nil, err
	}
	if a.Belongs != nil { // asked when the list is read: those that another namespace adds to it are not on it
		if err := a.Belongs(ctx); err != nil {
			return nil, cannot(ctx, err)
		}
	}
	open, err := a.Runs.Open(ctx)
	if err != nil { // then each is asked about
		a.Logger.Warn("the running investigations could not be listed", "error", err)
	}
	silent := slices.DeleteFunc(recorded, func(r record.Investigation) bool { return open[r.WorkflowID] == r.RunID && r.RunID != "" })
	rand.Shuffle(len(silent), func(i, j int) { silent[i], silent[j] = silent[j], silent[i] })
	return silent, nil
}

func (a *Activities) reconcile(ctx context.Context, r record.Investigation) (closed bool, err error) {
	end, err := a.Runs.Ending(ctx, r.WorkflowID, r.RunID)
	now := a.now(ctx)
	switch {
	case errors.Is(err, record.ErrNotFound):
		end.Status, end.EndReason, end.EndedAt = agent.StatusTerminated, agent.EndTerminated, &now
		end.Error = "its workflow is gone from Temporal"
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
	count(ctx, metricEnded, "status", string(r.Status))
	a.Logger.Info("an investigation has ended without a word", "investigation", r.ID, "status", r.Status, "error", r.Error)
	return true, nil
}
