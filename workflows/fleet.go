package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
)

// TypeFleet is the workflow type of a fleet's mark.
const TypeFleet = "Fleet"

// FleetID is the workflow id of the mark that says which store the workers of a
// task queue share.
func FleetID(queue string) string { return "inquest-fleet-" + queue }

// FleetStore is the key of the mark's memo: FleetMemo.
const FleetStore = "store"

// FleetMemo names a store.
type FleetMemo struct {
	ID      string `json:"id"`
	Address string `json:"address"` // without secrets
}

// Fleet is a workflow that does nothing: only its memo matters, as the mark of a fleet.
// It runs until it is cancelled. The next worker that starts then creates a new one.
func Fleet(ctx workflow.Context) error {
	ctx.Done().Receive(ctx, nil)
	return ctx.Err()
}

// Reconcile closes the records of investigations that ended without recording it. A
// Temporal Schedule starts it every few minutes.
func Reconcile(ctx workflow.Context) (out activities.ReconcileOut, err error) {
	err = workflow.ExecuteActivity(storeOptions(ctx, "investigations that have ended without a word"), act.Reconcile).Get(ctx, &out)
	return out, err
}
