package activities

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
)

// Runs are the workflows in Temporal.
type Runs interface {
	// Ending says how a workflow ended that began with a first run, without the
	// record's usage and report; EndedAt nil = it runs. One that Temporal does not
	// know is record.ErrNotFound.
	Ending(ctx context.Context, workflowID, firstRunID string) (record.Investigation, error)
	// CancelChildren asks the running children of a workflow to end whose ids begin with
	// the prefix and a slash, whichever of the workflow's runs started them, but for those to keep.
	CancelChildren(ctx context.Context, workflowID, prefix string, keep []string) error
}

// Reopen makes a run that is a reset's the one that counts: the investigation's
// record says that it runs, and children that the run does not know are told to end.
func (a *Activities) Reopen(ctx context.Context, in ReopenIn) error {
	ctx, stop := a.attend(ctx)
	defer stop()
	info := activity.GetInfo(ctx)
	if in.Investigation != "" {
		if err := a.Records.ReopenInvestigation(ctx, in.Investigation, info.WorkflowExecution.RunID); err != nil {
			return storeFailure(err)
		}
	}
	id := info.WorkflowExecution.ID
	return storeFailure(a.Runs.CancelChildren(ctx, id, orText(in.Investigation, id), in.Children))
}

// ReconcileOut counts the investigations whose record was put right.
type ReconcileOut struct {
	Closed int `json:"closed"`
}

// reconcileGrace is how long ago a workflow must have ended for its record to be
// put right: one that has just ended may be about to do it.
const reconcileGrace = 10 * time.Second

// Reconcile puts records right that say that an investigation runs whose workflow
// has ended, and could not say so: somebody terminated it, or Temporal has lost it.
func (a *Activities) Reconcile(ctx context.Context) (out ReconcileOut, err error) {
	ctx, stop := a.attend(ctx)
	defer stop()
	running, err := a.Records.Running(ctx)
	if err != nil {
		return out, storeFailure(err)
	}
	for _, r := range running {
		closed, err := a.reconcile(ctx, r)
		if closed {
			out.Closed++
		}
		if err != nil { // it has its turn again at the next time, and the others now
			a.Logger.Warn("the record of an investigation could not be put right", "investigation", r.ID, "error", err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return out, ended(ctx, nil)
}

func (a *Activities) reconcile(ctx context.Context, r record.Investigation) (closed bool, err error) {
	end, err := a.Runs.Ending(ctx, r.WorkflowID, r.RunID)
	now := time.Now()
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
	if err := a.Runs.CancelChildren(ctx, r.WorkflowID, r.ID, nil); err != nil {
		return false, err
	}
	r.Status, r.EndReason, r.Error, r.EndedAt = end.Status, end.EndReason, end.Error, end.EndedAt
	if closed, err = a.Records.CloseInvestigation(ctx, r); !closed {
		return false, err
	}
	a.Logger.Info("an investigation has ended without a word", "investigation", r.ID, "status", r.Status, "error", r.Error)
	return true, nil
}
