package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
)

// Reconcile puts the records of investigations right that have ended without a word.
// A Temporal Schedule starts it every few minutes.
func Reconcile(ctx workflow.Context) (out activities.ReconcileOut, err error) {
	err = workflow.ExecuteActivity(storeOptions(ctx, "investigations that have ended without a word"), act.Reconcile).Get(ctx, &out)
	return out, err
}
