package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
)

// TypeIntake is the workflow type that assigns webhook alerts to investigations.
const TypeIntake = "Intake"

// IntakeID is its workflow id, one for the workers of a task queue.
func IntakeID(queue string) string { return "inquest-intake-" + queue }

// SignalWake makes Intake check the waiting alerts: new ones have arrived, or an investigation has ended.
const SignalWake = "wake"

// Intake assigns waiting alerts to investigations, and ends when none are left. Writers of alerts, and investigations of
// alerts when they end, signal it. The signal starts it if it is not running.
func Intake(ctx workflow.Context) error {
	options := workflow.SignalChannelOptions{Description: "Look at the alerts that wait. Input: nothing"}
	wake := workflow.GetSignalChannelWithOptions(ctx, SignalWake, options)
	for {
		for wake.ReceiveAsync(nil) { // the store has everything they refer to
		}
		var out activities.PlaceAlertsOut
		if err := workflow.ExecuteActivity(storeOptions(ctx, "alerts that wait"), act.PlaceAlerts).Get(ctx, &out); err != nil {
			return err
		}
		switch {
		case wake.Len() > 0 && !workflow.GetInfo(ctx).GetContinueAsNewSuggested():
			continue
		case wake.Len() > 0:
			return workflow.NewContinueAsNewError(ctx, Intake) // the next run handles the signals first
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
			for wake.ReceiveAsync(nil) { // the next run begins with a check
			}
			return workflow.NewContinueAsNewError(ctx, Intake)
		}
	}
}
