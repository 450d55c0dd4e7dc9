package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
)

// TypeIntake is the workflow type that gives places to the alerts of webhooks.
const TypeIntake = "Intake"

// IntakeID is its workflow id, one for the workers of a task queue.
func IntakeID(queue string) string { return "inquest-intake-" + queue }

// SignalWake has it look at the alerts that wait: some have come, or an investigation has ended.
const SignalWake = "wake"

// Intake gives places to alerts while any wait, and ends. Who writes alerts into the store, or ends an investigation of one,
// signals it, which starts it if it does not run.
func Intake(ctx workflow.Context) error {
	options := workflow.SignalChannelOptions{Description: "Look at the alerts that wait. Input: nothing"}
	wake := workflow.GetSignalChannelWithOptions(ctx, SignalWake, options)
	for {
		for wake.ReceiveAsync(nil) { // what all of them are about is in the store
		}
		var out activities.PlaceAlertsOut
		if err := workflow.ExecuteActivity(storeOptions(ctx, "alerts that wait"), act.PlaceAlerts).Get(ctx, &out); err != nil {
			return err
		}
		switch {
		case wake.Len() > 0 && !workflow.GetInfo(ctx).GetContinueAsNewSuggested():
			continue
		case wake.Len() > 0:
			return workflow.NewContinueAsNewError(ctx, Intake) // the signals are looked at first
		case out.Next == 0:
			return nil
		}
		timer, stop := workflow.WithCancel(ctx)
		waited := workflow.NewSelector(ctx)
		waited.AddFuture(workflow.NewTimer(timer, time.Duration(out.Next)), func(workflow.Future) {})
		waited.AddReceive(wake, func(workflow.ReceiveChannel, bool) {})
		waited.Select(ctx)
		stop()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			for wake.ReceiveAsync(nil) { // the next run begins by looking
			}
			return workflow.NewContinueAsNewError(ctx, Intake)
		}
	}
}
